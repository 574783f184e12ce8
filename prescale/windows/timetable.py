"""The timetable: what each event asks of each service, and when each step towards it starts, backwards from T0.

A pure function of calendar and platform.
"""

from __future__ import annotations

from whenever import Instant

from capacity import replicas
from prescale.clock import FIRST
from prescale.floors.load import headroom_pct, load_of
from prescale.floors.ramp import Ramp, rises
from prescale.lead_time.reckoning import of_spec
from prescale.windows.timing import in_order, timed
from prescale.windows.window import Timetable, Window
from stacks.demand import Demand
from stacks.faults import Fault, InputError
from stacks.holiday import holiday_findings
from stacks.loader import Stack
from stacks.series import Event, Place

# How far ahead of the raise what repeats is reckoned: far enough to mend what a plan shows, and no endless list.
AHEAD_S = 28 * 86400


def timetable(stack: Stack, now: Instant = FIRST) -> Timetable:
    """Reckon the windows of `stack`: of every event that happens once, and of those that repeat the ones around `now`.

    These are all that are raised by then or in the four weeks after it, those that are just over, and the next.

    Args:
        now: events that ended before it may pass the ceiling: what is over cannot fail any more.

    Raises:
        InputError: one fault for each floor above its service's ceiling. A ceiling is never raised by an event.
    """
    windows: list[Window] = []
    faults: list[Fault] = []
    longest_s = max(service.cold_start.total_s for service in stack.platform.services.values())
    earliest_s = longest_s + stack.calendar.ready_margin_s + stack.calendar.longest_ramp_s
    for event in stack.calendar.around(now, earliest_s + AHEAD_S):
        for name, demand in event.demands.items():
            window = _window(stack, event, name, demand)
            windows.append(window)
            is_over = window.end.to_instant() <= now
            if window.floor > window.ceiling and not event.cancelled and not is_over:
                faults.append(_above_ceiling(stack, window, event.place))
    if faults:
        raise InputError(faults)
    unknown = tuple(holiday_findings(stack.calendar.series, now.to_tz(stack.calendar.timezone).date().to_stdlib()))
    return Timetable(stack.calendar.source, in_order(windows), (*stack.calendar.findings, *unknown))


def _window(stack: Stack, event: Event, name: str, demand: Demand) -> Window:
    service = stack.platform.services[name]
    load = load_of(demand, service)
    on_top_pct = headroom_pct(demand, stack.calendar.headroom_pct)
    needed = replicas.with_headroom(load.replicas, on_top_pct)
    asked, baseline = event.asked, service.replicas.min
    ramp = Ramp(asked.ramp.steps, asked.ramp.over_s) if asked.ramp else None
    window = Window(
        event=event.name,
        service=name,
        cancelled=event.cancelled,
        load=load,
        headroom_pct=on_top_pct,
        replicas_with_headroom=needed,
        floor=replicas.whole(needed),
        ceiling=service.replicas.max,
        baseline=baseline,
        margin_s=stack.calendar.ready_margin_s,
        start=event.start,
        end=event.end,
        owner=asked.owner,
        priority=asked.priority,
        ramp=ramp,
        rises=rises(event.start, needed, baseline, ramp) if ramp else (),
        title=event.title,
    )
    return timed(window, of_spec(service.cold_start))


def _above_ceiling(stack: Stack, window: Window, event: Place) -> Fault:
    place = (*event, "services", window.service)
    formula = f"{window.load.formula} + {replicas.decimal_text(window.headroom_pct)} %"
    whose = f"{window.title}: " if window.title else ""
    got = f"{whose}a floor of {window.floor} replicas ({formula})"
    expected = f"at most the ceiling of {window.ceiling} (services.{window.service}.replicas.max)"
    fix = f"Raise replicas.max to {window.floor} or more, with the nodes for it, or lower the event's load."
    return stack.fault(stack.calendar_document, place, got, expected, fix)
