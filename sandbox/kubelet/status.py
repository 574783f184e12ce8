"""A Pod's status from what the double knows of it. Pure.

Source: Kubernetes v1.34 `pkg/kubelet/status/generate.go` and `kubelet_pods.go` for phases and conditions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

CONDITION_TYPES = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")


@dataclass(slots=True)
class ContainerView:
    """One container as the status shows it. `state` is the API's object with one of waiting, running, terminated."""

    name: str
    image: str
    state: dict[str, Any] = field(default_factory=lambda: {"waiting": {"reason": "PodInitializing"}})
    last_state: dict[str, Any] = field(default_factory=dict)
    is_started: bool = False
    is_ready: bool = False
    restarts: int = 0

    @property
    def is_running(self) -> bool:
        """Whether its process lives."""
        return "running" in self.state

    @property
    def exit_code(self) -> int | None:
        """Code of a container that has ended, else None."""
        return self.state["terminated"]["exitCode"] if "terminated" in self.state else None

    def as_status(self) -> dict[str, Any]:
        """The API's ContainerStatus."""
        return {
            "name": self.name,
            "image": self.image,
            "imageID": self.image if self.is_started or self.is_running else "",
            "state": self.state,
            "lastState": self.last_state,
            "started": self.is_started,
            "ready": self.is_ready,
            "restartCount": self.restarts,
        }


@dataclass(slots=True)
class PodView:
    """A pod as the double knows it; `conditions` are kept so that a transition time changes only with its status."""

    inits: list[ContainerView]
    containers: list[ContainerView]
    restart_policy: str = "Always"
    gates: Sequence[str] = ()
    pod_ip: str = ""
    host_ip: str = "127.0.0.1"
    start_time: str = ""
    conditions: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def is_initialized(self) -> bool:
        """Whether every init container ended well (or, a sidecar, runs)."""
        return all(item.exit_code == 0 or (item.is_running and item.is_started) for item in self.inits)


def clock_text(moment: datetime | None = None) -> str:
    """The API's timestamp: UTC, whole seconds."""
    return (moment or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def phase_of(view: PodView) -> str:
    """Pending, Running, Succeeded or Failed."""
    codes = [item.exit_code for item in view.containers]
    if not view.is_initialized:
        failed = any(item.exit_code for item in view.inits) and view.restart_policy == "Never"
        return "Failed" if failed else "Pending"
    if all(code is not None for code in codes) and view.restart_policy != "Always":
        if not any(codes):
            return "Succeeded"
        return "Failed" if view.restart_policy == "Never" else "Running"
    begun = any(item.is_running or item.last_state or item.exit_code is not None for item in view.containers)
    return "Running" if begun else "Pending"


def pod_status(view: PodView, outside: Mapping[str, str], now: str) -> dict[str, Any]:
    """The status to publish.

    Args:
        view: the pod; its `conditions` are brought up to date.
        outside: conditions that others own, type to status; readiness gates are read from it.
        now: timestamp of conditions that change.
    """
    phase = phase_of(view)
    is_ended = phase in ("Succeeded", "Failed")
    ready = bool(view.containers) and all(item.is_ready for item in view.containers) and not is_ended
    gates_open = all(outside.get(gate) == "True" for gate in view.gates)
    values = {
        "PodReadyToStartContainers": bool(view.pod_ip) and not is_ended,
        "Initialized": view.is_initialized,
        "ContainersReady": ready,
        "Ready": ready and gates_open,
    }
    for kind, value in values.items():
        status = "True" if value else "False"
        if view.conditions.get(kind, ("", ""))[0] != status:
            view.conditions[kind] = (status, now)
    return {
        "phase": phase,
        "hostIP": view.host_ip,
        "hostIPs": [{"ip": view.host_ip}],
        **({"podIP": view.pod_ip, "podIPs": [{"ip": view.pod_ip}]} if view.pod_ip else {}),
        "startTime": view.start_time,
        "conditions": [_condition(kind, *view.conditions[kind], phase) for kind in CONDITION_TYPES],
        "initContainerStatuses": [item.as_status() for item in view.inits],
        "containerStatuses": [item.as_status() for item in view.containers],
    }


def _condition(kind: str, status: str, changed: str, phase: str) -> dict[str, Any]:
    reason = ""
    if status == "False" and kind in ("ContainersReady", "Ready"):
        reason = "PodCompleted" if phase == "Succeeded" else "ContainersNotReady"
    return {"type": kind, "status": status, "lastTransitionTime": changed, "reason": reason or None}
