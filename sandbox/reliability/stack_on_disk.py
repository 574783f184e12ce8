"""One stack on disk, services at their baselines and a calendar, and runs of the CLI on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from lightkube import Client
from lightkube.generic_resource import create_namespaced_resource
from whenever import Instant

from sandbox.control_plane.kubeconfigs import client
from sandbox.layout import Layout
from sandbox.places import REPOSITORY
from sandbox.reliability.gate import Gate
from sandbox.reliability.oracle import HEADROOM_PCT, PER_REPLICA, REQUEST_S, Event, Service
from stacks import ownership

STACK = "drill"
PROMETHEUS = "http://127.0.0.1:9090"
WITHIN_S = 120.0

ScaledObject = create_namespaced_resource("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects")


class _WrittenOut(yaml.SafeDumper):
    """YAML as people write it: each service on its own, without anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


@dataclass(frozen=True)
class Ran:
    """How one run of the CLI ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def services(self) -> list[dict[str, Any]]:
        """What `-o json` says of each service."""
        found: list[dict[str, Any]] = json.loads(self.stdout)["services"]
        return found


@dataclass
class StackOnDisk:
    """One stack below `folder`; its objects are in `namespace`."""

    layout: Layout
    folder: Path
    namespace: str
    services: tuple[Service, ...]
    name: str = STACK
    api: Client = field(init=False)

    def __post_init__(self) -> None:
        self.api = client(self.layout.kubeconfig)

    @property
    def stack(self) -> Path:
        return self.folder / "stacks" / self.name

    @property
    def environment(self) -> dict[str, str]:
        """What runs are started with.

        Python's bytecode is kept, as everywhere, but in a place of its own: who measures may have said otherwise.
        """
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        own = {
            "WARMLINE_STACKS_DIR": str(self.folder / "stacks"),
            "PYTHONPYCACHEPREFIX": str(self.folder.parent / "pyc"),
        }
        return {**inherited, **own, "KUBECONFIG": str(self.layout.kubeconfig)}

    @property
    def calendar(self) -> Path:
        return self.stack / "events.yaml"

    def seen(self) -> dict[str, tuple[int, str]]:
        """Of each service: minReplicaCount and the baseline annotation."""
        return {
            item["metadata"]["name"]: (
                item["spec"].get("minReplicaCount", 0),
                item["metadata"]["annotations"].get(ownership.BASELINE_ANNOTATION, "gone"),
            )
            for item in self.api.list(ScaledObject, namespace=self.namespace)
        }

    def start(self, kubeconfig: Path, *options: str, extra: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Start `warmline prescale sync -o json` as cron would."""
        argv = [str(Path(sys.executable).with_name("warmline")), "prescale", "sync", "-s", self.name, "-o", "json"]
        environment = {**self.environment, "KUBECONFIG": str(kubeconfig), **(extra or {})}
        return subprocess.Popen(
            [*argv, *options],
            env=environment,
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, kubeconfig: Path | None = None, extra: Mapping[str, str] | None = None) -> Ran:
        """One run from start to end."""
        return ended(self.start(kubeconfig or self.layout.kubeconfig, extra=extra))

    def run_through(self, opened: Gate) -> Ran:
        """One run through a gate, which may kill it."""
        process = self.start(opened.kubeconfig)
        opened.victim.put(process)
        return ended(process)


def ended(process: subprocess.Popen[str]) -> Ran:
    """Wait for the run's end; one that hangs is ended and counts as exit code 124."""
    try:
        stdout, stderr = process.communicate(timeout=WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        stdout, stderr = process.communicate()
        return Ran(124, stdout, f"{stderr}\nnot over within {WITHIN_S:.0f} s")
    return Ran(process.returncode, stdout, stderr)


def calendar_text(events: Iterable[Event], zone: str = "Asia/Kolkata", *, margin_s: int = 0) -> str:
    """`events` as a person would write them in `zone`; `margin_s` before its start each is to be Ready."""
    rows = [
        {
            "name": event.name,
            "start": _local(event.start, zone),
            "end": _local(event.end, zone),
            "cancelled": event.cancelled,
            "services": {name: {"rps": rps, "request_duration_s": REQUEST_S} for name, rps in event.rps.items()},
        }
        for event in events
    ]
    data = {"timezone": zone, "ready_margin_s": margin_s, "headroom_pct": HEADROOM_PCT, "events": rows}
    text: str = yaml.safe_dump(data, sort_keys=False)
    return text


def _local(unix: int, zone: str) -> str:
    # With its offset, so that it is one instant on every day of the year.
    text: str = Instant.from_timestamp(unix).to_tz(zone).to_fixed_offset().format_iso()
    return text


def write_stack(folder: Path, namespace: str, services: Collection[Service], prometheus: str = PROMETHEUS) -> None:
    """Make the stack's folder: stack local's platform with other services, and an empty calendar."""
    folder.mkdir(parents=True)
    (folder / "evidence.md").write_text("Made up: nothing is served here.\n")
    (folder / "events.yaml").write_text(calendar_text(()))
    write_platform(folder, namespace, services, prometheus)


def write_platform(folder: Path, namespace: str, services: Collection[Service], prometheus: str = PROMETHEUS) -> None:
    """Write platform.yaml, over an older one."""
    platform = _platform(namespace, services)
    platform["prometheus"]["url"] = prometheus
    (folder / "platform.yaml").write_text(yaml.dump(platform, Dumper=_WrittenOut, sort_keys=False))


def _platform(namespace: str, services: Collection[Service]) -> dict[str, Any]:
    """Stack local's, with its one service under other names and numbers."""
    platform: dict[str, Any] = yaml.safe_load((REPOSITORY / "stacks" / "local" / "platform.yaml").read_text())
    (shipped,) = platform["services"].values()
    (pool,) = platform["node_pools"].values()
    pool["max_nodes"] = max([pool["max_nodes"], *(service.ceiling for service in services)])
    shipped["capacity"] = {"in_flight_per_replica": PER_REPLICA, "evidence": "evidence.md", "kind": "illustrative"}
    platform["namespace"] = namespace
    platform["services"] = {
        service.name: {
            **shipped,
            "model": {**shipped["model"], "name": service.name},
            "replicas": {"min": service.baseline, "max": service.ceiling},
            "cold_start": {"node_s": 0, "image_s": 0, "weights_s": 0, "engine_start_s": service.lead_s},
        }
        for service in services
    }
    return platform
