"""An iCalendar file on disk as its entries, or what is wrong with it as a whole. A cut file is refused, never read."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from stacks.faults import Fault
from stacks.files import Unreadable, digest_of, text_of
from stacks.folders import shown
from stacks.ics.entry import Entry, entry

if TYPE_CHECKING:
    from icalendar.cal import Component

# Some eight thousand entries. A larger file takes longer to read than cron may wait.
MOST_BYTES = 2 * 2**20
# Deeper ones are nobody's: an alarm in an entry in a calendar.
MOST_DEPTH = 20

_EXPECTED = "an iCalendar file, from BEGIN:VCALENDAR to END:VCALENDAR"
_AGAIN = "Export it again."


@dataclass(frozen=True)
class IcsFile:
    """`entries` in the order of the file; `zones` are its own definitions (VTIMEZONE) by name.

    `digest` is of its text; empty where it could not be read.
    """

    path: Path
    digest: str = ""
    entries: tuple[Entry, ...] = ()
    zones: dict[str, Component] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()


def read_ics(path: Path) -> IcsFile:
    """The file's entries, or its one fault."""
    try:
        read = text_of(path, MOST_BYTES)
    except Unreadable as error:
        fix = "Name a file that is there, in UTF-8; keep planned events in a calendar of their own."
        return _refused(path, 0, str(error), fix)
    text = read.removeprefix("\ufeff")
    lines = text.split("\n")
    begins, cut = _structure(lines)
    if cut:
        return _refused(path, *cut)
    from icalendar import Calendar

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # how it reads zones: `stacks.ics.zones` says what they mean
            calendars = Calendar.from_ical(text, multiple=True)
        parts = [part for calendar in calendars for part in calendar.subcomponents]
        entries = [part for part in parts if part.name == "VEVENT"]
        found = tuple(entry(part, line) for part, line in zip(entries, begins, strict=True))
        zones = {str(part.get("TZID", "")): part for part in parts if part.name == "VTIMEZONE"}
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        return _refused(path, 0, _first_line(error), _AGAIN)
    return IcsFile(path, digest_of(read), found, zones)


def _refused(path: Path, line: int, got: str, fix: str) -> IcsFile:
    return IcsFile(path, faults=(Fault(shown(path), line, "", got, _EXPECTED, fix),))


def _first_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text[:100] or type(error).__name__


def _structure(lines: list[str]) -> tuple[list[int], tuple[int, str, str] | None]:
    """The lines on which entries begin; and (line, got, fix) where BEGIN and END do not enclose all of it."""
    open_parts: list[str] = []
    begins: list[int] = []
    closed = False
    for number, line in enumerate(lines, 1):
        mark = re.match(r"(BEGIN|END):([\w-]+)\s*\Z", line, re.IGNORECASE)
        if mark is None:
            if line.strip() and not open_parts and not line.upper().startswith("X-"):
                return [], (number, f"{line.strip()[:60]!r} outside of a calendar", _AGAIN)
            continue
        word, name = mark[1].upper(), mark[2].upper()
        if word == "BEGIN":
            if (not open_parts) != (name == "VCALENDAR") or len(open_parts) > MOST_DEPTH:
                return [], (number, line.strip()[:60], _AGAIN)
            open_parts.append(name)
            begins += [number] if name == "VEVENT" and len(open_parts) == 2 else []
        elif not open_parts or open_parts.pop() != name:
            return [], (number, f"{line.strip()[:60]} where nothing of it is open", _AGAIN)
        closed = not open_parts
    if closed:
        return begins, None
    if not open_parts:
        return [], (1, "an empty file", _AGAIN)
    fix = "It may be cut short: export it again, and move it into place when it is whole."
    return [], (len(lines), f"the end of the file within {open_parts[-1]}", fix)
