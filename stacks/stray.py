"""What a calendar calls off on days without an occurrence: a slip of the pen, or what an earlier rule has left behind.

That is no fault, since an occurrence that a changed rule has left behind is let go in just this way.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from stacks.events import EventSpec
from stacks.folders import EVENTS_FILE, shown
from stacks.loader import Stack
from stacks.yaml_text import dotted


def stray_cancels(stack: Stack, today: date) -> Iterator[str]:
    """Each such day from `today` on, with its line. Rules of .ics files are their calendar programs' matter."""
    for series in stack.calendar.series:
        if not isinstance(series.asked, EventSpec):
            continue
        for index, text in enumerate(series.asked.cancelled_on):
            day = date.fromisoformat(text)
            if day >= today and not series.days.between(day, day):
                place = (*series.place, "cancelled_on", index)
                where = f"{shown(stack.folder / EVENTS_FILE)}:{stack.calendar_document.line(place)}: {dotted(place)}"
                said = f"{series.name} has no occurrence on {day}, so this calls off none"
                yield f"{where}: {said}. Correct the day, unless it lets go of what an earlier rule has raised."
