"""The moments whose floors are asked about: when an event begins to be raised, and while others come on top of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace
from whenever import Instant

from prescale.clock import Clock
from prescale.orders.order import Orders
from prescale.windows.window import Timetable, Window
from stacks.event_names import name_and_day
from stacks.loader import Stack


class NoSuchEvent(ValueError):  # noqa: N818 - it names the state
    """The text says why there is nothing to look at."""


@dataclass(frozen=True)
class Moment:
    """`floors` are those in force together from `at` on, for each service; `events` ask for them."""

    at: Instant
    floors: Mapping[str, int]
    events: tuple[str, ...]


def called_off(table: Timetable, orders: Orders, clock: Clock) -> Timetable:
    """The timetable in which what people cancelled in the cluster is cancelled."""
    windows = (
        replace(window, cancelled=True) if orders.cancel(window.event, window.service, clock) else window
        for window in table.windows
    )
    return replace(table, windows=tuple(windows))


def at_time(stack: Stack, table: Timetable, at: Instant) -> Moment:
    """The floors of one moment."""
    services = stack.platform.services
    floors = {name: table.floor_at(at, name, service.replicas.min) for name, service in services.items()}
    events = dict.fromkeys(window.event for window in table.windows if window.active(at))
    return Moment(at, floors, tuple(events))


def ahead(stack: Stack, table: Timetable, now: Instant, event: str | None = None) -> tuple[Moment, ...]:
    """The moments of `event`, or of the next one that has not started, that ask for the most.

    One that asks of every service at most what another does is left out. Without any event it is `now`.

    Args:
        event: its name; of one that repeats the name alone means the next occurrence.

    Raises:
        NoSuchEvent: there is none of this name ahead.
    """
    coming = [one for one in table.windows if not one.cancelled and one.end.to_instant() > now]
    chosen = _named(table, coming, event) if event else _next(coming, now)
    if not chosen:
        return (at_time(stack, table, now),)
    begins = max(now, min(window.raise_at for window in chosen))
    ends = max(window.end.to_instant() for window in chosen)
    # Floors only rise where one is raised, in its steps where it has a ramp.
    raises = (rise.raise_at for window in coming for rise in window.all_rises)
    times = {begins, *(at for at in raises if begins < at < ends)}
    return _highest([at_time(stack, table, time) for time in sorted(times)])


def _next(coming: Sequence[Window], now: Instant) -> list[Window]:
    """By the time of the raise; one that runs already only where no other is ahead."""
    waited_for = [window for window in coming if window.start.to_instant() > now] or coming
    return [window for window in waited_for if window.event == waited_for[0].event]


def _named(table: Timetable, coming: Sequence[Window], event: str) -> list[Window]:
    for window in coming:
        if event in {window.event, name_and_day(window.event)[0]}:
            return [one for one in coming if one.event == window.event]
    said = {window.event for window in table.windows if event in {window.event, name_and_day(window.event)[0]}}
    if said:
        raise NoSuchEvent(f"{event} is over or cancelled")
    names = dict.fromkeys(name_and_day(window.event)[0] for window in coming)
    raise NoSuchEvent(f"no event {event!r}; ahead are {', '.join(names) or 'none'}")


def _highest(moments: Sequence[Moment]) -> tuple[Moment, ...]:
    kept: list[Moment] = []
    for moment in moments:
        if any(_covers(one, moment) for one in kept):
            continue
        kept = [one for one in kept if not _covers(moment, one)] + [moment]
    return tuple(kept)


def _covers(one: Moment, other: Moment) -> bool:
    return all(one.floors[name] >= floor for name, floor in other.floors.items())
