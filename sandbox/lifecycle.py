"""The sandbox as a whole: a real Kubernetes control plane with KEDA, Prometheus and fake GPU nodes on this machine.

`up` starts it, `down` ends it and forgets it, `status` says how each part is, `environment` what a shell needs.
The directory is `places.sandbox_directory()` unless another is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from sandbox.control_plane import prometheus, startup
from sandbox.control_plane.component import PATIENCE_S
from sandbox.control_plane.kubeconfigs import client
from sandbox.control_plane.nodes import Node, register
from sandbox.directory import begin, clear_away, record_of
from sandbox.faults import SandboxError
from sandbox.for_pulumi import home as pulumi_home
from sandbox.interruption import deferred
from sandbox.layout import Layout, Settings, new_settings, read_settings, write_settings
from sandbox.places import sandbox_directory
from sandbox.processes.health import is_well, wait_well
from sandbox.processes.lock import held
from sandbox.processes.process import MARK, Process, is_running
from sandbox.toolchain.ensure import ensure

Report = Callable[[str], None]

_WAITING = "another `warmline sandbox` command is at work; waiting for it"


@dataclass(frozen=True)
class ComponentStatus:
    """How one process is: `port` is its main one, 0 when it has none; `since` is RFC 3339, UTC."""

    name: str
    pid: int
    port: int
    is_running: bool
    is_healthy: bool
    since: str
    log: str


def up(
    nodes: Sequence[Node],
    report: Report,
    directory: Path | None = None,
    *,
    prometheus_port: int = 9090,
    scrape_interval_s: int = 1,
    with_pulumi: bool = True,
    api_only: bool = False,
    stack: str = "local",
) -> Layout:
    """Bring the sandbox up with these nodes, building tools first where needed. Says so when it is up already.

    A sandbox of which a part died is ended and begun anew: cluster, Pulumi state and all.

    Args:
        nodes: the fake GPU nodes; more may be given to a later `up`, which adds them.
        report: takes one line of progress at a time.
        prometheus_port: taken when it is free, else another; see `prometheus_url`.
        scrape_interval_s: how often each pod is scraped, in seconds.
        with_pulumi: also get Pulumi ready and make its stack.
        api_only: no more than an API server that admits KEDA's objects as KEDA would: nothing acts on them.
        stack: whose sandbox it is.

    Raises:
        SandboxError: a tool cannot be built or a component does not become ready, and nothing is left running; or
            another stack's is up, and is left as it is.
    """
    layout = Layout(directory or sandbox_directory())
    kubernetes = startup.API_TOOLS if api_only else startup.TOOLS
    tools = ensure((*kubernetes, *(pulumi_home.tools(report) if with_pulumi else ())), report)
    with held(layout.directory / "lock", report, _WAITING):
        if _is_up(layout):
            settings = _running(layout.directory)[1]
            if settings.stack != stack:
                raise SandboxError(_of_another_stack(layout, settings.stack))
            register(client(layout.kubeconfig), nodes, settings.pod_network)
            report(f"the sandbox is already up ({layout.directory})")
            return layout
        begin(layout, report)
        begun = monotonic()
        settings = new_settings(prometheus_port, scrape_interval_s, stack)
        write_settings(layout, settings)
        try:
            starting = startup.Starting(layout, settings, record_of(layout, settings), tools, report)
            startup.start_api_only(starting) if api_only else startup.start(starting, nodes)
            if with_pulumi:
                pulumi_home.prepare(layout, tools, report, stack)
        except BaseException:
            record_of(layout, settings).stop_all()
            raise
        if settings.ports["prometheus"] != prometheus_port:
            report(f"port {prometheus_port} is in use: Prometheus listens at {prometheus.url(settings)}")
        report(f"the sandbox is up after {monotonic() - begun:.1f} s ({layout.directory})")
    return layout


def down(report: Report, directory: Path | None = None) -> bool:
    """Stop all that the sandbox started, last first, and delete its cluster, state and secrets; logs stay.

    Works after a crash or a reboot too. False when there was nothing to stop.
    """
    layout = Layout(directory or sandbox_directory())
    if not layout.directory.exists():
        report("the sandbox is not up")
        return False
    with held(layout.directory / "lock", report, _WAITING):
        stopped = clear_away(layout, report)
    report("the sandbox is down" if stopped else "the sandbox is not up")
    return bool(stopped)


@contextmanager
def temporary(report: Report, directory: Path) -> Iterator[None]:
    """A sandbox that goes with the block, however that ends."""
    try:
        yield
    finally:
        with deferred():
            down(report, directory)


def status(directory: Path | None = None) -> list[ComponentStatus]:
    """Every process of the sandbox in the order of its start; empty when it is not up."""
    layout = Layout(directory or sandbox_directory())
    settings = read_settings(layout)
    if settings is None:
        return []
    ca = layout.keyring.ca
    return [
        ComponentStatus(
            name=process.name,
            pid=process.pid,
            port=process.ports[0] if process.ports else 0,
            is_running=is_running(process),
            is_healthy=is_well(process, ca),
            since=process.started_at,
            log=process.log,
        )
        for process in record_of(layout, settings).read()
    ]


def environment(directory: Path | None = None) -> dict[str, str]:
    """What `eval "$(warmline sandbox env)"` sets, PATH apart: see `bin_directory`."""
    layout, settings = _running(directory)
    return {
        "KUBECONFIG": str(layout.kubeconfig),
        "WARMLINE_PROMETHEUS_URL": prometheus.url(settings),
        **pulumi_home.environment(layout),
    }


def mark(directory: Path | None = None) -> dict[str, str]:
    """In whose environment this is, `down` ends that too."""
    return {MARK: _running(directory)[1].mark}


def bin_directory(directory: Path | None = None) -> Path:
    """Goes in front of PATH."""
    return Layout(directory or sandbox_directory()).bin


def prometheus_url(directory: Path | None = None) -> str:
    return prometheus.url(_running(directory)[1])


def extra(
    name: str,
    argv: Sequence[str],
    env: Mapping[str, str] | None = None,
    directory: Path | None = None,
    *,
    ports: Sequence[int] = (),
    health: str = "",
    ready_s: float = PATIENCE_S,
) -> Process:
    """Run a further process as part of the sandbox: `status` lists it and `down` stops it, before the control plane.

    Args:
        name: unique in the sandbox.
        argv: first the program, as an absolute path.
        env: added to this process's environment.
        ports: what it listens on, the main one first. health: URL that answers 200 when it is well; waited for.
        ready_s: how long it may take until then, in seconds.
    """
    layout, settings = _running(directory)
    process = record_of(layout, settings).start(name, argv, env, ports, health)
    if health:
        wait_well(process, layout.keyring.ca, ready_s)
    return process


def stop(name: str, directory: Path | None = None) -> None:
    """Stop one process of the sandbox and forget it."""
    layout, settings = _running(directory)
    record_of(layout, settings).stop(name)


def _is_up(layout: Layout) -> bool:
    settings = read_settings(layout)
    if settings is None:
        return False
    processes = record_of(layout, settings).read()
    # A stalled second on a busy machine is no reason to throw a cluster away, so the patience is longer than usual.
    return bool(processes) and all(is_well(process, layout.keyring.ca, timeout_s=10) for process in processes)


def _of_another_stack(layout: Layout, stack: str) -> str:
    # Its kubelet and its Pulumi know nothing of any other's services.
    fix = "Run `warmline sandbox down` first, or name another directory in WARMLINE_SANDBOX_DIR."
    return f"the sandbox in {layout.directory} is stack {stack}'s. {fix}"


def _running(directory: Path | None) -> tuple[Layout, Settings]:
    layout = Layout(directory or sandbox_directory())
    settings = read_settings(layout)
    if settings is None:
        raise SandboxError(f"no sandbox in {layout.directory}. Run `warmline sandbox up` first.")
    return layout, settings
