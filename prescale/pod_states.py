"""The pods of a stack as warmth looks at them: whether each is Ready, where its engine listens, how far it has come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from whenever import Instant

from prescale.lead_time import pod as typed
from prescale.lead_time.progress import NODES, Progress, progress
from stacks import ownership

DEFAULT_PORT = 8000


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
