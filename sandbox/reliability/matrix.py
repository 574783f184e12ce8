"""What Pulumi's engine does to the objects before, during and after an event, and what the next run makes of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sandbox.reliability import oracle
from sandbox.reliability.built import Built, built
from sandbox.reliability.course import rps_for
from sandbox.reliability.operations import BASELINE, BETWEEN, CEILING, FLOOR, SERVICES, Operation
from sandbox.reliability.oracle import Event, Service
from sandbox.reliability.stack_on_disk import Ran, calendar_text
from sandbox.reliability.transition import LATE, ending, is_done

Say = Callable[[str], None]

Floors = dict[str, int]

HOUR_S = 3600


@dataclass(frozen=True)
class Cell:
    """One operation at one time: the floor before it, after it and after the next run; None is no object."""

    operation: str
    time: str
    was: int | None
    exit_code: int
    left: int | None
    next_exit_code: int
    then: int | None
    said: str


@dataclass
class Matrix:
    """What came of it."""

    cells: list[Cell] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def facts(self) -> dict[str, object]:
        """As plain data."""
        return {
            "baseline": BASELINE,
            "floor": FLOOR,
            "between": BETWEEN,
            "cells": [asdict(cell) for cell in self.cells],
            "failures": self.failures,
        }


def measure(folder: Path, operations: Collection[Operation], say: Say) -> Matrix:
    """Play the operations, one after the other on one stack, in a sandbox of its own."""
    found = Matrix()
    with built(folder / "matrix", SERVICES, say) as site:
        _must(site.act("up"))
        for operation in operations:
            for times in ((at,) for at in operation.times) if operation.apart else (operation.times,):
                _played(site, operation, times, found)
            say(f"  {operation.name}: {len(found.failures)} failures")
    return found


def _played(site: Built, operation: Operation, times: tuple[str, ...], found: Matrix) -> None:
    """One operation, the run after it, and all that is not as it has to be."""
    if any(service.ceiling != CEILING for service in site.services):
        site.write_all(ceiling=CEILING)
        _must(site.act("up"))
    if operation.raised is not None:
        _schedule(site, on={*operation.raised} & {*times})
        _must(site.run())
    events = _schedule(site, on={"during"} & {*times}, over={"after"} & {*times})
    built_as, was = site.services, site.seen()
    ran = operation.play(site, times)
    left, after, then = site.seen(), site.run(), site.seen()
    wanted_then = _wanted(site.services, events)
    baselines = {service.name: service.baseline for service in (built_as if ran.exit_code else site.services)}
    lefts = {
        "kept": _floors(was),
        "as the sync wanted": _wanted(built_as, events),
        "baseline": baselines,
        "nothing": {},
    }[operation.left]
    for at in times:
        refused, next_refused = operation.refused.get(at), operation.next_refused.get(at)
        told = [_told(site, ran, refused), _told(site, after, next_refused), _late(after, at)]
        cell = Cell(
            operation.name,
            at,
            was=_floors(was).get(at),
            exit_code=ran.exit_code,
            left=_floors(left).get(at),
            next_exit_code=after.exit_code,
            then=_floors(then).get(at),
            said=" ".join(filter(None, told)),
        )
        found.cells.append(cell)
        wrong = _unexpected(ran, refused)
        wrong += [] if is_done(after) and not next_refused else _unexpected(after, next_refused)
        wants = cell.left if at in operation.next_refused else wanted_then[at]
        for when, seen, expected in (("after it", cell.left, lefts.get(at)), ("after the next run", cell.then, wants)):
            wrong += [] if seen == expected else [f"the floor {when} is {seen}, not {expected}"]
        annotated = then[at][1] if at in then else ""
        if at in then and annotated != str(baselines[at]):
            wrong.append(f"the baseline is {annotated}, not {baselines[at]}")
        found.failures += [f"{operation.name}, {at} the event: {each}" for each in wrong]


def _must(ran: Ran) -> None:
    """What everything after it stands on."""
    if not is_done(ran):
        raise AssertionError(f"it is no operation of the matrix, and ended with {ending(ran)}")


def _schedule(site: Built, on: Collection[str] = (), over: Collection[str] = ()) -> list[Event]:
    """Each service's event is on or over, else to come."""
    now = int(time.time())
    events = []
    for service in site.services:
        start = now - HOUR_S if service.name in on else now - 3 * HOUR_S if service.name in over else now + 2 * HOUR_S
        events.append(Event(f"sale-{service.name}", start, start + 2 * HOUR_S, {service.name: rps_for(FLOOR)}))
    site.calendar.write_text(calendar_text(events))
    return events


def _wanted(services: Sequence[Service], events: Sequence[Event]) -> Floors:
    return {service.name: oracle.floor(service, events, time.time()) for service in services}


def _floors(seen: Mapping[str, tuple[int, str]]) -> Floors:
    return {name: floor for name, (floor, _) in seen.items()}


def _unexpected(ran: Ran, reason: str | None) -> list[str]:
    """What is wrong with how a command ended, where it has to be refused for `reason` or, without one, to succeed."""
    is_as_expected = reason in ran.stdout + ran.stderr if reason and ran.exit_code else not reason and not ran.exit_code
    traceback = "Traceback" in ran.stdout + ran.stderr
    return [] if is_as_expected and not traceback else [f"expected {reason or 'exit code 0'}, got {ending(ran)}"]


def _late(ran: Ran, service: str) -> str:
    """What a run says of an event that it could only raise late."""
    if not ran.exit_code or not is_done(ran):
        return ""
    said = (finding for each in ran.services if each["service"] == service for finding in each["findings"])
    return next((finding for finding in said if LATE in finding), "")


def _told(site: Built, ran: Ran, reason: str | None) -> str:
    """The line that says why it was refused."""
    lines = (line.strip() for line in (ran.stdout + ran.stderr).splitlines())
    said = next((line for line in lines if reason and reason in line), "")
    return said.strip('",*').strip().replace(f"{site.folder}/", "")
