"""The timetable: what each event asks of each service, and when each step towards it starts, backwards from T0.

A pure function of calendar and platform. Steps are (name, seconds) in the order they happen; nodes and reservations
go in front of the list when they are known, and nothing else changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from whenever import Instant, ZonedDateTime

from capacity import replicas
from prescale.clock import FIRST
from prescale.floors.gap import Ended, Hold, holds
from prescale.floors.load import Load, headroom_pct, load_of
from prescale.floors.ramp import Rise, rises
from prescale.lead_time.reckoning import LeadTime, longest_s, of_spec
from stacks.demand import Demand, Ramp
from stacks.faults import Fault, InputError
from stacks.holiday import holiday_findings
from stacks.loader import Stack
from stacks.series import Event, Place

# How far ahead of the raise what repeats is reckoned: far enough to mend what a plan shows, and no endless list.
AHEAD_S = 28 * 86400


@dataclass(frozen=True)
class Step:
    """One link of the chain before T0; it takes `takes_s` at p95 and starts that long before the next one."""

    name: str
    starts_at: Instant
    takes_s: int


@dataclass(frozen=True)
class Window:
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
    lead_time_s: int
    margin_s: int
    steps: tuple[Step, ...]
    start: ZonedDateTime
    end: ZonedDateTime
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


@dataclass(frozen=True)
class Timetable:
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


def timetable(stack: Stack, now: Instant = FIRST, lead_times: Mapping[str, LeadTime] | None = None) -> Timetable:
    """Reckon the windows of `stack`: of every event that happens once, and of those that repeat the ones around `now`.

    These are all that are raised by then or in the four weeks after it, those that are just over, and the next.

    Args:
        now: events that ended before it may pass the ceiling: what is over cannot fail any more.
        lead_times: of services whose starts were measured, of the others platform.yaml says it; None if none was asked.

    Raises:
        InputError: one fault for each floor above its service's ceiling. A ceiling is never raised by an event.
    """
    windows: list[Window] = []
    faults: list[Fault] = []
    leads = {name: of_spec(service.cold_start) for name, service in stack.platform.services.items()}
    leads |= lead_times or {}
    earliest_s = (
        max(lead.total_s for lead in leads.values()) + stack.calendar.ready_margin_s + stack.calendar.longest_ramp_s
    )
    for event in stack.calendar.around(now, earliest_s + AHEAD_S):
        for name, demand in event.demands.items():
            window = _window(stack, event, name, demand, leads[name], knows_starts=lead_times is not None)
            windows.append(window)
            is_over = window.end.to_instant() <= now
            if window.floor > window.ceiling and not event.cancelled and not is_over:
                faults.append(_above_ceiling(stack, window, event.place))
    if faults:
        raise InputError(faults)
    windows.sort(key=lambda window: (window.raise_at, window.event, window.service))
    unknown = tuple(holiday_findings(stack.calendar.series, now.to_tz(stack.calendar.timezone).date().to_stdlib()))
    return Timetable(stack.calendar.source, _over_gaps(windows), (*stack.calendar.findings, *unknown))


def _over_gaps(windows: Sequence[Window]) -> tuple[Window, ...]:
    ended: dict[str, list[Ended]] = defaultdict(list)
    for window in windows:
        if not window.cancelled:
            ended[window.service].append(Ended(window.event, window.floor, window.end.to_instant()))
    return tuple(_held(window, ended[window.service]) for window in windows)


def _held(window: Window, ended: Sequence[Ended]) -> Window:
    found = () if window.cancelled else holds(ended, window.all_rises, window.lead_time_s)
    return replace(window, holds=found) if found else window


def chain(t0: Instant, links: Iterable[tuple[str, int]]) -> tuple[Step, ...]:
    """Schedule `links` (name, seconds) so that the last one ends at `t0`; links of 0 s are left out."""
    steps: list[Step] = []
    for name, takes_s in reversed([link for link in links if link[1]]):
        t0 = t0.subtract(seconds=takes_s)
        steps.append(Step(name, t0, takes_s))
    return tuple(reversed(steps))


def _window(stack: Stack, event: Event, name: str, demand: Demand, lead: LeadTime, *, knows_starts: bool) -> Window:
    service = stack.platform.services[name]
    load = load_of(demand, service)
    on_top_pct = headroom_pct(demand, stack.calendar.headroom_pct)
    needed = replicas.with_headroom(load.replicas, on_top_pct)
    margin_s = stack.calendar.ready_margin_s
    asked, baseline = event.asked, service.replicas.min
    ahead_s = lead.total_s + margin_s
    rising = rises(event.start, needed, baseline, asked.ramp, ahead_s) if asked.ramp else ()
    first_at = rising[0].at if rising else event.start
    return Window(
        event=event.name,
        service=name,
        cancelled=event.cancelled,
        load=load,
        headroom_pct=on_top_pct,
        replicas_with_headroom=needed,
        floor=replicas.whole(needed),
        ceiling=service.replicas.max,
        baseline=baseline,
        lead_time_s=lead.total_s,
        margin_s=margin_s,
        steps=chain(first_at.to_instant(), [*lead.links, ("ready, with a margin", margin_s)]),
        start=event.start,
        end=event.end,
        owner=asked.owner,
        priority=asked.priority,
        ramp=asked.ramp,
        rises=rising,
        knows_starts=knows_starts,
        title=event.title,
    )


def _above_ceiling(stack: Stack, window: Window, event: Place) -> Fault:
    place = (*event, "services", window.service)
    formula = f"{window.load.formula} + {replicas.decimal_text(window.headroom_pct)} %"
    whose = f"{window.title}: " if window.title else ""
    got = f"{whose}a floor of {window.floor} replicas ({formula})"
    expected = f"at most the ceiling of {window.ceiling} (services.{window.service}.replicas.max)"
    fix = f"Raise replicas.max to {window.floor} or more, with the nodes for it, or lower the event's load."
    return stack.fault(stack.calendar_document, place, got, expected, fix)
