"""Time: this machine's against the API server's, and times typed by a person."""

from __future__ import annotations

import re
from dataclasses import dataclass

from whenever import Instant, PlainDateTime, RepeatedTime, SkippedTime, TimeDelta

from stacks.local_time import END_YEAR, FIRST_YEAR, offsets

# Clocks further apart than this are not believed when they say that an event is over.
TOLERANCE_S = 300

# The years of a calendar.
FIRST, LAST = Instant.from_utc(FIRST_YEAR, 1, 1), Instant.from_utc(END_YEAR, 1, 1)


@dataclass(frozen=True)
class Clock:
    """The time of this machine, and the API server's from its Date header (None: it sent none)."""

    now: Instant
    server: Instant | None = None

    @property
    def skew_s(self) -> int:
        """Seconds this machine is ahead of the server; negative behind."""
        return 0 if self.server is None else round((self.now - self.server).total("seconds"))

    @property
    def is_sure(self) -> bool:
        return abs(self.skew_s) <= TOLERANCE_S

    @property
    def best(self) -> Instant:
        """The server's time where it is known: what it writes down is held against it."""
        return self.server or self.now

    @property
    def moments(self) -> tuple[Instant, ...]:
        """Every time it may be: an event that is active at one of them is active."""
        return (self.now,) if self.is_sure or self.server is None else (self.now, self.server)


def now() -> Instant:
    """The time of this machine, to the second: what is written down and compared has no finer grain."""
    return Instant.from_timestamp(int(Instant.now().timestamp()))


def moment(text: str, zone: str) -> Instant:
    """`text` as RFC 3339 (with `Z` or an offset), or as local time in `zone` (`2027-10-29 20:00`).

    Raises:
        ValueError: it is neither, or no time of a calendar's years, or a local time that does not exist or exists
            twice.
    """
    found = _moment(text, zone)
    # At the ends of time no zone can be reckoned and nothing be added.
    if not FIRST <= found < LAST:
        raise ValueError(f"{text} is not in the years {FIRST_YEAR} to {END_YEAR - 1}")
    return found


def _moment(text: str, zone: str) -> Instant:
    if re.search(r"(Z|[+-]\d{2}:\d{2})$", text):
        return Instant.parse_iso(text)
    try:
        local = PlainDateTime.parse_iso(text.replace(" ", "T"))
        return local.assume_tz(zone, disambiguation="raise").to_instant()
    except SkippedTime:
        raise ValueError(f"{text} does not exist in {zone}: clocks are put forward over it") from None
    except RepeatedTime:
        first, second = offsets(text.replace(" ", "T"), zone)
        raise ValueError(f"{text} exists twice in {zone}: write {text}{first} or {text}{second}") from None


def duration_s(text: str, example: str) -> float:
    """`2h`, `90m` or `1h30m` in seconds.

    Raises:
        ValueError: it is none; its words ask for `example`.
    """
    try:
        seconds: float = TimeDelta.parse_iso(f"PT{text.strip().upper()}").total("seconds")
    except ValueError:
        raise ValueError(f"{text!r} is no duration: write {example}") from None
    return seconds


def span(seconds: float) -> str:
    """How a duration is told: `45 s`, `12 min`, `3 h 05 min`."""
    whole = round(abs(seconds))
    if whole < 120:
        return f"{whole} s"
    minutes = whole // 60
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02} min"
