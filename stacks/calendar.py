"""A calendar in time: what was written in local times, resolved to instants, and repeated where it repeats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import chain

from whenever import Instant, PlainDateTime, Time, ZonedDateTime

from stacks.events import CalendarSpec, EventSpec, Holiday, Repeat
from stacks.faults import Misfit
from stacks.field_types import Number
from stacks.local_time import END_YEAR, FIRST_YEAR, OTHER_YEAR, once, widest, zone_faults
from stacks.recurrence import Days, Rule, rule_faults
from stacks.series import KNOWN_AFTER_S, MOST_DAYS, Event, Place, Series


@dataclass(frozen=True)
class Calendar:
    """All events of one stack: those that happen once, and `series` of those that repeat.

    `listed` happen once, too, and come from files that nobody tidies: of these only what is not long over counts.

    `source` names the calendar: what it raised, only it may lower. `timezone` is the zone a person means
    who types a local time. `findings` are (service, what is wrong, with file and line): an event of it may be missing.
    """

    source: str
    timezone: str
    ready_margin_s: int
    headroom_pct: Number
    events: tuple[Event, ...]
    series: tuple[Series, ...] = ()
    listed: tuple[Event, ...] = ()
    findings: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def around(self, now: Instant, ahead_s: int) -> tuple[Event, ...]:
        """Every event that happens once, and of those that repeat the occurrences that matter: see `Series.around`."""
        known_since = now.subtract(seconds=KNOWN_AFTER_S)
        listed = [event for event in self.listed if event.end.to_instant() > known_since]
        return (*self.events, *listed, *chain.from_iterable(series.around(now, ahead_s) for series in self.series))

    @property
    def longest_ramp_s(self) -> int:
        """The earliest that a floor begins to rise, in seconds before its T0."""
        asked = [event.asked for event in (*self.events, *self.listed)] + [series.asked for series in self.series]
        return max((one.ramp.over_s for one in asked if one.ramp), default=0)


def resolve(spec: CalendarSpec, source: str) -> tuple[Calendar, list[Misfit]]:
    """Local times to instants; each that cannot be resolved, or ends before it starts, is a misfit."""
    events: list[Event] = []
    series: list[Series] = []
    wrong: list[Misfit] = list(zone_faults(spec.timezone, ("timezone",)))
    is_zone_sound = not wrong
    for row, event in enumerate(spec.events):
        own_zone = list(zone_faults(event.timezone, ("events", row, "timezone"))) if event.timezone else []
        wrong += own_zone
        if own_zone or not (event.timezone or is_zone_sound):
            continue
        made = _event(event, row, event.timezone or spec.timezone)
        if isinstance(made, list):
            wrong += made
        elif isinstance(made, Series):
            series.append(made)
        else:
            events.append(made)
    return Calendar(source, spec.timezone, spec.ready_margin_s, spec.headroom_pct, tuple(events), tuple(series)), wrong


def _event(event: EventSpec, row: int, zone: str) -> Event | Series | list[Misfit]:
    path = ("events", row)
    if event.holiday:
        return _on_holiday(event, event.holiday, path, zone)
    if event.repeat is None and event.start and event.end:
        return _once(event, row, zone)
    face = _face(event, path)
    if isinstance(face, list):
        return face
    if event.repeat is None:
        return Event(event.name, *widest(*face, zone), event.cancelled, event, path)
    return _repeated(event, event.repeat, path, zone, face)


def _once(event: EventSpec, row: int, zone: str) -> Event | list[Misfit]:
    path = ("events", row)
    start, end = once(event.start or "", zone, (*path, "start")), once(event.end or "", zone, (*path, "end"))
    if isinstance(start, Misfit) or isinstance(end, Misfit):
        return [moment for moment in (start, end) if isinstance(moment, Misfit)]
    if end.to_instant() <= start.to_instant():
        return [_ends_early(event, path)]
    return Event(event.name, start, end, event.cancelled, event, path)


def _ends_early(event: EventSpec, path: Place) -> Misfit:
    fix = "An event that passes midnight ends on the next date."
    return Misfit((*path, "end"), event.end or "", f"a time after start ({event.start})", fix)


def _face(event: EventSpec, path: Place) -> tuple[PlainDateTime, PlainDateTime] | list[Misfit]:
    """Start and end on the clock's face, of what repeats or lasts whole days."""
    if event.day:
        first = _date(event.day, (*path, "day"))
        last = _date(event.last_day, (*path, "last_day")) if event.last_day else first
        if isinstance(first, Misfit) or isinstance(last, Misfit):
            return list(dict.fromkeys(day for day in (first, last) if isinstance(day, Misfit)))
        if last < first:
            return [Misfit((*path, "last_day"), str(last), f"a day from {first} on", "Correct the date.")]
        midnight = PlainDateTime(datetime.combine(last, time()))
        return PlainDateTime(datetime.combine(first, time())), midnight.add(days=1)
    start, end = _plain(event.start or "", (*path, "start")), _plain(event.end or "", (*path, "end"))
    if isinstance(start, Misfit) or isinstance(end, Misfit):
        return [moment for moment in (start, end) if isinstance(moment, Misfit)]
    return [_ends_early(event, path)] if end <= start else (start, end)


