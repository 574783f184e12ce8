"""The timetable as an iCalendar file, for the calendars that people look at: each event, and when it is raised."""

from __future__ import annotations

from collections.abc import Iterable

import icalendar
from whenever import Instant

from cli.prescale.plan_text import reckoned
from cli.prescale.text import both
from prescale.windows.window import Timetable, Window
from stacks.loader import Stack


def ics(stack: Stack, table: Timetable, now: Instant) -> str:
    """One entry for each event, whatever number of services it asks; cancelled ones as such.

    The same event keeps its UID, so a program that takes the file again moves the entry and adds none.
    """
    calendar = icalendar.Calendar()
    calendar.add("prodid", "-//Warmline//prescale plan//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", f"Warmline {stack.name}")
    events: dict[str, list[Window]] = {}
    for window in table.windows:
        events.setdefault(window.event, []).append(window)
    for windows in events.values():
        calendar.add_component(_entry(stack, windows, now))
    calendar.add_missing_timezones()
    text: str = calendar.to_ical().decode()
    return text


def _entry(stack: Stack, windows: list[Window], now: Instant) -> icalendar.Event:
    first = windows[0]
    entry = icalendar.Event()
    entry.add("uid", f"{first.event}.{stack.name}@warmline")
    entry.add("dtstamp", now.to_stdlib())
    entry.add("dtstart", first.start.to_stdlib())
    entry.add("dtend", first.end.to_stdlib())
    floors = ", ".join(f"{window.service} {window.floor}" for window in windows)
    entry.add("summary", f"{first.title or first.event}: {floors}")
    entry.add("description", "\n".join(_about(stack, windows)))
    entry.add("status", "CANCELLED" if first.cancelled else "CONFIRMED")
    # It says what is planned for others' machines: nobody's own time is taken.
    entry.add("transp", "TRANSPARENT")
    return entry


def _about(stack: Stack, windows: Iterable[Window]) -> Iterable[str]:
    for window in windows:
        zone = window.start.tz_id or "UTC"
        yield from (line.strip() for line in reckoned(stack, window))
        yield f"raised at {both(window.raise_at, zone)}"
