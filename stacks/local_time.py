"""Local time in a named zone: the one instant it stands for, or what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from whenever import (
    Instant,
    OffsetDateTime,
    PlainDateTime,
    RepeatedTime,
    SkippedTime,
    TimeZoneNotFoundError,
    ZonedDateTime,
)

from stacks.faults import Misfit

# A calendar's years; END_YEAR is the first that is none. Others are slips of the pen.
FIRST_YEAR, END_YEAR = 2000, 2200
OTHER_YEAR = f"a year from {FIRST_YEAR} to {END_YEAR - 1}"


def zone_faults(zone: str, path: tuple[str | int, ...]) -> Iterator[Misfit]:
    """What is wrong with the name of a zone, if anything."""
    # Abbreviations are several places' names (IST: India, Israel, Ireland), and those tzdata knows have no DST.
    expected = "an IANA zone such as Asia/Kolkata"
    if "/" not in zone and zone != "UTC":
        yield Misfit(path, zone, expected, "Name the place, not the abbreviation.")
        return
    try:
        Instant.MIN.to_tz(zone) if zone == "UTC" else Instant.from_utc(2000, 1, 1).to_tz(zone)
    except TimeZoneNotFoundError:
        yield Misfit(path, zone, expected, "Correct its spelling; the zone database does not have it.")


def once(text: str, zone: str, path: tuple[str | int, ...]) -> ZonedDateTime | Misfit:
    """A local time as one instant: none where the clock skips or repeats it, unless the text carries the offset."""
    iso = text.replace(" ", "T")
    if not FIRST_YEAR <= int(iso[:4]) < END_YEAR:
        return Misfit(path, text, OTHER_YEAR, "Correct the date.")
    try:
        if re.search(r"([+-]\d{2}:\d{2}|Z)$", iso):
            return _with_offset(iso, zone, path)
        return PlainDateTime.parse_iso(iso).assume_tz(zone, disambiguation="raise")
    except SkippedTime:
        fix = "Clocks are put forward over it; write the time before or after the gap."
        return Misfit(path, text, f"a time that exists in {zone}", fix)
    except RepeatedTime:
        first, second = offsets(iso, zone)
        fix = f"Write {text}{first} for the first or {text}{second} for the second."
        return Misfit(path, text, f"a time that exists once in {zone}", fix)
    except ValueError:
        return Misfit(path, text, "a date and time, as 2027-10-29 20:00", "Correct the date.")


def _with_offset(iso: str, zone: str, path: tuple[str | int, ...]) -> ZonedDateTime | Misfit:
    given = OffsetDateTime.parse_iso(iso)
    local = given.to_instant().to_tz(zone)
    if local.to_plain() != given.to_plain():
        shown = local.to_fixed_offset().format_iso()
        return Misfit(path, iso, f"an offset that {zone} has then ({shown})", "Drop the offset, or correct it.")
    return local


def offsets(iso: str, zone: str) -> tuple[str, str]:
    """The two offsets of a local time that exists twice in `zone`, the earlier instant's first (`-04:00`, `-05:00`)."""
    return _offset(iso, zone, "earlier"), _offset(iso, zone, "later")


def _offset(iso: str, zone: str, which: Literal["earlier", "later"]) -> str:
    moment = PlainDateTime.parse_iso(iso).assume_tz(zone, disambiguation=which)
    shown: str = moment.to_fixed_offset().format_iso()
    return shown[-6:]


def widest(
    start: PlainDateTime, end: PlainDateTime, zone: str, lasts_s: int = 0
) -> tuple[ZonedDateTime, ZonedDateTime]:
    """A window of local times that repeats, so that some year the clock skips or repeats one of them.

    The start counts at the earlier of its two readings and the end at the later one: no way to read the calendar
    gives a longer window, and one whose end is after its start on the clock's face is never empty.

    Args:
        lasts_s: seconds that it lasts in any case, however the clock is set in between.
    """
    first, last = start.assume_tz(zone, disambiguation="earlier"), end.assume_tz(zone, disambiguation="later")
    if lasts_s:
        last = max(last, start.assume_tz(zone, disambiguation="later").add(seconds=lasts_s))
    return first, last
