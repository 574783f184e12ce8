"""An entry that repeats, as a series: its rule, extra days, days that are off, and days with an entry of their own.

Source: RFC 5545, section 3.8.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from whenever import PlainDateTime, Time

from stacks.event_names import name_and_day
from stacks.ics.entry import Entry
from stacks.ics.matching import Meant
from stacks.ics.reader import Reader, Times, Wrong, length_of
from stacks.ics.single import name_of, of, single_of
from stacks.recurrence import Rule, wrong_rule
from stacks.series import MOST_DAYS, Event, Series


@dataclass(frozen=True)
class SomeDays:
    """The days of a rule and some `also`, without those that have an entry of their own."""

    rule: Rule | None
    also: frozenset[date]
    without: frozenset[date]

    def between(self, first: date, last: date) -> list[date]:
        ruled = self.rule.between(first, last) if self.rule else []
        days = {*ruled, *(day for day in self.also if first <= day <= last)}
        return sorted(days - self.without)

    def after(self, day: date) -> Iterator[date]:
        more = sorted(one for one in self.also if one > day)
        for ruled in self.rule.after(day) if self.rule else ():
            while more and more[0] <= ruled:
                if (next_one := more.pop(0)) != ruled and next_one not in self.without:
                    yield next_one
            if ruled not in self.without:
                yield ruled
        yield from (one for one in more if one not in self.without)


def repeated(
    reader: Reader, whole: Entry, meant: Meant, single: Iterable[tuple[Entry, Meant]]
) -> Iterator[Event | Series]:
    """The series of `whole`, and an event for each day that has a time, a length or a word of its own.

    Args:
        single: entries that stand for one occurrence, with what they ask.
    """
    times = _lasting(whole, reader.times(whole))
    lasts_days = (times.end.date() - times.start.date()).days
    if lasts_days > MOST_DAYS:
        raise Wrong(whole, "DTEND", f"{lasts_days} days", f"at most {MOST_DAYS} days of one that repeats")
    rule = _rule(whole, times)
    more = [*_more(reader, whole, times)]
    # The first day belongs to it, whether the rule has it or not.
    also = {
        times.start.date(),
        *(
            found.start.date()
            for found in more
            if found.start.time() == times.start.time() and found.end - found.start == times.end - times.start
        ),
    }
    days = [found.start.date() for found in more]
    ruled = {*rule.between(min(days), max(days))} if rule and days else set()
    own = {}
    for found in more:
        day = found.start.date()
        if day in also:
            continue
        if day in own or day in ruled:
            raise Wrong(whole, "RDATE", f"{found.start} beside another on that day", "at most one occurrence a day")
        window, name = found.window(), name_of(reader, whole, day)
        own[day] = Event(name, *window, whole.is_cancelled, meant.asked, meant.place, whole.summary or None)
    off = {*_off(reader, whole, times, own)}
    own = {day: replace(event, cancelled=event.cancelled or day in off) for day, event in own.items()}
    for entry, word in single:
        if entry.is_cancelled and entry.start is None:
            off.add(reader.face_in(times.zone, entry, "RECURRENCE-ID", of(entry)).date())
        else:
            event = single_of(reader, entry, word, times.zone, cancelled=whole.is_cancelled)
            own[date.fromisoformat(name_and_day(event.name)[1])] = event
    yield from own.values()
    yield Series(
        name_of(reader, whole),
        times.zone,
        SomeDays(rule, frozenset(also), frozenset(own)),
        starts=Time(times.start.time()),
        ends=Time(times.end.time()),
        lasts_days=lasts_days,
        cancelled=whole.is_cancelled,
        cancelled_on=frozenset(off - own.keys()),
        moved={},
        asked=meant.asked,
        place=meant.place,
        title=whole.summary or None,
        lasts_s=times.lasts_s,
    )


def _lasting(whole: Entry, times: Times) -> Times:
    """Its occurrences are as long as itself, by a stopwatch too: DTEND says one length for all of them."""
    is_day = whole.start is not None and whole.start.is_day
    return times if is_day else replace(times, lasts=times.end - times.start)


def _more(reader: Reader, whole: Entry, times: Times) -> Iterator[Times]:
    """Windows of RDATE: as long as the entry where it gives no end; a day without a time is at the entry's time."""
    for moment, end in whole.also:
        face = reader.face_in(times.zone, whole, "RDATE", moment)
        if moment.is_day:
            face = datetime.combine(face.date(), times.start.time())
        last = reader.end(whole, "RDATE", times.zone, moment, end) if end else face + (times.end - times.start)
        yield Times(face, last, times.zone, length_of(moment, end) if end else times.lasts)


def _off(reader: Reader, whole: Entry, times: Times, own: Mapping[date, Event]) -> Iterator[date]:
    """Days of EXDATE. One whose time is not an occurrence's calls off nothing, as RFC 5545 has it."""
    for moment in whole.never:
        face = reader.face_in(times.zone, whole, "EXDATE", moment)
        other = own.get(face.date())
        starts = other.start.to_plain().to_stdlib().time() if other else times.start.time()
        if moment.is_day or face.time() == starts:
            yield face.date()


def _rule(entry: Entry, times: Times) -> Rule | None:
    if entry.rule is None:
        return None
    parts = dict(part.partition("=")[::2] for part in entry.rule.split(";"))
    until = parts.pop("UNTIL", None)
    text = ";".join(f"{name}={value}" for name, value in parts.items())
    if wrong := wrong_rule(text, times.start.date()):
        raise Wrong(entry, "RRULE", *wrong)
    if until and "COUNT" in parts:
        raise Wrong(entry, "RRULE", entry.rule, "either COUNT or UNTIL")
    return Rule(text, times.start.date(), _last_day(entry, until, times) if until else None)


def _last_day(entry: Entry, until: str, times: Times) -> date:
    """The last day on which an occurrence may start: UNTIL is a day, or the latest start itself."""
    try:
        if len(until) == 8:
            return datetime.strptime(until, "%Y%m%d").date()  # noqa: DTZ007 - a day of the calendar
        face = datetime.strptime(until.removesuffix("Z"), "%Y%m%dT%H%M%S")  # noqa: DTZ007
        if until.endswith("Z"):
            face = PlainDateTime(face).assume_utc().to_tz(times.zone).to_plain().to_stdlib()
    except ValueError:
        raise Wrong(entry, "RRULE", f"UNTIL={until}", "UNTIL as in RFC 5545") from None
    return face.date() if face.time() >= times.start.time() else face.date() - timedelta(days=1)
