"""What keeps a calendar's first event from being played, said before anything is started."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.demand import SHORTEST_RAMP_S, Demand
from stacks.events import CalendarSpec, EventSpec
from stacks.faults import InputError, Misfit
from stacks.loader import Stack
from stacks.spec import Platform
from stacks.units import OF_REQUESTS

SCALED = (
    ("cold_start", ("node_s", "image_s", "weights_s", "engine_start_s")),
    ("scale_down", ("window_s", "period_s")),
)
"""The durations of a service that the scale divides; of the calendar these are `ready_margin_s` and a ramp's."""

ON_ITS_OWN = "Write the one to be played first in the list, with a start and an end of its own."
OTHER_SCALE = "Choose another --time-scale."


def must_be_playable(stack: Stack, calendar: CalendarSpec, factor: int) -> None:
    """See that the first event can be played, with every duration of the stack divided by `factor`.

    Raises:
        InputError: with everything that is in the way: the rehearsal's numbers would not be the stack's.
    """
    built, coming = stack.platform_document, stack.calendar_document
    wrong = [(built, one) for one in _of_platform(stack.platform, factor)]
    wrong += [(coming, one) for one in _of_calendar(stack.platform, calendar, factor)]
    if wrong:
        raise InputError(stack.fault(file, one.path, one.got, one.expected, one.fix) for file, one in wrong)


def _of_platform(platform: Platform, factor: int) -> Iterator[Misfit]:
    for name, service in platform.services.items():
        for part, fields in SCALED:
            for field in fields:
                yield from _divided(getattr(getattr(service, part), field), factor, ("services", name, part, field))


def _of_calendar(platform: Platform, calendar: CalendarSpec, factor: int) -> Iterator[Misfit]:
    yield from _divided(calendar.ready_margin_s, factor, ("ready_margin_s",))
    if not calendar.events:
        got = "events of .ics files only" if calendar.calendars else "no event"
        yield Misfit(("events",), got, "one to play", ON_ITS_OWN)
        return
    event, path = calendar.events[0], ("events", 0)
    yield from _of_time(event, path)
    if event.ramp:
        yield from _of_ramp(event.ramp.over_s, factor, (*path, "ramp", "over_s"))
    name, demand = next(iter(event.services.items()))
    yield from _of_load(platform, name, demand, (*path, "services", name))


def _of_time(event: EventSpec, path: tuple[str | int, ...]) -> Iterator[Misfit]:
    """One time is moved to today; what stands for many, or for none, is not."""
    if event.repeat or event.holiday:
        field = "repeat" if event.repeat else "holiday"
        got = "an event that repeats" if event.repeat else "an event on a holiday of every year"
        yield Misfit((*path, field), got, "one that happens once: it is played today", ON_ITS_OWN)
    if event.cancelled:
        fix = "Take `cancelled` out, or put another event first."
        yield Misfit((*path, "cancelled"), "true", "an event that raises something", fix)


def _of_ramp(over_s: int, factor: int, path: tuple[str | int, ...]) -> Iterator[Misfit]:
    yield from _divided(over_s, factor, path)
    shortest_s = SHORTEST_RAMP_S * factor  # the rehearsed calendar is held to the rules of any
    if over_s < shortest_s:
        expected = f"at least {shortest_s} s, of which the time scale {factor} leaves {SHORTEST_RAMP_S}"
        yield Misfit(path, f"{over_s} s", expected, OTHER_SCALE)


def _of_load(platform: Platform, name: str, demand: Demand, path: tuple[str | int, ...]) -> Iterator[Misfit]:
    """Of the service whose load is played, the event's first: arrivals, and those before and after."""
    service = platform.services[name]
    if demand.unit not in OF_REQUESTS:
        units = " or ".join(sorted(OF_REQUESTS))
        yield Misfit((*path, demand.unit), f"a load in {demand.unit}", "arrivals to play", f"Give it {units}.")
    if service.usual_load is None:
        fix = f"Set services.{name}.usual_load in platform.yaml."
        yield Misfit(path, "a service without usual_load", "the load that is played before and after the event", fix)
    if service.adopted:
        fix = "Put another service first: the rehearsed stack has what `pulumi up` builds."
        yield Misfit(path, "a service that others built", "one that can be built anew", fix)


def _divided(seconds: int, factor: int, path: tuple[str | int, ...]) -> Iterator[Misfit]:
    if seconds % factor:
        yield Misfit(path, f"{seconds} s", f"a multiple of the time scale {factor}", OTHER_SCALE)
