"""Windows: when an event asks how many replicas of a service, and all of them of one stack, its timetable."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from msgspec import Struct
from whenever import Instant, ZonedDateTime

from prescale.floors.gap import Hold
from prescale.floors.load import Load
from prescale.floors.ramp import Ramp, Rise
from prescale.lead_time.reckoning import longest_s


class Step(Struct, frozen=True):
    """One link of the chain before T0; it takes `takes_s` at p95 and starts that long before the next one."""

    name: str
    starts_at: Instant
    takes_s: int


class Window(Struct, frozen=True):
    """One event for one service: `floor` replicas must be in force in [raise_at, end).

    With a `ramp` it comes in `rises`, of which the last is the whole; `steps` lead to the first of them. `holds` are
    gaps before it that are too short to cool in. It `knows_starts` where the cluster's measured ones were read.
    """

    event: str
    service: str
    cancelled: bool
    load: Load
    headroom_pct: Decimal
    replicas_with_headroom: Fraction
    floor: int
    ceiling: int
    baseline: int
    margin_s: int
    start: ZonedDateTime
    end: ZonedDateTime
    lead_time_s: int = 0
    steps: tuple[Step, ...] = ()
    owner: str | None = None
    priority: int = 0
    ramp: Ramp | None = None
    rises: tuple[Rise, ...] = ()
    title: str | None = None
    holds: tuple[Hold, ...] = ()
    knows_starts: bool = False

    @property
    def raise_at(self) -> Instant:
        """When the first step starts."""
        return self.steps[0].starts_at if self.steps else self.start.to_instant()

    def active(self, now: Instant) -> bool:
        """Whether its floor counts at `now`."""
        return not self.cancelled and (self._is_raised(now) or any(hold.covers(now) for hold in self.holds))

    def rise_at(self, now: Instant) -> Rise:
        """What it has come to, or what it begins with; without a ramp there is one rise, to T0."""
        begun = [rise for rise in self.all_rises if rise.raise_at <= now]
        held = [hold.rise for hold in self.holds if hold.covers(now)]
        return max([*held, *begun[-1:]], key=lambda rise: rise.floor, default=self.all_rises[0])

    @property
    def all_rises(self) -> tuple[Rise, ...]:
        """Its ramp's, or the one that an event without a ramp has."""
        return self.rises or (Rise(self.floor, self.start, self.raise_at),)

    def floor_at(self, now: Instant) -> int:
        """Replicas it asks for at `now`; 0 where it is not active."""
        return self.rise_at(now).floor if self.active(now) else 0

    def floor_early(self, now: Instant) -> int:
        """Replicas that a run which knows of the slowest starts that count may have in force by now.

        Such a start moves a raise, and the end of the longest gap that is held before it. Who knows the measured starts
        has nobody to yield to: what the calendar says of another time is certain then.
        """
        if self.knows_starts:
            return self.floor_at(now)
        last = self.end.to_instant().subtract(seconds=1)
        slack_s = 2 * longest_s(self.lead_time_s) - self.lead_time_s
        return self.floor_at(min(now.add(seconds=slack_s), last)) if now <= last else 0

    def _is_raised(self, now: Instant) -> bool:
        return self.raise_at <= now < self.end.to_instant()

    def state(self, now: Instant) -> str:
        """`cancelled`, `over`, `running` (from T0), `raised` (from raise_at), `held` (over a gap) or `planned`."""
        if self.cancelled:
            return "cancelled"
        if now >= self.end.to_instant():
            return "over"
        if now >= self.start.to_instant():
            return "running"
        if now >= self.raise_at:
            return "raised"
        return "held" if self.active(now) else "planned"


class Timetable(Struct, frozen=True, dict=True):
    """All windows of one stack, in order of time. `calendar` names where they come from.

    `findings` are (service, what is missing): events that it should have, and whose day or entry nobody knows.
    """

    calendar: str
    windows: tuple[Window, ...]
    findings: tuple[tuple[str, str], ...] = ()

    def of(self, service: str) -> tuple[Window, ...]:
        """The windows of one service."""
        return self._by_service.get(service, ())

    @cached_property
    def _by_service(self) -> dict[str, tuple[Window, ...]]:
        found: dict[str, list[Window]] = {}
        for window in self.windows:
            found.setdefault(window.service, []).append(window)
        return {service: tuple(windows) for service, windows in found.items()}

    def floor_at(self, now: Instant, service: str, baseline: int) -> int:
        """max(baseline, every active event), in replicas."""
        return max([baseline, *(window.floor_at(now) for window in self.of(service))])
