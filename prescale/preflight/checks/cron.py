"""Cron schedules as KEDA's cron scaler reads them: five fields, and active while the next end comes before a start.

Source: KEDA 2.21, pkg/scalers/cron_scaler.go; robfig/cron v3, parser.go and spec.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    ("day of the week", 0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
# A year with every weekday in every month, and its turn.
_FROM, _DAYS_AHEAD = date(2027, 1, 1), 400


@dataclass(frozen=True)
class Schedule:
    """Values of the five fields. A day counts by both its fields, or by either where both are said."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    is_either_day: bool

    def on(self, day: date) -> bool:
        """Whether it fires on this day at all."""
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return day.month in self.months and (of_month or of_week if self.is_either_day else of_month and of_week)

    def times(self) -> Iterator[int]:
        """Every minute at which it fires, counted from the first day on."""
        at = [hour * 60 + minute for hour in sorted(self.hours) for minute in sorted(self.minutes)]
        for number in range(_DAYS_AHEAD):
            if self.on(_FROM + timedelta(days=number)):
                yield from (number * 1440 + minute for minute in at)


def parse(text: str) -> Schedule:
    """Read one schedule.

    Raises:
        ValueError: KEDA would refuse it, at the first poll and not before.
    """
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise ValueError(f"{len(parts)} fields, not 5")
    minutes, hours, days, months, weekdays = (_field(part, *field) for part, field in zip(parts, _FIELDS, strict=True))
    is_either_day = not any(part.startswith(("*", "?")) for part in (parts[2], parts[4]))
    return Schedule(minutes, hours, days, months, weekdays, is_either_day)


def _field(text: str, name: str, low: int, high: int, names: dict[str, int]) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        if span in {"*", "?"}:
            begin, end = low, high
        else:
            begin = _number(first, name, names)
            end = _number(last, name, names) if dash else high if slash else begin
        each = _number(step, name, {}) if slash else 1
        if not low <= begin <= end <= high or each < 1:
            raise ValueError(f"{part} is no {name}")
        found |= set(range(begin, end + 1, each))
    return frozenset(found)


def _number(text: str, name: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"{text!r} is no {name}")
    return int(text)


def takes_turns(start: Schedule, end: Schedule) -> bool:
    """Whether starts and ends alternate over a year: two of one kind in a row make windows nobody meant.

    An end and a start at one minute are one window after the other, unless they always are.
    """
    marked = sorted([*((time, 0) for time in end.times()), *((time, 1) for time in start.times())])
    kinds = [kind for _, kind in marked]
    return start != end and bool(kinds) and all(one != other for one, other in pairwise(kinds))