def _on_holiday(event: EventSpec, holiday: Holiday, path: Place, zone: str) -> Series | list[Misfit]:
    from stacks.holiday import HolidayDays, holiday_faults

    wrong = list(holiday_faults(holiday, (*path, "holiday")))
    if wrong:
        return wrong
    starts, ends = (Time.parse_iso(clock) if clock else Time() for clock in (holiday.start, holiday.end))
    lasts_days = 0 if ends > starts else 1
    return _series(event, HolidayDays(holiday), path, zone, _Face(starts, ends, lasts_days))


def _repeated(
    event: EventSpec, repeat: Repeat, path: Place, zone: str, face: tuple[PlainDateTime, PlainDateTime]
) -> Series | list[Misfit]:
    start, end = (moment.to_stdlib() for moment in face)
    until = _date(repeat.until, (*path, "repeat", "until")) if repeat.until else None
    if isinstance(until, Misfit):
        return [until]
    lasts_days = (end.date() - start.date()).days
    if lasts_days > MOST_DAYS:
        field = "last_day" if event.day else "end"
        fix = "Write events that happen once, or correct it."
        return [Misfit((*path, field), f"{lasts_days} days", f"at most {MOST_DAYS} days of one that repeats", fix)]
    wrong = list(rule_faults(repeat.rule, start.date(), until, path))
    if wrong:
        return wrong
    days = Rule(repeat.rule, start.date(), until)
    return _series(event, days, path, zone, _Face(Time(start.time()), Time(end.time()), lasts_days))


@dataclass(frozen=True)
class _Face:
    """Times of day of each occurrence; it ends `lasts_days` midnights later."""

    starts: Time
    ends: Time
    lasts_days: int


def _series(event: EventSpec, days: Days, path: Place, zone: str, face: _Face) -> Series | list[Misfit]:
    cancelled_on = [_date(day, (*path, "cancelled_on", index)) for index, day in enumerate(event.cancelled_on)]
    moved, wrong = _moved(event, path, zone, days)
    wrong += [day for day in cancelled_on if isinstance(day, Misfit)]
    if wrong:
        return wrong
    return Series(
        event.name,
        zone,
        days,
        starts=face.starts,
        ends=face.ends,
        lasts_days=face.lasts_days,
        cancelled=event.cancelled,
        cancelled_on=frozenset(day for day in cancelled_on if isinstance(day, date)),
        moved=moved,
        asked=event,
        place=path,
    )


def _moved(event: EventSpec, path: Place, zone: str, days: Days) -> tuple[dict[date, ZonedDateTime], list[Misfit]]:
    moved: dict[date, ZonedDateTime] = {}
    wrong: list[Misfit] = []
    for text, new in event.moved.items():
        place = (*path, "moved", text)
        day, start = _date(text, place), once(new, zone, place)
        wrong += [item for item in (day, start) if isinstance(item, Misfit)]
        if isinstance(day, date) and isinstance(start, ZonedDateTime):
            moved[day] = start
    if moved:
        known = set(days.between(min(moved), max(moved)))
        wrong += list(_never_there(sorted(moved.keys() - known), path))
    return moved, wrong


def _never_there(days: list[date], path: Place) -> Iterator[Misfit]:
    for day in days:
        fix = "Name the day it is moved from; for one more occurrence write an event of its own."
        yield Misfit((*path, "moved", str(day)), str(day), "a day on which the rule has it", fix)


def _date(text: str, path: Place) -> date | Misfit:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return Misfit(path, text, "a date, as 2027-10-29", "Correct the date.")
    if not FIRST_YEAR <= day.year < END_YEAR:
        return Misfit(path, text, OTHER_YEAR, "Correct the date.")
    return day


def _plain(text: str, path: Place) -> PlainDateTime | Misfit:
    day = _date(text[:10], path)
    if isinstance(day, Misfit):
        return day
    try:
        return PlainDateTime.parse_iso(text.replace(" ", "T"))
    except ValueError:
        expected = "a local time without an offset, as 2027-10-29 20:00"
        return Misfit(path, text, expected, "Correct it; one that repeats has the offset of each day.")
