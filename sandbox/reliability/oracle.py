"""What the floor has to be, by the rule alone: max(baseline, every active event). It shares no code with prescale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

PER_REPLICA = 10
REQUEST_S = 2
HEADROOM_PCT = 30


@dataclass(frozen=True)
class Service:
    """One service as it is built; `lead_s` before its start an event counts."""

    name: str
    baseline: int
    ceiling: int
    lead_s: int


@dataclass(frozen=True)
class Event:
    """One event; `start` and `end` are Unix times, `rps` is by service."""

    name: str
    start: int
    end: int
    rps: Mapping[str, int]
    cancelled: bool = False


def is_active(event: Event, service: Service, now: float) -> bool:
    is_its = service.name in event.rps and not event.cancelled
    return is_its and event.start - service.lead_s <= now < event.end


def floor(service: Service, events: Iterable[Event], now: float) -> int:
    """Replicas that must be asked for at `now`."""
    asked = [service.baseline]
    for event in events:
        if is_active(event, service, now):
            load = Fraction(event.rps[service.name] * REQUEST_S, PER_REPLICA) * (100 + HEADROOM_PCT) / 100
            asked.append(-(-load.numerator // load.denominator))
    return max(asked)
