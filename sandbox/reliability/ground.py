"""Services of one stack, built as Pulumi builds them, where nothing else acts on them; and runs of the CLI."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from lightkube import ApiError, Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Namespace
from lightkube.types import PatchType
from whenever import Instant

from sandbox.control_plane.kubeconfigs import client
from sandbox.layout import Layout
from sandbox.places import REPOSITORY
from sandbox.reliability.gate import Gate
from sandbox.reliability.oracle import HEADROOM_PCT, PER_REPLICA, REQUEST_S, Event, Service
from stacks import ownership

STACK = "drill"
BUILDER, PERSON = "pulumi-kubernetes-drill", "kubectl-patch"
WITHIN_S = 120.0

ScaledObject = create_namespaced_resource("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects")
Autoscaler = create_namespaced_resource("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")


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
class Ground:
    """One stack on disk below `folder`, and its objects in a namespace of their own."""

    layout: Layout
    folder: Path
    namespace: str
    services: tuple[Service, ...]
    api: Client = field(init=False)

    def __post_init__(self) -> None:
        self.api = client(self.layout.kubeconfig)
        self.stack.mkdir(parents=True)
        platform = yaml.dump(_platform(self.namespace, self.services), Dumper=_WrittenOut, sort_keys=False)
        (self.stack / "platform.yaml").write_text(platform)
        (self.stack / "evidence.md").write_text("Made up: nothing is served here.\n")
        self.calendar.write_text(calendar_text(()))
        with suppress(ApiError):  # another ground of the same name was here before
            self.api.create(Namespace(metadata=ObjectMeta(name=self.namespace)))

    @property
    def stack(self) -> Path:
        return self.folder / "stacks" / STACK

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

    def build(self) -> None:
        """Every object anew, at its baseline.

        Each has an HPA that shows any floor from the start, since nobody is there to follow: no run waits for one.
        """
        self.clear()
        with ThreadPoolExecutor(4) as builders:
            list(builders.map(self._build, self.services))

    def _build(self, service: Service) -> None:
        applied = ScaledObject(**scaled_object(self.namespace, service))
        made = self.api.apply(applied, field_manager=BUILDER, force=True)
        self.api.create(Autoscaler(**_autoscaler(self.namespace, service, made["metadata"]["uid"])))

    def clear(self) -> None:
        """Take every object away."""
        for kind in (Autoscaler, ScaledObject):
            self.api.deletecollection(kind, namespace=self.namespace)

    def seen(self) -> dict[str, tuple[int, str]]:
        """Of each service: minReplicaCount and the baseline annotation."""
        return {
            item["metadata"]["name"]: (
                item["spec"].get("minReplicaCount", 0),
                item["metadata"]["annotations"].get(ownership.BASELINE_ANNOTATION, "gone"),
            )
            for item in self.api.list(ScaledObject, namespace=self.namespace)
        }

    def patch(self, service: str, patch: Mapping[str, Any], manager: str = PERSON) -> None:
        """What somebody else writes meanwhile."""
        self.api.patch(
            ScaledObject,
            service,
            dict(patch),
            namespace=self.namespace,
            patch_type=PatchType.MERGE,
            field_manager=manager,
        )

    def start(self, kubeconfig: Path, *options: str, extra: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Start `warmline prescale sync -o json` as cron would."""
        argv = [str(Path(sys.executable).with_name("warmline")), "prescale", "sync", "-s", STACK, "-o", "json"]
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


def _platform(namespace: str, services: Iterable[Service]) -> dict[str, Any]:
    """Stack local's, with its one service under other names and numbers."""
    platform: dict[str, Any] = yaml.safe_load((REPOSITORY / "stacks" / "local" / "platform.yaml").read_text())
    ((name, shipped),) = platform["services"].items()
    del name
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


def scaled_object(namespace: str, service: Service) -> dict[str, Any]:
    """One as it is built, at its baseline."""
    trigger = {"serverAddress": "http://127.0.0.1:9", "query": "none", "threshold": "40"}
    return {
        "metadata": ObjectMeta(
            name=service.name,
            namespace=namespace,
            labels={ownership.STACK_LABEL: STACK, ownership.SERVICE_LABEL: service.name},
            annotations={ownership.BASELINE_ANNOTATION: str(service.baseline)},
        ),
        "spec": {
            "scaleTargetRef": {"name": service.name},
            "minReplicaCount": service.baseline,
            "maxReplicaCount": service.ceiling,
            "triggers": [{"type": "prometheus", "metadata": trigger}],
        },
    }


def _autoscaler(namespace: str, service: Service, owner: str) -> dict[str, Any]:
    kind = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": service.name, "uid": owner}
    return {
        "metadata": {"name": f"keda-hpa-{service.name}", "namespace": namespace, "ownerReferences": [kind]},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": service.name},
            "minReplicas": service.ceiling,
            "maxReplicas": service.ceiling,
        },
    }
