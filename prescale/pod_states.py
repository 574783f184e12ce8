"""The pods of a stack as warmth looks at them: whether each is Ready, where its engine listens, how far it has come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
from whenever import Instant

from prescale.lead_time import pod as typed
from prescale.lead_time.progress import NODES, Progress, progress
from stacks import ownership
from stacks.loader import Stack

DEFAULT_PORT = 8000


class Pods(Protocol):
    """`prescale.api.cluster.Cluster`, as far as it is needed here."""

    def pods(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """Every pod that carries these labels, in one call."""


@dataclass(frozen=True)
class PodState:
    """One pod that is not on its way out. `port` is the engine's HTTP port; `progress` how far its start has come."""

    name: str
    service: str
    ip: str
    port: int
    created: Instant
    is_ready: bool
    progress: Progress


def pods_of(cluster: Pods, stack: Stack) -> list[dict[str, Any]]:
    """Every pod of the stack as the API server returned it; those of adopted services with the labels ours have.

    One call, and one more for each service that others built.
    """
    found = cluster.pods({ownership.STACK_LABEL: stack.name})
    for name, adopted in stack.platform.adopted.items():
        ours = {ownership.STACK_LABEL: stack.name, ownership.SERVICE_LABEL: name}
        for pod in cluster.pods(adopted.pod_labels):
            labels = pod["metadata"].get("labels") or {}
            if labels.get(ownership.STACK_LABEL) != stack.name:  # else it is among the others
                found.append({**pod, "metadata": {**pod["metadata"], "labels": {**labels, **ours}}})
    return found


def pod_states(pods: Sequence[Mapping[str, Any]]) -> tuple[PodState, ...]:
    """The pods that serve or may come to serve, as the API server returned them."""
    states = []
    for pod in pods:
        metadata, status = pod["metadata"], pod.get("status") or {}
        created = Instant.parse_iso(metadata["creationTimestamp"])
        if metadata.get("deletionTimestamp") or status.get("phase") in {"Failed", "Succeeded"}:
            continue
        conditions = {item["type"]: item["status"] for item in status.get("conditions") or []}
        states.append(
            PodState(
                name=metadata["name"],
                service=(metadata.get("labels") or {}).get(ownership.SERVICE_LABEL, ""),
                ip=status.get("podIP") or "",
                port=_port(pod),
                created=created,
                is_ready=conditions.get("Ready") == "True" and bool(status.get("podIP")),
                progress=_progress(pod, created),
            )
        )
    return tuple(states)


def _progress(pod: Mapping[str, Any], created: Instant) -> Progress:
    try:
        return progress(typed.read(pod))
    except msgspec.ValidationError:  # a field that only its start is told by
        return Progress("unscheduled", NODES, created)


def _port(pod: Mapping[str, Any]) -> int:
    for container in (pod.get("spec") or {}).get("containers") or []:
        for port in container.get("ports") or []:
            if port.get("name") == "http":
                return int(port["containerPort"])
    return DEFAULT_PORT
