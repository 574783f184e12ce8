"""The calendar of known events as written (`stacks/<env>/events.yaml`): local times in a named zone."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from stacks.demand import Asked, Headroom
from stacks.field_types import Name, Number, Seconds, Spec, Text, fault

LocalTime = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2})?([+-]\d{2}:\d{2}|Z)?$")]
LocalDate = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
ClockTime = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]
# A rule of every part is not half as long.
RuleText = Annotated[str, Field(min_length=1, max_length=300)]


class Repeat(Spec):
    """The days an event occurs on, from its first one on: an RRULE of RFC 5545, as `FREQ=WEEKLY;BYDAY=MO,FR`.

    The time of day stays the same on the clock's face, over daylight saving too. `until` is the last day.
    """

    rule: RuleText
    until: LocalDate | None = None


class Holiday(Spec):
    """The day of a named holiday in each year, as the Python library `holidays` has it.

    `country` is a code of two letters (ISO 3166-1), `subdiv` a part of it as the library names it, `name` what the
    holiday is called in English or in the country's language. `offset_days` moves the event: -1 is the day before. It
    lasts the whole day, or from `start` to `end` on the clock's face; an `end` not after `start` is on the next day.
    """

    country: Annotated[str, Field(pattern="^[A-Z]{2}$")]
    subdiv: Text | None = None
    name: Text
    offset_days: Annotated[int, Field(ge=-60, le=60)] = 0
    start: ClockTime | None = None
    end: ClockTime | None = None

    @model_validator(mode="after")
    def _both(self) -> Holiday:
        if (self.start is None) != (self.end is None):
            missing = "end" if self.start else "start"
            raise fault("holiday_time", (missing,), "nothing", "start and end, or neither", "Add the field.")
        return self


class Timed(Spec):
    """When an event is."""

    name: Name
    start: LocalTime | None = None
    end: LocalTime | None = None
    day: LocalDate | None = None
    last_day: LocalDate | None = None
    holiday: Holiday | None = None
    timezone: Text | None = None
    repeat: Repeat | None = None
    cancelled: bool = False
    cancelled_on: list[LocalDate] = Field(default_factory=list)
    moved: dict[LocalDate, LocalTime] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_time(self) -> Timed:
        said = [name for name in ("start", "end", "day", "last_day") if getattr(self, name) is not None]
        if self.holiday:
            beside = [*said, *(["repeat"] if self.repeat else [])]
            if beside:
                fix = "Keep one of the two; a holiday's own start and end stand below it."
                raise fault("event_time", (), f"{beside[0]} beside holiday", "one of the two", fix)
            return self
        if said in (["start", "end"], ["day"], ["day", "last_day"]):
            return self
        if {"day", "last_day"} & set(said):
            both = " and ".join(said)
            raise fault("event_time", (), both, "either start and end, or day (and last_day)", "Keep one of the two.")
        missing = "end" if said else "start"
        raise fault("event_time", (missing,), "nothing", "a value", "Add the field.")

    @model_validator(mode="after")
    def _occurrences(self) -> Timed:
        for name in ("cancelled_on", "moved"):
            if self.repeat is None and self.holiday is None and getattr(self, name):
                fix = "Use `cancelled: true` or another start; or say how it repeats."
                raise fault("event_once", (name,), f"{name} of one event", "it beside repeat or holiday", fix)
        if both := sorted(self.moved.keys() & set(self.cancelled_on)):
            fix = "Keep one of the two."
            raise fault("event_day", ("moved", both[0]), f"{both[0]} moved and cancelled", "one of the two", fix)
        return self


class EventSpec(Asked, Timed):
    """One event as written: from `start` to `end`; `day` (to `last_day`) from midnight to midnight; or on a `holiday`.

    `cancelled: true` is the certain word that lets its floor go before its end. An event that repeats is known by the
    day of each occurrence, as `friday-peak@2027-10-29`; `cancelled_on` calls off occurrences by these days, and
    `moved` gives them another start (they last as long as ever).

    `owner` says who answers for it. Of events whose floors do not fit on a pool together, the one of higher `priority`
    is to keep its floor: `prescale plan` says whose is at risk first. Nothing is lowered by it.
    """


class Match(Spec):
    """Which entries of an iCalendar file are meant: everything said must hold, and nothing said means every entry.

    `summary` is the title, `category` one of its categories; upper and lower case are the same, and `*` stands for
    anything.
    """

    summary: Text | None = None
    category: Text | None = None


class MatchedSpec(Asked):
    """What entries ask that `match`. The first of the list that matches an entry counts."""

    match: Match = Match()


class CalendarFile(Spec):
    """Events from an iCalendar file (.ics), as Google Calendar, Outlook and Apple Calendar export it.

    `file` is relative to the stack's folder. `timezone` is the zone of whole days and of times without one, if it is
    not the stack's. An entry may carry its own word, `X-WARMLINE-EVENT`, with the fields of `events` but `match`.
    """

    file: Text
    timezone: Text | None = None
    events: list[MatchedSpec] = Field(default_factory=list)


class CalendarSpec(Spec):
    """The file as written. `ready_margin_s` is how long before T0 everything must be Ready."""

    timezone: Text
    ready_margin_s: Seconds = 600
    headroom_pct: Headroom = Number(30)
    events: list[EventSpec]
    calendars: list[CalendarFile] = Field(default_factory=list)

    @model_validator(mode="after")
    def _names_once(self) -> CalendarSpec:
        names = [event.name for event in self.events]
        for index, name in enumerate(names):
            if name in names[:index]:
                fix = "Give each event its own name: a floor in the cluster is known by it."
                raise fault("event_name", ("events", str(index), "name"), f"{name} a second time", "it once", fix)
        return self
