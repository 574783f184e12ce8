"""Moments as `warmline prescale` prints them."""

from __future__ import annotations

from whenever import Instant, ZonedDateTime


def utc(moment: Instant | ZonedDateTime) -> str:
    """RFC 3339 in UTC, with `Z`."""
    instant = moment if isinstance(moment, Instant) else moment.to_instant()
    text: str = instant.format_iso()
    return text


def both(moment: Instant | ZonedDateTime, zone: str) -> str:
    """Local time and UTC: `2027-10-29 20:00 Asia/Kolkata (14:30Z)`, with the date again where UTC has another."""
    instant = moment if isinstance(moment, Instant) else moment.to_instant()
    local, there = instant.to_tz(zone), instant.to_tz("UTC")
    date = "" if there.date() == local.date() else f"{there.date()} "
    return f"{minute(local)} {zone} ({date}{time_of_day(there)}Z)"


def time_of_day(moment: ZonedDateTime) -> str:
    """`20:00`, with seconds only where there are any."""
    seconds = f":{moment.second:02}" if moment.second else ""
    return f"{moment.hour:02}:{moment.minute:02}{seconds}"


def minute(local: ZonedDateTime) -> str:
    """`2027-10-29 20:00`."""
    return f"{local.date()} {time_of_day(local)}"
