"""Why the floor is what it is at one time: whoever asks for replicas then, and who is near and does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whenever import Instant

from cli.prescale.plan_text import reckoned
from cli.prescale.text import both, utc
from prescale.windows.window import Timetable, Window
from stacks.loader import Stack

# What is over or to come is told this long: longer than a night's sale with its lead time, and no whole calendar.
NEAR_S = 86400


def data(stack: Stack, table: Timetable, now: Instant) -> dict[str, Any]:
    """Each service's floor, and each event that asks for it or lies near."""
    return {
        "stack": stack.name,
        "calendar": table.calendar,
        "at": utc(now),
        "services": [
            {
                "name": name,
                "floor": table.floor_at(now, name, service.replicas.min),
                "baseline": service.replicas.min,
                "ceiling": service.replicas.max,
                "events": [
                    {
                        "name": window.event,
                        "state": window.state(now),
                        "floor": window.floor_at(now),
                        "because": _because(window, now),
                    }
                    for window in _near(table, name, now)
                ],
            }
            for name, service in stack.platform.services.items()
        ],
    }


def lines(stack: Stack, table: Timetable, now: Instant) -> Iterator[str]:
    """The same for people, with the arithmetic of what counts."""
    yield f"Stack {stack.name}, calendar {table.calendar}, at {both(now, stack.calendar.timezone)}"
    yield "By the calendar alone; what a cluster holds beyond it, `warmline prescale sync --dry-run` shows."
    for name, service in stack.platform.services.items():
        baseline = service.replicas.min
        floor = table.floor_at(now, name, baseline)
        yield ""
        yield f"{name}: floor {floor}, the highest of"
        yield f"  {baseline}  baseline (replicas.min)"
        near = _near(table, name, now)
        for window in near:
            if window.active(now):
                yield f"  {window.floor_at(now)}  {window.event}: {_because(window, now)}"
                yield from (f"     {line.strip()}" for line in list(reckoned(stack, window))[1:])
        yield from (f"  -  {window.event}: {_because(window, now)}" for window in near if not window.active(now))
        yield f"  ceiling {service.replicas.max} (replicas.max)"


def _near(table: Timetable, service: str, now: Instant) -> list[Window]:
    since, until = now.subtract(seconds=NEAR_S), now.add(seconds=NEAR_S)
    return [window for window in table.of(service) if window.raise_at <= until and window.end.to_instant() > since]


def _because(window: Window, now: Instant) -> str:
    zone = window.start.tz_id or "UTC"
    state = window.state(now)
    if state == "cancelled":
        return "cancelled"
    if state == "over":
        return f"over since {both(window.end, zone)}"
    if state == "planned":
        return f"not raised before {both(window.raise_at, zone)}"
    held = [hold for hold in window.holds if hold.covers(now)]
    if state == "held":
        return f"held after {held[0].after} until its own raise at {both(held[0].until, zone)}"
    step = "" if window.floor_at(now) == window.floor else f", {window.floor_at(now)} of {window.floor} so far"
    return f"raised since {both(window.raise_at, zone)}{step}, until its end at {both(window.end, zone)}"
