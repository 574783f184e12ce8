"""Spoiled calendars, while floors are raised: no traceback, and no floor is lowered that a valid word did not lower."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import yaml

from sandbox.layout import Layout
from sandbox.reliability.course import GRAIN_S, MOST_REPLICAS, dice, rps_for
from sandbox.reliability.ground import Ground
from sandbox.reliability.mutation import MUTATIONS
from sandbox.reliability.oracle import HEADROOM_PCT, PER_REPLICA, Event, Service
from sandbox.reliability.stack_on_disk import STACK, calendar_text
from sandbox.reliability.transition import ending
from stacks.faults import InputError
from stacks.loader import load_stack

Say = Callable[[str], None]

SERVICES = tuple(Service(f"chat-{number}", 2, MOST_REPLICAS, GRAIN_S) for number in range(3))
EVENTS_S = {"sale": (-1, 2), "replay": (-3, 1), "launch": (3, 5)}
FLOORS = {"sale": (12, 8, 14), "replay": (10, 10, 4), "launch": (16, 16, 16)}
TOLD_EVERY = 20


@dataclass
class Calendars:
    """What came of it: files by mutation, how many the loader took for valid, how often their word lowered a floor."""

    files: int = 0
    by_mutation: Counter[str] = field(default_factory=Counter)
    exits: Counter[int] = field(default_factory=Counter)
    valid: int = 0
    lowered: int = 0
    failures: list[str] = field(default_factory=list)

    def facts(self) -> dict[str, object]:
        """As plain data."""
        return {
            "files": self.files,
            "mutations": len(self.by_mutation),
            "exits": {str(code): self.exits[code] for code in sorted(self.exits)},
            "valid": self.valid,
            "lowered": self.lowered,
            "failures": self.failures,
        }


def measure(layout: Layout, folder: Path, files: int, seed: int, say: Say) -> Calendars:
    """Let `sync` read `files` spoiled files, one after the other, each from the same raised state."""
    found = Calendars()
    throws = dice(f"{seed}/calendars")
    ground = Ground(layout, folder / "calendars", "calendars", SERVICES)
    sound = ""
    raised: dict[str, int] = {}
    while found.files < files:
        if not raised or found.files % TOLD_EVERY == 0:
            sound = _sound(int(time.time()))
            raised = _raised(ground, sound)
        mutate = MUTATIONS[found.files % len(MUTATIONS)]
        spoiled = mutate(throws, sound)
        if not _is_judged(ground, spoiled, mutate.__name__, raised, found):
            raised = {}  # what such a run remembers is no start for the next one
        found.files += 1
        if found.files % TOLD_EVERY == 0:
            say(f"  {found.files} spoiled calendars, {len(found.failures)} failures")
    ground.clear()
    return found


def _sound(now: int) -> str:
    """A calendar with two events that are on and overlap, and one to come."""
    events = []
    for name, (first, last) in EVENTS_S.items():
        rps = {service.name: rps_for(floor) for service, floor in zip(SERVICES, FLOORS[name], strict=True)}
        start, end = (now + GRAIN_S // 2 + GRAIN_S * grains for grains in (first, last))
        events.append(Event(name, start, end, rps))
    return calendar_text(events)


def _raised(ground: Ground, sound: str) -> dict[str, int]:
    ground.build()
    _write(ground, sound)
    ran = ground.run()
    raised = {name: minimum for name, (minimum, _) in ground.seen().items()}
    if list(raised.values()) != [12, 10, 14]:
        raise AssertionError(f"the valid calendar gave {raised}: {ending(ran)}")
    return raised


def _write(ground: Ground, content: str | bytes) -> None:
    ground.calendar.write_bytes(content.encode() if isinstance(content, str) else content)


def _is_judged(ground: Ground, content: str | bytes, mutation: str, raised: dict[str, int], found: Calendars) -> bool:
    """Run once on the spoiled file; whether everything is as it was."""
    _write(ground, content)
    ran = ground.run()
    seen = {name: minimum for name, (minimum, _) in ground.seen().items()}
    found.by_mutation[mutation] += 1
    found.exits[ran.exit_code] += 1
    wrong = []
    try:
        lowest = _lowest(ground, raised)
        expected = 2 if lowest is None else int(_is_late(ground))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        lowest, expected = raised, ran.exit_code
        wrong.append(f"it is valid, and an independent reader cannot make it out: {error!r}")
    found.valid += lowest is not None
    found.lowered += any(seen[name] < floor for name, floor in raised.items())
    if "Traceback" in ran.stderr + ran.stdout or ran.exit_code != expected:
        wrong.append(f"expected exit code {expected}, got {ending(ran)}")
    allowed = raised if lowest is None else lowest
    wrong += [f"{name} has {seen[name]}, not {floor} or more" for name, floor in allowed.items() if seen[name] < floor]
    if lowest is None and seen != raised:
        wrong.append(f"a file that is not valid changed {raised} to {seen}")
    found.failures += [f"file {found.files} ({mutation}): {each}; it was {content!r}" for each in wrong]
    return ran.exit_code == 2 and not wrong


def _lowest(ground: Ground, raised: dict[str, int]) -> dict[str, int] | None:
    """The lowest floors that the file's own word allows; None if it is no valid calendar, whose word counts nothing.

    The product's loader says no more than whether it can be read. What it says is read here anew.
    """
    try:
        load_stack(STACK, ground.folder / "stacks")
    except InputError:
        return None
    data = _data(ground)
    if _is_too_much(data):
        return None
    said = {event["name"]: event for event in data["events"]}
    lowest = {}
    for index, service in enumerate(SERVICES):
        floors = [service.baseline]
        for name in ("sale", "replay"):
            event = said.get(name)
            # Without a word of it the event is held at what it raised.
            is_told = event is not None and service.name in event["services"]
            floors.append(_said(data, event, service) if event and is_told else FLOORS[name][index])
        lowest[service.name] = min(max(floors), raised[service.name])
    return lowest


def _is_late(ground: Ground) -> bool:
    """Whether a valid file has an event that cannot be Ready by its start, where nothing is: what exit code 1 says."""
    data = _data(ground)
    return any(
        _said(data, event, service) > service.baseline and _at(data, event, "start") < time.time() + service.lead_s
        for event in data["events"]
        for service in SERVICES
        if service.name in event["services"]
    )


def _data(ground: Ground) -> dict[str, Any]:
    """The file as it stands, every value as text."""
    text = ground.calendar.read_text(encoding="utf-8-sig")
    found: dict[str, Any] = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - text only
    return found


def _at(data: dict[str, Any], event: dict[str, Any], end: str) -> float:
    return _unix(event[end], event.get("timezone", data["timezone"]))


def _is_too_much(data: dict[str, Any]) -> bool:
    """Whether an event that is not over asks for more than a service may have, which is refused days ahead, too."""
    return any(
        _floor(data, event, service) > service.ceiling
        for event in data["events"]
        for service in SERVICES
        if service.name in event["services"] and not _is_off(event) and time.time() < _at(data, event, "end")
    )


def _said(data: dict[str, Any], event: dict[str, Any], service: Service) -> int:
    """The floor that one event of the file asks for now."""
    lead_s = service.lead_s + int(data.get("ready_margin_s", 600))
    is_on = _at(data, event, "start") - lead_s <= time.time() < _at(data, event, "end")
    return _floor(data, event, service) if is_on and not _is_off(event) else 0


def _is_off(event: dict[str, Any]) -> bool:
    text: str = event.get("cancelled", "false")
    return text.lower() == "true"


def _floor(data: dict[str, Any], event: dict[str, Any], service: Service) -> int:
    demand = event["services"][service.name]
    headroom = Fraction(demand.get("headroom_pct", data.get("headroom_pct", HEADROOM_PCT)))
    load = Fraction(demand["rps"]) * Fraction(demand["request_duration_s"]) / PER_REPLICA * (100 + headroom) / 100
    return -(-load.numerator // load.denominator)


def _unix(text: str, zone: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))).timestamp()
