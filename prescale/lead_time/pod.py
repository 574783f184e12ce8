"""A pod as far as its start goes: what the API server says of it, typed, and the moments of its start.

Source: Kubernetes 1.34, core/v1 types.go; the API server keeps times to the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from whenever import Instant

from stacks import ownership


class _Shape(msgspec.Struct, rename="camel", frozen=True):
    pass


class Condition(_Shape, frozen=True):
    type: str
    status: str
    last_transition_time: datetime | None = None
    message: str | None = None


class _Running(_Shape, frozen=True):
    started_at: datetime | None = None


class _Terminated(_Shape, frozen=True):
    started_at: datetime | None = None
    finished_at: datetime | None = None


class _Waiting(_Shape, frozen=True):
    reason: str | None = None


class _State(_Shape, frozen=True):
    waiting: _Waiting | None = None
    running: _Running | None = None
    terminated: _Terminated | None = None


class ContainerStatus(_Shape, frozen=True):
    name: str
    restart_count: int = 0
    state: _State = _State()


class Variable(_Shape, frozen=True):
    name: str
    value: str | None = None


class Probe(_Shape, frozen=True):
    """Defaults of the API server. `allows_s` is how long it may go on asking before the last answer counts."""

    initial_delay_seconds: int = 0
    period_seconds: int = 10
    timeout_seconds: int = 1
    failure_threshold: int = 3
    success_threshold: int = 1

    @property
    def allows_s(self) -> int:
        asks = max(self.failure_threshold, self.success_threshold)
        return self.initial_delay_seconds + self.period_seconds * asks + self.timeout_seconds


class Port(_Shape, frozen=True):
    name: str | None = None


class Resources(_Shape, frozen=True):
    limits: dict[str, str | int] = {}


class Container(_Shape, frozen=True):
    name: str
    image: str = ""
    args: tuple[str, ...] = ()
    env: tuple[Variable, ...] = ()
    ports: tuple[Port, ...] = ()
    resources: Resources = Resources()
    startup_probe: Probe | None = None
    readiness_probe: Probe | None = None
    restart_policy: str | None = None


class _Expression(_Shape, frozen=True):
    key: str
    values: tuple[str, ...] = ()


class _Term(_Shape, frozen=True):
    match_expressions: tuple[_Expression, ...] = ()


class _NodeSelector(_Shape, frozen=True):
    node_selector_terms: tuple[_Term, ...] = ()


class _NodeAffinity(_Shape, frozen=True):
    required_during_scheduling_ignored_during_execution: _NodeSelector = _NodeSelector()


class _Affinity(_Shape, frozen=True):
    node_affinity: _NodeAffinity = _NodeAffinity()


class Spec(_Shape, frozen=True):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    affinity: _Affinity = _Affinity()

    def node_label_values(self, label: str) -> tuple[str, ...]:
        """The values of a node's label that the pod requires."""
        required = self.affinity.node_affinity.required_during_scheduling_ignored_during_execution
        found = [one for term in required.node_selector_terms for one in term.match_expressions if one.key == label]
        return tuple(value for one in found for value in one.values)


class Status(_Shape, frozen=True):
    phase: str | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Metadata(_Shape, frozen=True):
    name: str
    creation_timestamp: datetime
    labels: dict[str, str] = {}
    deletion_timestamp: datetime | None = None


class Pod(_Shape, frozen=True):
    metadata: Metadata
    spec: Spec = Spec()
    status: Status = Status()

    @property
    def service(self) -> str:
        return self.metadata.labels.get(ownership.SERVICE_LABEL, "")

    @property
    def is_going(self) -> bool:
        """Whether it is on its way out, or has ended."""
        return self.metadata.deletion_timestamp is not None or self.status.phase in {"Failed", "Succeeded"}

    @property
    def engine(self) -> Container | None:
        """The container that serves: the one with the port `http`, else the first."""
        serving = (one for one in self.spec.containers if any(port.name == "http" for port in one.ports))
        return next(serving, next(iter(self.spec.containers), None))


@dataclass(frozen=True)
class Moments:
    """When what of a pod's start happened; None is not yet, or not known.

    `loads` are begin and end of each init container that runs to its end, in order.
    """

    created: Instant
    scheduled: Instant | None
    loads: tuple[tuple[Instant | None, Instant | None], ...]
    engine_started: Instant | None
    containers_ready: Instant | None
    ready: Instant | None


def read(pod: Mapping[str, Any]) -> Pod:
    """The pod as the API server returned it; of what is not set it may say null.

    Raises:
        msgspec.ValidationError: it is none.
    """
    return msgspec.convert(_without_nulls(pod), Pod)


def moments(pod: Pod) -> Moments:
    """Take the moments of its start off a pod."""
    inits = {one.name: one.state for one in pod.status.init_container_statuses}
    # A sidecar (restartPolicy Always) runs on: nothing waits for its end.
    loads = [inits.get(one.name, _State()) for one in pod.spec.init_containers if one.restart_policy != "Always"]
    engine = pod.engine.name if pod.engine else None
    running = next((one.state.running for one in pod.status.container_statuses if one.name == engine), None)
    return Moments(
        created=_instant(pod.metadata.creation_timestamp),
        scheduled=since(pod, "PodScheduled"),
        loads=tuple(_load(state) for state in loads),
        engine_started=_maybe(running.started_at) if running else None,
        containers_ready=since(pod, "ContainersReady"),
        ready=since(pod, "Ready"),
    )


def since(pod: Pod, kind: str, status: str = "True") -> Instant | None:
    """Since when a condition has that status; None where it has not, or does not say."""
    found = (one for one in pod.status.conditions if one.type == kind and one.status == status)
    condition = next(found, None)
    return _maybe(condition.last_transition_time) if condition else None


def _load(state: _State) -> tuple[Instant | None, Instant | None]:
    if state.running:
        return _maybe(state.running.started_at), None
    ended = state.terminated or _Terminated()
    return _maybe(ended.started_at), _maybe(ended.finished_at)


def _maybe(time: datetime | None) -> Instant | None:
    # Container runtimes that do not know a time say the epoch.
    return None if time is None or time.timestamp() <= 0 else _instant(time)


def _instant(time: datetime) -> Instant:
    return Instant.from_timestamp(int(time.timestamp()))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value
