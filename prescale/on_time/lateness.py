"""Whether what an event asks for is Ready by its start, and if it will not be, about when it is. Pure.

Only what is asked for beyond the baseline has to be started for an event, and only what is not Ready is missing. What
was raised in its time eats the margin first: it is late once it cannot be Ready by the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whenever import Instant, ZonedDateTime

from prescale.clock import span
from prescale.floors.ramp import Rise
from prescale.lead_time.reckoning import LeadTime
from prescale.on_time.needs import Need
from prescale.pod_states import PodState
from prescale.warmth import ready_by

There = Sequence[PodState] | int
"""A service's pods; or, where pods are not shown, how many the HPA says there are."""


@dataclass(frozen=True)
class Late:
    """One need that is Ready too late: about at `ready_by`, with `there` replicas by now."""

    need: Need
    ready_by: Instant
    there: There
    lead: LeadTime

    @property
    def late_s(self) -> int:
        """Seconds behind the start that it is needed for; above 0."""
        return round((self.ready_by - self.need.rise.at.to_instant()).total("seconds"))

    @property
    def text(self) -> str:
        """For a person: `sale: ready about 20:12, 12 min late for 20:00 Asia/Kolkata: ...`."""
        t0 = self.need.rise.at
        zone = t0.tz_id or "UTC"
        by = self.ready_by.to_tz(zone)
        day = "" if by.date() == t0.date() else f"{by.date()} "
        late = f"{self.need.event}: ready about {day}{_minute(by)}, {span(self.late_s)} late for {_minute(t0)} {zone}"
        state = "there" if isinstance(self.there, int) else "Ready"
        seen = f"{count(self.there)} of {self.need.rise.floor} {state}"
        why = "" if isinstance(self.there, int) else _why(self.there)
        takes = f"a start takes {self.lead.total_s} s by {_basis(self.lead)}"
        return f"{late}: {seen}, {takes}{why}. `warmline prescale watch` shows how far they are."


def late(wanted: Iterable[Need], there: There, lead: LeadTime, now: Instant) -> tuple[Late, ...]:
    """Of each event that is late, the need that is so the most."""
    worst: dict[str, Late] = {}
    for need in wanted:
        by = _ready_by(need.rise, there, lead, now)
        if by is None or by <= need.rise.at.to_instant():
            continue
        found = Late(need, by, there, lead)
        before = worst.setdefault(need.event, found)
        if (found.late_s, need.rise.floor) > (before.late_s, before.need.rise.floor):
            worst[need.event] = found
    return tuple(worst.values())


def warm(wanted: Iterable[Need], there: There) -> int:
    """The highest floor of these that is Ready; 0 if none is, or if nobody can see it."""
    if isinstance(there, int):
        return 0
    ready = count(there)
    return max((need.rise.floor for need in wanted if need.rise.floor <= ready), default=0)


def count(there: There) -> int:
    """Replicas that are Ready; where pods are not shown, those that are there."""
    return there if isinstance(there, int) else sum(pod.is_ready for pod in there)


def _ready_by(rise: Rise, there: There, lead: LeadTime, now: Instant) -> Instant | None:
    if not isinstance(there, int):
        return ready_by(rise.floor, there, lead, rise, now)
    return None if there >= rise.floor else max(now, rise.raise_at).add(seconds=lead.total_s)


def _why(pods: Iterable[PodState]) -> str:
    """What the cluster says of one that does not come on."""
    said = sorted({pod.progress.why for pod in pods if pod.progress.why and not pod.is_ready})
    return f"; {said[0].rstrip('.')}" if said else ""


def _basis(lead: LeadTime) -> str:
    return "platform.yaml" if lead.basis == "platform.yaml" else "what the cluster did"


def _minute(local: ZonedDateTime) -> str:
    return f"{local.hour:02}:{local.minute:02}"
