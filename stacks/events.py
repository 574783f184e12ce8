"""The calendar of known events (`stacks/<env>/events.yaml`): local times in a named zone, resolved once to instants."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, model_validator
from whenever import (
    Instant,
    OffsetDateTime,
    PlainDateTime,
    RepeatedTime,
    SkippedTime,
    TimeZoneNotFoundError,
    ZonedDateTime,
)

from stacks.fit import Misfit
from stacks.spec import Name, Number, Percent, Positive, Seconds, Spec, Text, fault

Headroom = Annotated[Percent, Field(ge=0, le=400)]
LocalTime = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2})?([+-]\d{2}:\d{2}|Z)?$")]


class Demand(Spec):
    """What an event asks of one service: `rps`, or a `multiplier` of the service's usual load.

    `request_duration_s` is the usual load's where it is not said. `headroom_pct` lies on top of the load for what
    nobody foresaw; it is the simple form of a reserve (the field's range is 20 to 40).
    """

    rps: Positive | None = None
    multiplier: Positive | None = None
    request_duration_s: Positive | None = None
    headroom_pct: Headroom | None = None

    @model_validator(mode="after")
    def _one_load(self) -> Demand:
        if (self.rps is None) == (self.multiplier is None):
            got = "neither" if self.rps is None else "both"
            raise fault("demand", (), got, "either rps or multiplier", "Keep one of the two.")
        return self


class EventSpec(Spec):
    """One event as written. `cancelled: true` is the certain word that lets its floor go before its end."""

    name: Name
    start: LocalTime
    end: LocalTime
    timezone: Text | None = None
    cancelled: bool = False
    services: Annotated[dict[Name, Demand], Field(min_length=1)]


class CalendarSpec(Spec):
    """The file as written. `ready_margin_s` is how long before T0 everything must be Ready."""

    timezone: Text
    ready_margin_s: Seconds = 600
    headroom_pct: Headroom = Number(30)
    events: list[EventSpec]

    @model_validator(mode="after")
    def _names_once(self) -> CalendarSpec:
        names = [event.name for event in self.events]
        for index, name in enumerate(names):
            if name in names[:index]:
                fix = "Give each event its own name: a floor in the cluster is known by it."
                raise fault("event_name", ("events", str(index), "name"), f"{name} a second time", "it once", fix)
        return self


@dataclass(frozen=True)
class Event:
    """One event in time: window [start, end), and what it asks of each service."""

    name: str
    start: ZonedDateTime
    end: ZonedDateTime
    cancelled: bool
    demands: dict[str, Demand]


@dataclass(frozen=True)
class Calendar:
    """All events of one stack. `source` names the calendar: what it raised, only it may lower.

    `timezone` is the zone a person means who types a local time.
    """

    source: str
    timezone: str
    ready_margin_s: int
    headroom_pct: Number
    events: tuple[Event, ...]


def resolve(spec: CalendarSpec, source: str) -> tuple[Calendar, list[Misfit]]:
    """Local times to instants; each that cannot be resolved, or ends before it starts, is a misfit."""
    events: list[Event] = []
    wrong: list[Misfit] = list(_zone_faults(spec.timezone, ("timezone",)))
    for index, event in enumerate(spec.events):
        path = ("events", index)
        own_zone = list(_zone_faults(event.timezone, (*path, "timezone"))) if event.timezone else []
        wrong += own_zone
        if own_zone or (event.timezone is None and wrong and wrong[0].path == ("timezone",)):
            continue
        zone = event.timezone or spec.timezone
        start, end = _instant(event.start, zone, (*path, "start")), _instant(event.end, zone, (*path, "end"))
        wrong += [moment for moment in (start, end) if isinstance(moment, Misfit)]
        if isinstance(start, Misfit) or isinstance(end, Misfit):
            continue
        if end.to_instant() <= start.to_instant():
            fix = "An event that passes midnight ends on the next date."
            wrong.append(Misfit((*path, "end"), event.end, f"a time after start ({event.start})", fix))
            continue
        events.append(Event(event.name, start, end, event.cancelled, event.services))
    return Calendar(source, spec.timezone, spec.ready_margin_s, spec.headroom_pct, tuple(events)), wrong


def _zone_faults(zone: str, path: tuple[str | int, ...]) -> Iterator[Misfit]:
    # Abbreviations are several places' names (IST: India, Israel, Ireland), and those tzdata knows have no DST.
    expected = "an IANA zone such as Asia/Kolkata"
    if "/" not in zone and zone != "UTC":
        yield Misfit(path, zone, expected, "Name the place, not the abbreviation.")
        return
    try:
        Instant.MIN.to_tz(zone) if zone == "UTC" else Instant.from_utc(2000, 1, 1).to_tz(zone)
    except TimeZoneNotFoundError:
        yield Misfit(path, zone, expected, "Correct its spelling; the zone database does not have it.")


def _instant(text: str, zone: str, path: tuple[str | int, ...]) -> ZonedDateTime | Misfit:
    iso = text.replace(" ", "T")
    if not "2000" <= iso[:4] < "2200":
        return Misfit(path, text, "a year from 2000 to 2199", "Correct the date.")
    try:
        if re.search(r"([+-]\d{2}:\d{2}|Z)$", iso):
            return _with_offset(iso, zone, path)
        return PlainDateTime.parse_iso(iso).assume_tz(zone, disambiguation="raise")
    except SkippedTime:
        fix = "Clocks are put forward over it; write the time before or after the gap."
        return Misfit(path, text, f"a time that exists in {zone}", fix)
    except RepeatedTime:
        first, second = offsets(iso, zone)
        fix = f"Write {text}{first} for the first or {text}{second} for the second."
        return Misfit(path, text, f"a time that exists once in {zone}", fix)
    except ValueError:
        return Misfit(path, text, "a date and time, as 2027-10-29 20:00", "Correct the date.")


def _with_offset(iso: str, zone: str, path: tuple[str | int, ...]) -> ZonedDateTime | Misfit:
    given = OffsetDateTime.parse_iso(iso)
    local = given.to_instant().to_tz(zone)
    if local.to_plain() != given.to_plain():
        shown = local.to_fixed_offset().format_iso()
        return Misfit(path, iso, f"an offset that {zone} has then ({shown})", "Drop the offset, or correct it.")
    return local


def offsets(iso: str, zone: str) -> tuple[str, str]:
    """The two offsets of a local time that exists twice in `zone`, the earlier instant's first (`-04:00`, `-05:00`)."""
    return _offset(iso, zone, "earlier"), _offset(iso, zone, "later")


def _offset(iso: str, zone: str, which: Literal["earlier", "later"]) -> str:
    moment = PlainDateTime.parse_iso(iso).assume_tz(zone, disambiguation=which)
    shown: str = moment.to_fixed_offset().format_iso()
    return shown[-6:]
