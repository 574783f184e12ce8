"""One event on many days: which of its occurrences matter around a moment, and what each is called.

An occurrence is `friday-peak@2027-10-29`: the event's name, and the date on which the recurrence puts it. It keeps the
name when it is moved or cancelled, so what the cluster remembers of it stays the same event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice, takewhile

from whenever import Instant, PlainDateTime, Time, ZonedDateTime

from stacks.demand import Asked, Demand
from stacks.event_names import ON
from stacks.local_time import END_YEAR, widest
from stacks.recurrence import Days

Place = tuple[str | int, ...]

# How long an occurrence is still known after its end: longer than any clock is wrong that is let decide, and enough
# for a morning after to see it as over. What the cluster holds beyond that, it holds by its own record.
KNOWN_AFTER_S = 2 * 86400

# Longer ones are slips of the pen; nobody repeats an event of more than a month.
MOST_DAYS = 31


@dataclass(frozen=True)
class Event:
    """One event in time: window [start, end), and what it asks. `place` is where in the file that is said.

    `title` is what a calendar program shows, where the name is made from its identifier.
    """

    name: str
    start: ZonedDateTime
    end: ZonedDateTime
    cancelled: bool
    asked: Asked
    place: Place
    title: str | None = None

    @property
    def demands(self) -> Mapping[str, Demand]:
        """By service."""
        return self.asked.services


@dataclass(frozen=True)
class Series:
    """Occurrences on `days`, from `starts` until `ends` on the clock's face, `lasts_days` midnights later.

    Each lasts at least `lasts_s` seconds, however the clock is set in between.
    `moved` are starts by the day they are moved from. What is in `cancelled_on` is called off, whatever the rule says
    of that day: so an occurrence that a changed rule has left behind can be let go.
    """

    name: str
    zone: str
    days: Days
    starts: Time
    ends: Time
    lasts_days: int
    cancelled: bool
    cancelled_on: frozenset[date]
    moved: Mapping[date, ZonedDateTime]
    asked: Asked
    place: Place
    title: str | None = None
    lasts_s: int = 0

    def around(self, now: Instant, ahead_s: int) -> tuple[Event, ...]:
        """Occurrences that end after `KNOWN_AFTER_S` ago and begin within `ahead_s`; the next one in any case.

        One that was moved counts where it was as well: that it is no longer there is an answer.
        """
        since, until = now.subtract(seconds=KNOWN_AFTER_S), now.add(seconds=ahead_s)
        # A day more at both ends, for readings of the clock that lie before or after it; then exactly.
        first = _day(since, self.zone) - timedelta(days=self.lasts_days + 1)
        last = _day(until, self.zone) + timedelta(days=1)
        days = {*self.days.between(first, last), *(day for day in self.cancelled_on if first <= day <= last)}
        found = {day: self._event(day) for day in sorted(days | self.moved.keys())}
        shown = [event for day, event in found.items() if self._matters(day, event, since, until)]
        if not any(event.start.to_instant() > now and event.cancelled == self.cancelled for event in shown):
            shown += self._next(now)
        return tuple(shown)

    def _matters(self, day: date, event: Event, since: Instant, until: Instant) -> bool:
        windows = [(event.start, event.end)]
        if day in self.moved:
            windows.append(self._window(day))
        return any(start.to_instant() < until and end.to_instant() > since for start, end in windows)

    def _next(self, now: Instant) -> Iterator[Event]:
        ruled = islice(self._where_the_rule_has_them(now), 1)
        moved = (self._event(day) for day in self.moved if day not in self.cancelled_on)
        following = (event for event in (*ruled, *moved) if event.start.to_instant() > now)
        yield from sorted(following, key=lambda event: event.start.to_instant())[:1]

    def _where_the_rule_has_them(self, now: Instant) -> Iterator[Event]:
        """Those to come that are neither moved nor called off, in order."""
        before = _day(now, self.zone) - timedelta(days=1)
        for day in takewhile(lambda day: day.year < END_YEAR, self.days.after(before)):
            event = self._event(day)
            if event.start.to_instant() > now and day not in self.cancelled_on and day not in self.moved:
                yield event

    def _event(self, day: date) -> Event:
        start, end = self._window(day)
        if day in self.moved:
            start, end = self._from(self.moved[day])
        cancelled = self.cancelled or day in self.cancelled_on
        return Event(f"{self.name}{ON}{day}", start, end, cancelled, self.asked, self.place, self.title)

    def _window(self, day: date) -> tuple[ZonedDateTime, ZonedDateTime]:
        end = _on(day + timedelta(days=self.lasts_days), self.ends)
        return widest(_on(day, self.starts), end, self.zone, self.lasts_s)

    def _from(self, start: ZonedDateTime) -> tuple[ZonedDateTime, ZonedDateTime]:
        """The window of a moved start: as long on the clock's face as ever."""
        face = start.to_plain().to_stdlib()
        day = face.date()
        usual = _on(day + timedelta(days=self.lasts_days), self.ends).to_stdlib() - _on(day, self.starts).to_stdlib()
        _, end = widest(start.to_plain(), PlainDateTime(face + usual), self.zone)
        return start, end


def _day(moment: Instant, zone: str) -> date:
    return moment.to_tz(zone).date().to_stdlib()


def _on(day: date, time: Time) -> PlainDateTime:
    return PlainDateTime(day.year, day.month, day.day, time.hour, time.minute, time.second)
