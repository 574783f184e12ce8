"""Entries (VEVENT) of an iCalendar file as plain data: times as written, nothing resolved yet.

Source: RFC 5545, iCalendar, section 3.6.1 and 3.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from icalendar.cal import Component

# What its own word is read from, in YAML as in events.yaml: for tools that write iCalendar.
OWN_WORD = "X-WARMLINE-EVENT"


@dataclass(frozen=True)
class Moment:
    """A time on the clock's face. `tzid` is as in the file, `UTC` for one with a Z, None for one that floats."""

    face: datetime
    is_day: bool
    tzid: str | None


@dataclass(frozen=True)
class Entry:
    """One VEVENT. `line` is where it begins.

    `end` is a time or a length. `also` (RDATE) may have an end of its own; `never` is EXDATE; `of` is RECURRENCE-ID:
    the occurrence that this entry stands for. `broken` are properties that could not be read, with the reason.
    """

    line: int
    uid: str
    summary: str
    categories: tuple[str, ...]
    sequence: int
    is_cancelled: bool
    start: Moment | None
    end: Moment | timedelta | None
    rule: str | None
    also: tuple[tuple[Moment, Moment | timedelta | None], ...]
    never: tuple[Moment, ...]
    of: Moment | None
    is_for_all_after: bool
    own_word: str | None
    broken: tuple[tuple[str, str], ...]

    @property
    def repeats(self) -> bool:
        return self.of is None and bool(self.rule or self.also)


_READ = {"DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID", "SEQUENCE", "STATUS"}


def entry(component: Component, line: int) -> Entry:
    """The entry as it stands."""
    broken = [(str(name), str(reason)) for name, reason in component.errors if name in _READ]
    once = sorted(_READ - {"RDATE", "EXDATE"})
    broken += [(name, "it is there more than once") for name in once if len(_all(component, name)) > 1]
    of = _all(component, "RECURRENCE-ID")
    return Entry(
        line=line,
        uid=str(component.get("UID", "")).strip(),
        summary=_one_line(component.get("SUMMARY", "")),
        categories=tuple(str(item) for group in _all(component, "CATEGORIES") for item in _listed(group, "cats")),
        sequence=_whole(component.get("SEQUENCE", 0)),
        is_cancelled=str(component.get("STATUS", "")).strip().upper() == "CANCELLED",
        start=_moment(component, "DTSTART"),
        end=_moment(component, "DTEND") or _length(component),
        rule=_rule(component),
        also=tuple(_dates(component, "RDATE")),
        never=tuple(moment for moment, _ in _dates(component, "EXDATE")),
        of=_moment(component, "RECURRENCE-ID"),
        is_for_all_after=any("RANGE" in getattr(item, "params", ()) for item in of),
        own_word=_own_word(component),
        broken=tuple(dict.fromkeys(broken)),
    )


def _rule(component: Component) -> str | None:
    found = _all(component, "RRULE")
    if len(found) != 1 or not isinstance(found[0], dict):  # else it is among what is broken
        return None
    rule: Any = found[0]
    return str(rule.to_ical().decode())


def _all(component: Component, name: str) -> list[Any]:
    found = component.get(name, [])
    return found if isinstance(found, list) else [found]


def _one_line(value: Any) -> str:
    """Whatever a title holds, as one line that a terminal shows as it is."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(value)).split())[:200]


def _whole(value: Any) -> int:
    return int(value) if isinstance(value, int) else 0


def _listed(said: Any, name: str) -> list[Any]:
    try:
        return list(getattr(said, name))
    except (AttributeError, ValueError):
        return []


def _moment(component: Component, name: str) -> Moment | None:
    found = _all(component, name)
    if len(found) != 1:
        return None
    return _as_moment(_value(found[0]), found[0])


def _value(said: Any) -> Any:
    """None of one that could not be read: it is among what is broken."""
    try:
        return said.dt
    except (AttributeError, ValueError):
        return None


def _as_moment(value: Any, said: Any) -> Moment | None:
    if isinstance(value, datetime):
        tzid = getattr(said, "params", {}).get("TZID")
        return Moment(value.replace(tzinfo=None), is_day=False, tzid=str(tzid) if tzid else _utc(value))
    if isinstance(value, date):
        return Moment(datetime.combine(value, time()), is_day=True, tzid=None)
    return None


def _utc(value: datetime) -> str | None:
    return None if value.tzinfo is None else "UTC"


def _length(component: Component) -> timedelta | None:
    found = _all(component, "DURATION")
    length = _value(found[0]) if len(found) == 1 else None
    return length if isinstance(length, timedelta) else None


def _dates(component: Component, name: str) -> Iterator[tuple[Moment, Moment | timedelta | None]]:
    for group in _all(component, name):
        for item in _listed(group, "dts"):
            value = item.dt
            start, end = value if isinstance(value, tuple) else (value, None)
            moment = _as_moment(start, group)
            if moment:
                yield moment, end if isinstance(end, timedelta) else _as_moment(end, group)


def _own_word(component: Component) -> str | None:
    found = _all(component, OWN_WORD)
    if not found:
        return None
    # Of type TEXT: commas and semicolons have a backslash before them.
    text = str(found[0])
    for escaped, plain in (("\\n", "\n"), ("\\N", "\n"), ("\\,", ","), ("\\;", ";"), ("\\\\", "\\")):
        text = text.replace(escaped, plain)
    return text
