"""A random course of calendars for some services, and what has to be in force after each: the same for the same seed.

The clock is the real one, so events are laid around the present: they overlap, nest and touch, are over, on or to come.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

from sandbox.reliability import oracle
from sandbox.reliability.oracle import HEADROOM_PCT, PER_REPLICA, REQUEST_S, Event, Service

# No start, raise or end is closer to the present than half a grain, so no run can fall on another side of it.
GRAIN_S = 3600
LEADS_S = (GRAIN_S, 2 * GRAIN_S)
MOST_REPLICAS = 18
NAMES = ("friday-peak", "launch", "replay", "sale", "tax-day")


def dice(seed: object) -> Random:
    """The same throws for the same seed."""
    return Random(str(seed))  # noqa: S311 - a seed is to say what happens


def drawn_services(throws: Random, count: int) -> tuple[Service, ...]:
    """Services with different baselines and lead times."""
    return tuple(
        Service(f"chat-{number}", throws.randint(0, 3), MOST_REPLICAS, throws.choice(LEADS_S))
        for number in range(count)
    )


def rps_for(replicas: int) -> int:
    """The most whole requests per second for which `replicas` are enough."""
    return int(Fraction(replicas * PER_REPLICA * 100, REQUEST_S * (100 + HEADROOM_PCT)))


@dataclass
class Course:
    """One course: `events` is the calendar now; `held` what was in force of it, by service and name: (replicas, end).

    `kept` are values above all events that a person set. Floors of events are even and a person's values odd, so that
    none is taken for the other.
    """

    dice: Random
    services: Sequence[Service]
    events: tuple[Event, ...] = ()
    held: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    said: set[int] = field(default_factory=set)

    def turn(self) -> None:
        """Draw the next calendar. Each name may be gone, cancelled, or have other times, services and loads."""
        now = int(time.time())
        names = self.dice.sample(NAMES, self.dice.randint(0, len(NAMES)))
        self.events = tuple(self._event(name, now) for name in names)
        written = {(service, event.name) for event in self.events for service in event.rps}
        self.held = {key: claim for key, claim in self.held.items() if key not in written}

    def _event(self, name: str, now: int) -> Event:
        first = self.dice.randint(-6, 4)
        last = self.dice.randint(first + 1, first + 6)
        start, end = (now + GRAIN_S // 2 + GRAIN_S * grains for grains in (first, last))
        chosen = self.dice.sample(list(self.services), self.dice.randint(1, len(self.services)))
        rps = {service.name: rps_for(2 * self.dice.randint(1, MOST_REPLICAS // 2)) for service in chosen}
        return Event(name, start, end, rps, cancelled=self.dice.random() < 0.15)

    def person(self, service: Service) -> int | None:
        """A value that a person sets beside the calendar, new each time; None if none is left."""
        left = sorted({*range(1, MOST_REPLICAS, 2)} - self.said - {service.baseline})
        if not left:
            return None
        value: int = self.dice.choice(left)
        self.said.add(value)
        # Higher than what is wanted it is kept, lower it ends what was kept.
        self.kept.pop(service.name, None)
        if value > self._wanted(service):
            self.kept[service.name] = value
        return value

    def floors(self) -> dict[str, int]:
        """What has to be in force now."""
        return {service.name: max(self._wanted(service), self.kept.get(service.name, 0)) for service in self.services}

    def late(self) -> set[tuple[str, str]]:
        """Service and name of every event that is Ready too late, where nothing runs at all."""
        now = time.time()
        pairs = ((service, event) for service in self.services for event in self.events)
        return {(service.name, event.name) for service, event in pairs if oracle.is_late(event, service, now)}

    def _wanted(self, service: Service) -> int:
        now = time.time()
        held = (replicas for (name, _), (replicas, end) in self.held.items() if name == service.name and now < end)
        return max([oracle.floor(service, self.events, now), *held])

    def settled(self) -> None:
        """A run has gone through: what is in force now is held where it vanishes from the calendar."""
        now = time.time()
        for service in self.services:
            for event in self.events:
                if replicas := oracle.asks(event, service, self.events, now):
                    self.held[service.name, event.name] = (replicas, event.end)
