"""What the sandbox remembers of its processes, whom it stops, and what it tells a shell. No Kubernetes is started."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509

from sandbox import certificates, control_plane, kubeconfigs, processes, prometheus
from sandbox.faults import SandboxError
from sandbox.kubernetes import apiserver, controller_manager, etcd, kwok, scheduler
from sandbox.layout import HOST, Layout, Settings, free_ports, new_settings, read_settings, write_settings
from sandbox.nodes import Node, manifest, with_addresses
from sandbox.processes import MARK, ProcessRecord, end, is_running, marked, start_ticks

SLEEP = ("/bin/sleep", "300")


@pytest.fixture
def layout(tmp_path: Path) -> Iterator[Layout]:
    """A sandbox that was started as far as its settings go."""
    layout = Layout(tmp_path / "sandbox")
    layout.directory.mkdir()
    write_settings(layout, new_settings(prometheus_port=9090, scrape_interval_s=1))
    yield layout
    control_plane.down(lambda line: None, layout.directory)


def record_of(layout: Layout) -> ProcessRecord:
    return ProcessRecord(layout.directory, settings_of(layout).mark)


def settings_of(layout: Layout) -> Settings:
    settings = read_settings(layout)
    assert settings is not None
    return settings


def test_a_started_process_is_recorded_and_stopped(layout: Layout) -> None:
    process = control_plane.extra("sleeper", SLEEP, directory=layout.directory)
    (known,) = control_plane.status(layout.directory)
    assert (known.name, known.pid, known.is_running, known.is_healthy) == ("sleeper", process.pid, True, True)
    assert control_plane.down(print, layout.directory)
    assert start_ticks(process.pid) is None
    assert control_plane.status(layout.directory) == []


def test_status_and_down_work_after_a_part_was_killed(layout: Layout) -> None:
    first = control_plane.extra("first", SLEEP, directory=layout.directory)
    second = control_plane.extra("second", SLEEP, directory=layout.directory)
    os.kill(first.pid, signal.SIGKILL)
    wait_until_gone(first.pid)
    found = {part.name: part.is_running for part in control_plane.status(layout.directory)}
    assert found == {"first": False, "second": True}
    lines: list[str] = []
    assert control_plane.down(lines.append, layout.directory)
    assert "no longer running: first" in lines[0]
    assert start_ticks(second.pid) is None


def test_a_process_that_was_given_the_number_later_is_left_alone(layout: Layout) -> None:
    stranger = subprocess.Popen(SLEEP)
    try:
        process = control_plane.extra("sleeper", SLEEP, directory=layout.directory)
        ticks = start_ticks(stranger.pid)
        assert ticks is not None
        # Started at another moment than the record says: another process.
        assert not is_running(replace(process, pid=stranger.pid, start_ticks=ticks + 1))
        # The same numbers, but from before a reboot.
        assert not is_running(replace(process, pid=stranger.pid, start_ticks=ticks, boot_id="before"))
        assert end(replace(process, pid=stranger.pid, start_ticks=ticks + 1), patience_s=1) is False
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_down_ends_what_a_killed_parent_left_behind(layout: Layout) -> None:
    body = f"import subprocess, time; subprocess.Popen({SLEEP!r}, start_new_session=True); time.sleep(300)"
    parent = control_plane.extra("parent", (sys.executable, "-c", body), directory=layout.directory)
    mark = settings_of(layout).mark
    until = time.monotonic() + 10
    while len(marked(mark)) < 2:
        assert time.monotonic() < until
        time.sleep(0.02)
    os.kill(parent.pid, signal.SIGKILL)
    wait_until_gone(parent.pid)
    (orphan,) = marked(mark)
    control_plane.down(lambda line: None, layout.directory)
    assert start_ticks(orphan) is None
    assert marked(mark) == []


def test_a_process_that_ignores_sigterm_is_killed(layout: Layout) -> None:
    record = record_of(layout)
    body = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(300)"
    )
    process = record.start("deaf", (sys.executable, "-c", body))
    until = time.monotonic() + 10
    while "deaf" not in Path(process.log).read_text():
        assert time.monotonic() < until
        time.sleep(0.02)
    assert end(process, patience_s=0.2)
    assert not is_running(process)


def test_names_are_unique_while_they_run(layout: Layout) -> None:
    process = control_plane.extra("sleeper", SLEEP, directory=layout.directory)
    with pytest.raises(SandboxError, match=f"already runs in this sandbox \\(pid {process.pid}\\)"):
        control_plane.extra("sleeper", SLEEP, directory=layout.directory)
    control_plane.stop("sleeper", layout.directory)
    control_plane.extra("sleeper", SLEEP, directory=layout.directory)


def test_a_program_that_is_not_there_is_said_so(layout: Layout) -> None:
    with pytest.raises(SandboxError, match="cannot be started: /no/such/program: No such file"):
        control_plane.extra("nothing", ("/no/such/program",), directory=layout.directory)


def test_a_process_that_never_gets_well_shows_its_log(layout: Layout) -> None:
    argv = ("/bin/sh", "-c", "echo port is taken; exit 3")
    health = f"http://{HOST}:{free_ports(1)[0]}/"
    with pytest.raises(SandboxError, match="port is taken"):
        control_plane.extra("short", argv, directory=layout.directory, health=health, ready_s=5)


def test_down_deletes_only_what_the_sandbox_made(layout: Layout) -> None:
    theirs = layout.directory / "thesis.txt"
    theirs.write_text("years of work")
    layout.etcd.mkdir()
    control_plane.down(lambda line: None, layout.directory)
    assert theirs.exists()
    assert not layout.etcd.exists()
    assert not layout.settings.exists()


def test_a_directory_of_somebody_else_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("bin/tool", "work/thesis.txt", "logs/mine.log"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("precious")
    (tmp_path / "settings.json").write_text('{"editor": "vi"}')
    before = sorted(tmp_path.rglob("*"))
    assert control_plane.down(print, tmp_path) is False
    monkeypatch.setattr(control_plane, "ensure", lambda *_: None)
    with pytest.raises(SandboxError, match=r"holds settings.json, bin, work, which no sandbox made"):
        control_plane.up([], print, tmp_path, with_pulumi=False)
    assert [path for path in sorted(tmp_path.rglob("*")) if path.name != "lock"] == before


def test_what_a_crash_left_is_cleared_away_and_never_through_a_link(layout: Layout, tmp_path: Path) -> None:
    control_plane.down(print, layout.directory)
    control_plane._begin(layout, print)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").touch()
    layout.etcd.symlink_to(elsewhere)
    layout.settings.write_text('{"mark": "cut sh')
    control_plane.down(print, layout.directory)
    assert not layout.etcd.is_symlink()
    assert (elsewhere / "file").exists()
    assert not layout.settings.exists()


def test_down_where_nothing_ever_was(tmp_path: Path) -> None:
    lines: list[str] = []
    assert control_plane.down(lines.append, tmp_path / "none") is False
    assert lines == ["the sandbox is not up"]
    assert not (tmp_path / "none").exists()


def test_a_record_that_was_cut_short_does_not_keep_down_from_working(layout: Layout) -> None:
    process = control_plane.extra("sleeper", SLEEP, directory=layout.directory)
    (layout.directory / "processes.json").write_text('[{"name": "sl')
    control_plane.down(lambda line: None, layout.directory)
    assert start_ticks(process.pid) is None


def test_what_a_shell_is_told(layout: Layout) -> None:
    variables = control_plane.environment(layout.directory)
    assert variables["KUBECONFIG"] == str(layout.directory / "kubeconfig" / "admin")
    assert variables["PULUMI_BACKEND_URL"].startswith(f"file://{layout.directory}")
    assert variables["PULUMI_SKIP_UPDATE_CHECK"] == "1"
    assert variables["WARMLINE_PROMETHEUS_URL"] == prometheus.url(settings_of(layout))
    # With the mark in their shell, everything a user starts from it would be ended by `down`.
    assert MARK not in variables
    assert settings_of(layout).mark not in " ".join(variables.values())


def test_without_a_sandbox_a_shell_is_told_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="Run `warmline sandbox up` first"):
        control_plane.environment(tmp_path)


def test_the_directory_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARMLINE_SANDBOX_DIR", str(tmp_path / "own"))
    assert control_plane.bin_directory() == tmp_path / "own" / "bin"
    monkeypatch.delenv("WARMLINE_SANDBOX_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert control_plane.bin_directory() == tmp_path / "state" / "warmline" / "sandbox" / "bin"


def test_secrets_are_for_their_owner_only(layout: Layout) -> None:
    ring = certificates.make(layout.keyring.directory)
    kubeconfigs.write_all(layout, settings_of(layout))
    files = [path for path in layout.directory.rglob("*") if path.is_file()]
    assert len(files) > len(certificates.USERS)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE(ring.directory.stat().st_mode) == 0o700
    names = x509.load_pem_x509_certificate(ring.certificate.read_bytes()).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert "localhost" in names.value.get_values_for_type(x509.DNSName)


def test_everything_listens_on_loopback_and_no_secret_is_in_an_argument(layout: Layout) -> None:
    from sandbox import keda

    ring, settings = certificates.make(layout.keyring.directory), settings_of(layout)
    tokens = {ring.token(user).read_text() for user in certificates.USERS}
    builders = (etcd, apiserver, controller_manager, scheduler, kwok)
    for build in (*builders, keda.operator, keda.webhooks, keda.adapter, prometheus.component):
        component = build(layout, settings)
        line = " ".join(component.argv)
        assert "0.0.0.0" not in line, component.name
        assert not any(token in line for token in tokens), component.name
        assert component.health.split("://")[1].startswith(f"{HOST}:"), component.name


def test_prometheus_reads_its_token_from_a_file(layout: Layout) -> None:
    ring = certificates.make(layout.keyring.directory)
    content = prometheus.write_configuration(layout, settings_of(layout)).read_text()
    assert str(ring.token("prometheus")) in content
    assert ring.token("prometheus").read_text() not in content
    assert "scrape_interval: 1s" in content


def test_ports_are_free_and_all_different() -> None:
    ports = new_settings(prometheus_port=free_ports(1)[0], scrape_interval_s=1).ports
    assert len(set(ports.values())) == len(ports)


def test_nodes_get_pod_networks_of_their_own_on_loopback() -> None:
    nodes = [Node("a"), Node("b", pod_cidr="127.10.1.0/24"), Node("c")]
    assert [cidr for _, cidr in with_addresses(nodes, "127.10")] == ["127.10.2.0/24", "127.10.1.0/24", "127.10.3.0/24"]
    with pytest.raises(SandboxError, match="a named twice"):
        with_addresses([Node("a"), Node("a")], "127.10")


def test_a_node_has_what_the_cloud_would_give_it() -> None:
    node = Node("l40s-0", {"team": "x"}, (("nvidia.com/gpu", "present", "NoSchedule"),), gpus=1, cpu="8", memory="64Gi")
    made = manifest(node, "127.10.1.0/24").to_dict()
    assert made["metadata"]["labels"] == {
        "kubernetes.io/hostname": "l40s-0",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "team": "x",
    }
    assert made["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    assert made["status"]["allocatable"]["nvidia.com/gpu"] == "1"
    assert made["status"]["capacity"] == made["status"]["allocatable"]


def wait_until_gone(pid: int) -> None:
    until = time.monotonic() + 5
    while start_ticks(pid) is not None:
        assert time.monotonic() < until
        processes.reap(pid)
        time.sleep(0.01)
