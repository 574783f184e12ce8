"""What a report tells beyond what a run has to know. It is worth a call, and no failure of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from prescale.api.cluster import Cluster
from prescale.outcome import Outcome
from prescale.pod_states import pod_states, pods_of
from prescale.targets import minimums_of
from stacks.loader import Stack
from stacks.reach import OutOfReach


def with_minimums(cluster: Cluster, outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
    """The outcomes with what their HPAs show, in one more call where the run itself had no need to look."""
    found = tuple(outcomes)
    if not any(outcome.hpa and outcome.hpa_min is None for outcome in found):
        return found
    try:
        minimums = minimums_of(cluster.hpas())
    except OutOfReach:
        return found
    return tuple(replace(outcome, hpa_min=minimums.get(outcome.hpa or "")) for outcome in found)


def count_ready(cluster: Cluster, load: Callable[[], Stack], outcomes: Iterable[Outcome]) -> Mapping[str, int] | None:
    """Service -> Ready pods, looked at while an event counts; None otherwise, or where pods are not shown."""
    if not any(outcome.events for outcome in outcomes):
        return None
    try:
        pods = pod_states(pods_of(cluster, load()))
    except OutOfReach:
        return None
    return Counter(pod.service for pod in pods if pod.is_ready)
