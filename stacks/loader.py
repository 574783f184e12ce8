"""YAML -> spec. Every fault at once, each with file, line, path, got, expected and fix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from stacks.calendar import Calendar, resolve
from stacks.demand import Asked, Demand
from stacks.events import CalendarSpec
from stacks.faults import Fault, InputError, Misfit
from stacks.fit import misfits
from stacks.folders import EVENTS_FILE, PLATFORM_FILE, shown, stack_folder
from stacks.reading import Reading, faults_at, read
from stacks.spec import Platform, Service
from stacks.yaml_text import Document, dotted
from stacks.yaml_text import Path as Place


@dataclass(frozen=True)
class Stack:
    """One environment: what to build, and what is coming. The documents let later rules name the line they refuse.

    `digests` are those of every file's text that it was read from.
    """

    name: str
    platform: Platform
    calendar: Calendar
    platform_document: Document
    calendar_document: Document
    folder: Path
    digests: Mapping[Path, str] = field(default_factory=dict)

    def fault(self, document: Document, place: Place, got: str, expected: str, fix: str) -> Fault:
        """A fault at `place` of one of the stack's two files, found by a rule outside of `stacks`."""
        name = PLATFORM_FILE if document is self.platform_document else EVENTS_FILE
        return Fault(shown(self.folder / name), document.line(place), dotted(place), got, expected, fix)


def load_platform(stack: str, root: Path | None = None) -> Platform:
    """Read `<root>/<stack>/platform.yaml`.

    Raises:
        InputError: with every fault of the file.
    """
    reading = read_platform(stack_folder(stack, root))
    if reading.model is None or reading.faults:
        raise InputError(reading.faults)
    return reading.model


def load_stack(stack: str, root: Path | None = None) -> Stack:
    """Read platform and calendar of one stack.

    Raises:
        InputError: with every fault of both files. A missing or empty calendar is one: `events: []` says "none".
    """
    folder = stack_folder(stack, root)
    built = read_platform(folder)
    coming = read(folder / EVENTS_FILE, CalendarSpec)
    calendar: Calendar | None = None
    wrong: list[Misfit] = []
    in_files: tuple[Fault, ...] = ()
    asked: list[tuple[Place, Asked]] = []
    digests = {built.path: built.document.digest, coming.path: coming.document.digest}
    if coming.readable:
        calendar, wrong = resolve(coming.readable, f"{stack}/{EVENTS_FILE}")
        asked = [*_asked(coming.readable)]
        if coming.readable.calendars:
            from stacks.ics.join import join

            joined = join(calendar, coming.readable, folder)
            calendar, in_files = replace(joined.calendar, findings=_findings(coming, joined.findings)), joined.faults
            digests |= joined.digests
            wrong += joined.wrong
            asked += joined.own_words
    # A service that had to be left out of the platform is not an unknown one.
    if coming.readable and built.readable and built.is_whole:
        wrong += _unknown_services(asked, built.readable)
    faults = [*built.faults, *coming.faults, *faults_at(coming, wrong), *in_files]
    if built.model is None or calendar is None or faults:
        raise InputError(faults)
    return Stack(stack, built.model, calendar, built.document, coming.document, folder, digests)


def _findings(coming: Reading[CalendarSpec], found: Iterable[tuple[Place, str]]) -> tuple[tuple[str, str], ...]:
    """Of each service that a row asks for, with the row's line."""
    asked = dict(_asked(coming.readable)) if coming.readable else {}
    return tuple(
        (service, f"{shown(coming.path)}:{coming.document.line(place)}: {dotted(place)}: {text}")
        for place, text in found
        for service in asked[place].services
    )


def load_calendar_spec(stack: str, root: Path | None = None) -> CalendarSpec:
    """Read `<root>/<stack>/events.yaml` as written, its times not yet resolved.

    Raises:
        InputError: with every fault of the file's shape.
    """
    reading = read(stack_folder(stack, root) / EVENTS_FILE, CalendarSpec)
    if reading.model is None or reading.faults:
        raise InputError(reading.faults)
    return reading.model


def read_platform(folder: Path) -> Reading[Platform]:
    """The platform of the stack in `folder`, held to every rule of `stacks`, with its faults beside it."""
    reading = read(folder / PLATFORM_FILE, Platform)
    if reading.readable is None:
        return reading
    wrong = [*misfits(reading.readable), *_missing_evidence(folder, reading.readable)]
    return replace(reading, faults=reading.faults + faults_at(reading, wrong))


def _missing_evidence(folder: Path, platform: Platform) -> Iterable[Misfit]:
    for name, service in platform.services.items():
        try:
            there = (folder / service.capacity.evidence).exists()
        except OSError:  # a name no file system takes
            there = False
        if not there:
            fix = "Put the benchmark's files there, or name the folder they are in."
            place = ("services", name, "capacity", "evidence")
            yield Misfit(place, service.capacity.evidence, f"a file or folder in {shown(folder)}", fix)


def _asked(spec: CalendarSpec) -> Iterator[tuple[Place, Asked]]:
    for index, event in enumerate(spec.events):
        yield ("events", index), event
    for index, file in enumerate(spec.calendars):
        for row, matched in enumerate(file.events):
            yield ("calendars", index, "events", row), matched


def _unknown_services(asked: Iterable[tuple[Place, Asked]], platform: Platform) -> list[Misfit]:
    wrong = []
    for event, what in asked:
        for name, demand in what.services.items():
            place = (*event, "services", name)
            service = platform.services.get(name)
            if service is None:
                known = ", ".join(platform.services)
                wrong.append(Misfit(place, name, f"a service of {PLATFORM_FILE}: {known}", "Correct the name."))
            else:
                wrong += [Misfit(place, *lack) for lack in _lacks(demand, name, service)]
    return wrong


def _lacks(demand: Demand, name: str, service: Service) -> Iterator[tuple[str, str, str]]:
    """(got, expected, fix) of what the platform does not say and the event leaves out."""
    expected = "a load the event can be reckoned from"
    if demand.unit == "tokens_per_s" and service.capacity.tokens_per_s_per_replica is None:
        field = f"services.{name}.capacity.tokens_per_s_per_replica"
        fix = f"Set {field} in {PLATFORM_FILE}, from the same evidence as in_flight_per_replica; or give rps here."
        yield "no tokens_per_s_per_replica", expected, fix
    is_open = demand.unit == "multiplier" or (demand.unit == "rps" and demand.request_duration_s is None)
    if is_open and service.usual_load is None:
        got = "no usual_load" if demand.unit == "multiplier" else "no request_duration_s"
        fix = f"Set services.{name}.usual_load in {PLATFORM_FILE}, or give rps and request_duration_s here."
        yield got, expected, fix
