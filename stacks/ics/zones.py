"""The IANA zone that a TZID of an iCalendar file means: its own name, Windows' name, or the file's own definition."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from stacks.local_time import zone_faults

if TYPE_CHECKING:
    from icalendar.cal import Component

# Often enough to tell the days on which two zones change their clocks.
_EVERY = timedelta(days=3)
_UTC = {"UTC", "GMT", "Z", "tzone://Microsoft/Utc", "Etc/UTC"}


def zone_named(tzid: str, blocks: Mapping[str, Component], year: int, first: str) -> str | None:
    """The zone, by what it is named, else by how the file's own definition sets the clock in `year`; None if unknown.

    A name counts before a definition of it: definitions are copies, and rules change. `first` is the zone to prefer
    where several have the same clock.
    """
    tzid = tzid.strip().strip('"')
    return _by_name(tzid) or (_by_clock(blocks[tzid], year, first) if tzid in blocks else None)


def _by_name(tzid: str) -> str | None:
    from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

    if tzid in _UTC:
        return "UTC"
    # Globally unique names have a prefix: /freeassociation.sourceforge.net/Europe/Berlin.
    parts = [part for part in tzid.split("/") if part]
    for begin in range(len(parts) - 1):
        name = "/".join(parts[begin:])
        if _is_sound(name):
            return name
    return WINDOWS_TO_OLSON.get(tzid)


def _is_sound(name: str) -> bool:
    try:
        return not list(zone_faults(name, ()))
    except (ValueError, OSError):  # no name of a zone's file
        return False


def _by_clock(block: Component, year: int, first: str) -> str | None:
    if place := _by_name(str(block.get("X-LIC-LOCATION", ""))):
        return place
    try:
        clock: Any = block.to_tz()  # type: ignore[attr-defined]
        offsets = [clock.utcoffset(moment) for moment in _moments(year)]
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
        return None
    return next((zone for zone in (first, *_known()) if _offsets(zone, year) == offsets), None)


def _known() -> tuple[str, ...]:
    """One zone for each clock that a mail program offers."""
    from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

    return tuple(dict.fromkeys(WINDOWS_TO_OLSON.values()))


@lru_cache(maxsize=1024)
def _offsets(zone: str, year: int) -> list[timedelta | None]:
    clock = ZoneInfo(zone)
    return [clock.utcoffset(moment) for moment in _moments(year)]


def _moments(year: int) -> list[datetime]:
    # Naive on purpose: the clock's face at noon, which no change skips.
    noon = datetime(year, 1, 1, 12)  # noqa: DTZ001
    return [noon + _EVERY * n for n in range(122)]
