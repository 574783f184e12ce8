"""On which days something repeats, by a rule of RFC 5545. Days only: the time of day is the event's own.

So daylight saving plays no part here, and an event has at most one occurrence a day, known by its date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from stacks.faults import Misfit

if TYPE_CHECKING:
    from dateutil.rrule import rrule

_DAY = r"(MO|TU|WE|TH|FR|SA|SU)"
_NUMBER = r"[1-9][0-9]{0,2}"


def _list_of(item: str) -> str:
    return rf"{item}(,{item})*"


# Each part a rule may have, and how its value is written. Source: RFC 5545, section 3.3.10. Parts of a day (HOURLY,
# BYHOUR, ...) are left out: an event has a start of its own.
_PARTS = {
    "FREQ": "DAILY|WEEKLY|MONTHLY|YEARLY",
    "INTERVAL": _NUMBER,
    "COUNT": "[1-9][0-9]{0,4}",
    "WKST": _DAY,
    "BYDAY": _list_of(f"([+-]?[1-9][0-9]?)?{_DAY}"),
    "BYMONTHDAY": _list_of("-?([1-9]|[12][0-9]|3[01])"),
    "BYMONTH": _list_of("([1-9]|1[0-2])"),
    "BYSETPOS": _list_of(f"-?{_NUMBER}"),
}
_FINER = {"SECONDLY", "MINUTELY", "HOURLY"}
_EXAMPLE = "a rule such as FREQ=WEEKLY;BYDAY=MO,FR"

# The calendar is the same every 400 years, weekdays too. A rule that no day fulfils is searched to the year 9999: from
# there on it is one cycle instead of twenty.
_LATE_YEARS = 7600


class Days(Protocol):
    """The days of one recurrence, in order."""

    def between(self, first: date, last: date) -> list[date]:
        """Those in [first, last]."""

    def after(self, day: date) -> Iterator[date]:
        """Those after `day`, one by one."""


@dataclass(frozen=True)
class Rule:
    """The days of a rule that begins on `start`; `until` is the last day it may fall on."""

    text: str
    start: date
    until: date | None = None

    def between(self, first: date, last: date) -> list[date]:
        return [moment.date() for moment in self._made().between(_midnight(first), _midnight(last), inc=True)]

    def after(self, day: date) -> Iterator[date]:
        return (moment.date() for moment in self._made().xafter(_midnight(day)))

    def _made(self) -> rrule:
        return _rule(self.text, self.start, self.until)


def rule_faults(text: str, start: date, until: date | None, path: tuple[str | int, ...]) -> Iterator[Misfit]:
    """What is wrong with a rule of an event that is first on `start`.

    Args:
        path: of the event.
    """
    place = (*path, "repeat", "rule")
    wrong = _wrong_part(text)
    if wrong:
        yield Misfit(place, *wrong)
    elif until and "COUNT=" in text:
        yield Misfit(place, text, "either COUNT or until", "Keep one of the two.")
    elif until and until < start:
        yield Misfit((*path, "repeat", "until"), str(until), f"a day from the start on ({start})", "Correct the date.")
    elif (first := _first(text, start)) != start:
        got = f"{start}, a {start:%A}"
        fix = f"Write {first}, or correct the rule." if first else "Correct the rule: no day ever fulfils it."
        yield Misfit((*path, "start"), got, f"a start on a day of the rule ({text})", fix)


def wrong_rule(text: str, start: date) -> tuple[str, str, str] | None:
    """(got, expected, fix) of a rule that is none or has no day from `start` on; it need not begin on `start`."""
    wrong = _wrong_part(text)
    if wrong or _first(text, start):
        return wrong
    return text, "a rule that some day fulfils", "Correct the rule."


def _wrong_part(text: str) -> tuple[str, str, str] | None:
    """(got, expected, fix) of the first part that is none, or does not fit the others."""
    parts: dict[str, str] = {}
    for part in text.split(";"):
        name, _, value = part.partition("=")
        if value in _FINER or name in {"BYHOUR", "BYMINUTE", "BYSECOND"}:
            fix = "Write one event for each time of day, each with its own name."
            return part, "at most one occurrence a day", fix
        if name == "UNTIL":
            return part, "the last day beside the rule", "Write `until: 2027-12-31` under repeat."
        if name not in _PARTS or name in parts:
            return part or "nothing", f"each of {', '.join(_PARTS)} at most once", f"Write {_EXAMPLE}."
        if not re.fullmatch(_PARTS[name], value):
            return part, f"{name} as in RFC 5545", f"Write {_EXAMPLE}."
        parts[name] = value
    return _unfitting(parts)


def _unfitting(parts: dict[str, str]) -> tuple[str, str, str] | None:
    frequency = parts.get("FREQ")
    if frequency is None:
        return "no FREQ", _EXAMPLE, "Say DAILY, WEEKLY, MONTHLY or YEARLY."
    if re.search(r"\d", parts.get("BYDAY", "")) and frequency not in {"MONTHLY", "YEARLY"}:
        return f"BYDAY={parts['BYDAY']} in a {frequency} rule", "days without a number", "Use FREQ=MONTHLY, or drop it."
    if "BYMONTHDAY" in parts and frequency == "WEEKLY":
        return "BYMONTHDAY in a WEEKLY rule", "BYDAY", "Use FREQ=MONTHLY, or BYDAY."
    if "BYSETPOS" in parts and not {"BYDAY", "BYMONTHDAY", "BYMONTH"} & parts.keys():
        return "BYSETPOS alone", "BYDAY, BYMONTHDAY or BYMONTH beside it", "Say which days it counts."
    return None


def _first(text: str, start: date) -> date | None:
    late = start.replace(year=start.year + _LATE_YEARS)
    found = next(islice(_rule(text, late), 1), None)
    return None if found is None else found.date().replace(year=found.year - _LATE_YEARS)


def _rule(text: str, start: date, until: date | None = None) -> rrule:
    from dateutil.rrule import rrule, rrulestr

    made = rrulestr(text, dtstart=_midnight(start))
    if not isinstance(made, rrule):
        raise TypeError(f"{text} is more than one rule")
    return made.replace(until=_midnight(until)) if until else made


def _midnight(day: date) -> datetime:
    # Naive on purpose: a day of the calendar, in no zone.
    return datetime(day.year, day.month, day.day)  # noqa: DTZ001
