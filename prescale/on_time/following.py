"""What a run does once floors are in force: it looks at the pods of those events that are not known to be warm.

A look costs one call, and one more for the lead times where the run has not read them. It ends once for each event:
what was seen Ready is noted on the object, and the starts that the pods tell of are kept, so that the runs after it
have nothing to look at. Whatever goes wrong with it is a note: the floors are in force.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec.structs import replace
from whenever import Instant

from prescale.api.objects import Conflict, Refused
from prescale.decision import patch_to, record_of
from prescale.lead_time import keeping, measuring
from prescale.on_time import lateness
from prescale.on_time.lateness import There
from prescale.on_time.needs import Need
from prescale.on_time.planning import Plan
from prescale.outcome import Outcome
from prescale.pod_states import pod_states, pods_of
from prescale.targets import running_of
from stacks.loader import Stack
from stacks.reach import OutOfReach
from stacks.scaler import Kind


class Sights(keeping.ConfigMaps, Protocol):
    """`prescale.api.cluster.Cluster`, as far as it is needed here. Each may raise `stacks.reach.OutOfReach`."""

    def pods(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """Every pod that carries these labels, in one call."""

    def hpas(self) -> list[dict[str, Any]]:
        """Every HPA of the namespace, in one call."""

    def patch(self, kind: Kind, name: str, patch: dict[str, Any]) -> None:
        """Send a JSON merge patch for what scales a service. Raises `Conflict` or `Refused`."""


@dataclass(frozen=True)
class Followed:
    """The outcomes, with a finding for each event that is late; notes; and service -> Ready pods if they were seen."""

    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...] = ()
    ready: Mapping[str, int] | None = None


def follow(
    cluster: Sights,
    stack: Stack,
    by: Plan,
    outcomes: Iterable[Outcome],
    *,
    wanted: Mapping[str, tuple[Need, ...]],
    now: Instant,
) -> Followed:
    """Look at what the run has raised, or found raised.

    Args:
        by: the lead times to judge by.
        wanted: the needs of `outcomes`, by service: one of them at least.
        now: the API server's time, as far as it is known.
    """
    found = tuple(outcomes)
    try:
        raw = pods_of(cluster, stack)
    except OutOfReach as error:
        said = f"the pods are not shown, so nobody knows how many are Ready: {error.reason}"
        return Followed(_judged_by_hpas(cluster, by, found, wanted, now), (said,))
    pods = pod_states(raw)
    there = {service: tuple(pod for pod in pods if pod.service == service) for service in wanted}
    judged = tuple(_judged(outcome, by, wanted, there, now) for outcome in found)
    warm = {service: floor for service, need in wanted.items() if (floor := lateness.warm(need, there[service]))}
    notes: list[str] = []
    if warm:
        notes += _remember(cluster, stack, raw, now)
        notes += [note for outcome in found if (note := _note_warm(cluster, outcome, warm.get(outcome.service, 0)))]
    return Followed(judged, tuple(notes), Counter(pod.service for pod in pods if pod.is_ready))


def _judged_by_hpas(
    cluster: Sights, by: Plan, outcomes: tuple[Outcome, ...], wanted: Mapping[str, tuple[Need, ...]], now: Instant
) -> tuple[Outcome, ...]:
    """What is not even there is not Ready either."""
    try:
        running = running_of(cluster.hpas())
    except OutOfReach:
        return outcomes
    there = {outcome.service: running.get(outcome.hpa or "", 0) for outcome in outcomes}
    return tuple(_judged(outcome, by, wanted, there, now) for outcome in outcomes)


def _judged(
    outcome: Outcome, by: Plan, wanted: Mapping[str, tuple[Need, ...]], there: Mapping[str, There], now: Instant
) -> Outcome:
    if outcome.service not in wanted:
        return outcome
    lead = by.lead_times[outcome.service]
    late = lateness.late(wanted[outcome.service], there[outcome.service], lead, now)
    return replace(outcome, findings=(*outcome.findings, *(one.text for one in late))) if late else outcome


def _remember(cluster: Sights, stack: Stack, raw: Sequence[Mapping[str, Any]], now: Instant) -> tuple[str, ...]:
    """Keep the starts that the pods tell of: who runs neither `status` nor `watch` learns its lead times, too."""
    starts, left_out = measuring.measured(stack.platform, raw, now)
    if not starts:
        return left_out
    remembered = keeping.remember(cluster, stack.name, starts, len(stack.platform.services), now)
    return (*remembered.notes, *left_out)


def _note_warm(cluster: Sights, outcome: Outcome, floor: int) -> str | None:
    """Note on the object what was seen Ready; what keeps us from it, if that is more than a write in between.

    Not in the run that wrote the object: it has another version by now, and the next run looks again.
    """
    if not floor or outcome.observed is None or outcome.patch is not None:
        return None
    record, _ = record_of(outcome.observed)
    if record is None or not record.events:
        return None
    patch = patch_to(outcome.observed, replace(record, warm=floor), outcome.observed.live, None)
    try:
        if patch:
            cluster.patch(outcome.observed.kind, outcome.observed.name, patch)
    except Conflict:
        return None
    except (Refused, OutOfReach) as error:
        return f"{outcome.service}: that it is warm is not noted: {error}"
    return None
