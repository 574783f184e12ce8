"""One iCalendar file with its rows of events.yaml: what an entry asks, and when it is on the clock's face.

The face counts as everywhere: a time that the clock skips or repeats is read as widely as it can be
(`stacks.local_time.widest`), which contains the one reading of RFC 5545, section 3.3.5. What is said as a length lasts
that long by a stopwatch (section 3.3.6), and by the face where that is longer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from whenever import PlainDateTime, ZonedDateTime

from stacks.events import CalendarFile
from stacks.faults import Fault, InputError
from stacks.folders import shown
from stacks.ics.entry import Entry, Moment
from stacks.ics.file import IcsFile
from stacks.ics.matching import Meant, at_entry, own_word, row_of
from stacks.ics.zones import zone_named
from stacks.local_time import END_YEAR, FIRST_YEAR, OTHER_YEAR, widest
from stacks.series import Place
from stacks.wording import short

CORRECT = "Correct it in the calendar program, and export again."


class Wrong(Exception):  # noqa: N818 - it carries what is wrong
    """One fault of one entry: the entry is left out, and the others are still looked at."""

    def __init__(self, entry: Entry, name: str, got: str, expected: str, fix: str = CORRECT) -> None:
        super().__init__(got)
        whose = short(entry.summary or entry.uid) or "no title"
        self.row = (entry.line, f"VEVENT.{name}", f"{short(got)} ({whose})", expected, fix)

    def fault(self, file: str) -> Fault:
        """In `file`, on the entry's line."""
        return Fault(file, *self.row)


@dataclass(frozen=True)
class Times:
    """Start and end of an entry on the clock's face in `zone`; by a stopwatch it `lasts` at least so long."""

    start: datetime
    end: datetime
    zone: str
    lasts: timedelta = timedelta(0)

    @property
    def lasts_s(self) -> int:
        return int(self.lasts.total_seconds())

    def window(self) -> tuple[ZonedDateTime, ZonedDateTime]:
        return widest(PlainDateTime(self.start), PlainDateTime(self.end), self.zone, self.lasts_s)


@dataclass(frozen=True)
class Reader:
    """One file with its rows of events.yaml. `zone` is where whole days and times without a zone are."""

    file: IcsFile
    spec: CalendarFile
    place: Place
    zone: str
    faults: list[Fault] = field(default_factory=list)
    known_zones: dict[tuple[str, int], str | None] = field(default_factory=dict)

    def meant(self, entry: Entry) -> Meant | None:
        if entry.own_word is not None:
            try:
                return Meant(own_word(entry, shown(self.file.path)), self.place)
            except InputError as error:
                self.faults.extend(at_entry(entry, error))
                return None
        row = row_of(entry, self.spec)
        return None if row is None else Meant(self.spec.events[row], (*self.place, "events", row))

    def zone_of(self, entry: Entry, name: str, moment: Moment) -> str:
        if moment.tzid is None:
            return self.zone
        year = min(max(moment.face.year, FIRST_YEAR), END_YEAR - 1)
        key = (moment.tzid, year)
        if key not in self.known_zones:  # a clock is compared with a hundred others
            self.known_zones[key] = zone_named(moment.tzid, self.file.zones, year, self.zone)
        zone = self.known_zones[key]
        if zone is None:
            expected = "an IANA zone, Windows' name of one, or a VTIMEZONE with the clock of one"
            raise Wrong(entry, name, f"the zone {moment.tzid}", expected)
        return zone

    def face_in(self, zone: str, entry: Entry, name: str, moment: Moment) -> datetime:
        """The moment on the clock's face of `zone`."""
        own = self.zone_of(entry, name, moment)
        if own == zone:
            return moment.face
        there = PlainDateTime(moment.face).assume_tz(own, disambiguation="compatible")
        return there.to_tz(zone).to_plain().to_stdlib()

    def times(self, entry: Entry) -> Times:
        for name, reason in entry.broken:
            raise Wrong(entry, name, reason, "a value as in RFC 5545")
        if entry.start is None:
            raise Wrong(entry, "DTSTART", "no DTSTART", "when it starts")
        if not FIRST_YEAR <= entry.start.face.year < END_YEAR:
            raise Wrong(entry, "DTSTART", str(entry.start.face.date()), OTHER_YEAR, "Correct it, or match less.")
        zone = self.zone_of(entry, "DTSTART", entry.start)
        end = self.end(entry, "DTEND", zone, entry.start, entry.end)
        return Times(entry.start.face, end, zone, length_of(entry.start, entry.end))

    def end(self, entry: Entry, name: str, zone: str, start: Moment, end: Moment | timedelta | None) -> datetime:
        if isinstance(end, Moment):
            face = self.face_in(zone, entry, name, end)
        else:
            face = later(entry, name, start.face, end or timedelta(0))
        if start.is_day and face == start.face:
            return later(entry, name, start.face, timedelta(days=1))
        if face <= start.face or face.year >= END_YEAR:
            raise Wrong(entry, name, "no end" if end is None else str(face), f"an end after its start ({start.face})")
        return face


def length_of(start: Moment, end: Moment | timedelta | None) -> timedelta:
    """How long it lasts by a stopwatch, where a length is said; whole days last from midnight to midnight."""
    return end if isinstance(end, timedelta) and not start.is_day else timedelta(0)


def later(entry: Entry, name: str, face: datetime, by: timedelta) -> datetime:
    try:
        return face + by
    except OverflowError:
        raise Wrong(entry, name, str(by), OTHER_YEAR) from None
