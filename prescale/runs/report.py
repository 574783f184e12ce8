"""One run over one stack as it is told to others: a pure function of what the run knew and did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from whenever import Instant

from prescale.outcome import Outcome
from prescale.windows.window import Timetable, Window

# The exit codes of a run that came to its end; see `cli.exits`.
CAME_TO_ITS_END = (0, 1)


@dataclass(frozen=True)
class ServiceReport:
    """One service. What was not looked at is None.

    `floor_wanted` is what baseline, events and orders ask for, `floor_in_force` the HPA's minReplicas, `ready` how many
    pods are. `starts_at` is T0 of the next event, `event_start` T0 of the one that counts now (the latest of several),
    `until` the end of what holds the floor up now.
    """

    service: str
    baseline: int | None
    floor_wanted: int
    floor_in_force: int | None = None
    ready: int | None = None
    starts_at: Instant | None = None
    event_start: Instant | None = None
    until: Instant | None = None
    events: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunReport:
    """One run. `errors` is what kept it from its end; without them, `services` has all there are.

    `at` is when it ended, `last_success` when one last came to its end, this one included.
    """

    stack: str
    at: Instant
    duration_s: float
    exit_code: int
    calendar: str | None = None
    namespace: str | None = None
    api_calls: int | None = None
    services: tuple[ServiceReport, ...] = ()
    errors: tuple[str, ...] = ()
    last_success: Instant | None = None

    @property
    def came_to_its_end(self) -> bool:
        """Whether every floor was looked at, whatever was found."""
        return self.exit_code in CAME_TO_ITS_END

    @property
    def findings(self) -> tuple[str, ...]:
        """What needs a person, each with its service in front."""
        found = (f"{each.service}: {finding}" for each in self.services for finding in each.findings)
        return (*self.errors, *found)


def service_reports(
    table: Timetable,
    baselines: Mapping[str, int],
    outcomes: Sequence[Outcome],
    now: Instant,
    ready: Mapping[str, int] | None = None,
) -> tuple[ServiceReport, ...]:
    """Every object and every service without one.

    Args:
        baselines: of the services that the platform has; a stack's older object may be of another.
        ready: service -> Ready pods, where they were counted.
    """
    return tuple(
        ServiceReport(
            service=outcome.service,
            baseline=baselines.get(outcome.service),
            floor_wanted=_wanted(table, baselines, outcome, now),
            floor_in_force=outcome.hpa_min,
            ready=None if ready is None else ready.get(outcome.service, 0),
            starts_at=_next_start(table, outcome, now),
            event_start=_event_start(table, outcome, now),
            until=outcome.until,
            events=outcome.events,
            findings=outcome.findings,
        )
        for outcome in outcomes
    )


def _wanted(table: Timetable, baselines: Mapping[str, int], outcome: Outcome, now: Instant) -> int:
    if outcome.wanted is not None:
        return outcome.wanted
    return table.floor_at(now, outcome.service, baselines.get(outcome.service, 0))


def _next_start(table: Timetable, outcome: Outcome, now: Instant) -> Instant | None:
    starts = (window.start.to_instant() for window in _standing(table, outcome) if not window.cancelled)
    return min((start for start in starts if start > now), default=None)


def _event_start(table: Timetable, outcome: Outcome, now: Instant) -> Instant | None:
    starts = (window.start.to_instant() for window in _standing(table, outcome) if window.active(now))
    return max(starts, default=None)


def _standing(table: Timetable, outcome: Outcome) -> Iterator[Window]:
    """The service's windows that no order has called off."""
    called_off = {order.event for order in outcome.orders if order.kind == "cancel"}
    yield from (window for window in table.of(outcome.service) if window.event not in called_off)
