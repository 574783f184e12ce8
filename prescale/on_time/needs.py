"""What a run has raised, or found raised, and nobody has seen Ready yet: what is worth a look at the pods. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from whenever import Instant

from prescale.decision import baseline_of
from prescale.floors.ramp import Rise
from prescale.outcome import Outcome
from prescale.windows.window import Timetable, Window


@dataclass(frozen=True)
class Need:
    """What `event` has come to ask for: all of it, or one step of its ramp."""

    event: str
    rise: Rise


def by_service(table: Timetable, outcomes: Iterable[Outcome], now: Instant) -> Mapping[str, tuple[Need, ...]]:
    """The needs of each service that has any.

    Args:
        now: the API server's time, as far as it is known.
    """
    return {outcome.service: found for outcome in outcomes if (found := _of(table, outcome, now))}


def _of(table: Timetable, outcome: Outcome, now: Instant) -> tuple[Need, ...]:
    # Where the floor is not in force nothing is started by it: a time of readiness would be made up.
    if outcome.observed is None or outcome.observed.starts_nothing or not outcome.is_in_force:
        return ()
    baseline, _ = baseline_of(outcome.observed)
    return needs(table.of(outcome.service), outcome.events, baseline or 0, outcome.warm, now)


def needs(
    windows: Iterable[Window], events: Collection[str], baseline: int, warm: int, now: Instant
) -> tuple[Need, ...]:
    """What has been raised by `now` and is neither the baseline's nor known to have been Ready.

    Args:
        events: whose floors are in force; what an order has called off is none of them.
        warm: replicas that these events are known to have had Ready.
    """
    return tuple(
        Need(window.event, rise)
        for window in windows
        if window.event in events and not window.cancelled and now < window.end.to_instant()
        for rise in window.all_rises
        if rise.raise_at <= now and rise.floor > max(baseline, warm)
    )
