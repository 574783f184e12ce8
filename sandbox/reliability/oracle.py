"""What the floor has to be, by the rules alone: max(baseline, every active event), and no cooling in a short gap.

And which events come too late where nothing ever becomes Ready: those whose start is nearer than a lead time.

It shares no code with prescale.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


def asks(event: Event, service: Service, calendar: Iterable[Event], now: float) -> int:
    """Replicas that one event asks for at `now`, in a calendar of it and others.

    A gap shorter than a lead time, from another's end to its own raise, is held at what both need.
    """
    if service.name not in event.rps or event.cancelled:
        return 0
    raised = event.start - service.lead_s
    if raised <= now < event.end:
        return _needs(event, service)
    before = [
        other
        for other in calendar
        if service.name in other.rps and not other.cancelled and 0 < raised - other.end < service.lead_s
    ]
    held = [min(_needs(other, service), _needs(event, service)) for other in before if other.end <= now < raised]
    return max(held, default=0)


def is_late(event: Event, service: Service, now: float) -> bool:
    """Whether one event is Ready too late although it is raised, where not one replica is Ready at `now`.

    Without a margin it is raised no earlier than a lead time before its start. The baseline needs no start of its own.
    """
    if service.name not in event.rps or event.cancelled or _needs(event, service) <= service.baseline:
        return False
    return event.start - service.lead_s < now < event.end


def _needs(event: Event, service: Service) -> int:
    load = Fraction(event.rps[service.name] * REQUEST_S, PER_REPLICA) * (100 + HEADROOM_PCT) / 100
    return -(-load.numerator // load.denominator)


def floor(service: Service, calendar: Sequence[Event], now: float) -> int:
    """Replicas that must be asked for at `now`."""
    return max([service.baseline, *(asks(event, service, calendar, now) for event in calendar)])
