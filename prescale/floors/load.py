"""A load in the unit it was said in, and the replicas it comes to. Exact, and pure."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from capacity import replicas
from capacity.replicas import decimal_text
from stacks.units import Unit

if TYPE_CHECKING:
    from stacks.demand import Demand
    from stacks.spec import Service


class Load(Struct, frozen=True):
    """A load and the replicas it comes to, before any headroom.

    What its `unit` does not say is None: nobody knows how many requests are in flight at so many tokens per second.
    `rps` of a `multiplier` is the product.
    """

    unit: Unit
    replicas: Fraction
    multiplier: Decimal | None = None
    rps: Fraction | None = None
    request_duration_s: Decimal | None = None
    in_flight: Fraction | None = None
    in_flight_per_replica: Decimal | None = None
    tokens_per_s: Decimal | None = None
    tokens_per_s_per_replica: Decimal | None = None

    @property
    def formula(self) -> str:
        """The numbers that the replicas come from, in one piece: `26.7 rps x 7.8 s / 40`."""
        text = decimal_text
        if self.in_flight_per_replica is not None and self.in_flight is not None:
            if self.rps is None or self.request_duration_s is None:
                return f"{text(self.in_flight)} in flight / {text(self.in_flight_per_replica)}"
            return f"{text(self.rps)} rps x {text(self.request_duration_s)} s / {text(self.in_flight_per_replica)}"
        if self.tokens_per_s is not None and self.tokens_per_s_per_replica is not None:
            return f"{text(self.tokens_per_s)} output tokens/s / {text(self.tokens_per_s_per_replica)}"
        return f"{text(self.replicas)} replicas"


def usual(service: Service) -> Load | None:
    """The service's load without any event, where the platform says it."""
    if service.usual_load is None:
        return None
    return _of_requests("rps", Fraction(service.usual_load.rps), service.usual_load.request_duration_s, service)


def load_of(demand: Demand, service: Service) -> Load:
    """The load of an event.

    Raises:
        ValueError: neither the event nor the platform says what it is reckoned from. `stacks.loader` lets none through.
    """
    if demand.replicas is not None:
        return Load("replicas", Fraction(demand.replicas))
    if demand.in_flight is not None:
        return _of_in_flight("in_flight", Fraction(demand.in_flight), service)
    if demand.tokens_per_s is not None:
        return _of_tokens(demand.tokens_per_s, service)
    usual_load = service.usual_load
    duration_s = demand.request_duration_s or (usual_load and usual_load.request_duration_s)
    if demand.rps is not None and duration_s:
        return _of_requests("rps", Fraction(demand.rps), duration_s, service)
    if demand.multiplier is not None and duration_s and usual_load:
        rps = Fraction(demand.multiplier) * Fraction(usual_load.rps)
        return _of_requests("multiplier", rps, duration_s, service, demand.multiplier)
    raise ValueError("no usual_load")


def _of_requests(
    unit: Unit, rps: Fraction, request_duration_s: Decimal, service: Service, multiplier: Decimal | None = None
) -> Load:
    in_flight = replicas.in_flight(rps, request_duration_s)
    per_replica = service.capacity.in_flight_per_replica
    filled = replicas.of_load(in_flight, per_replica)
    return Load(unit, filled, multiplier, rps, request_duration_s, in_flight, per_replica)


def _of_in_flight(unit: Unit, in_flight: Fraction, service: Service) -> Load:
    per_replica = service.capacity.in_flight_per_replica
    filled = replicas.of_load(in_flight, per_replica)
    return Load(unit, filled, in_flight=in_flight, in_flight_per_replica=per_replica)


def _of_tokens(tokens_per_s: Decimal, service: Service) -> Load:
    per_replica = service.capacity.tokens_per_s_per_replica
    if per_replica is None:
        raise ValueError("no tokens_per_s_per_replica")
    filled = replicas.of_load(tokens_per_s, per_replica)
    return Load("tokens_per_s", filled, tokens_per_s=tokens_per_s, tokens_per_s_per_replica=per_replica)


def headroom_pct(demand: Demand, usual_pct: Decimal) -> Decimal:
    """Per cent on top: the event's own word, else the calendar's on a load, and none on replicas."""
    if demand.headroom_pct is not None:
        return demand.headroom_pct
    return Decimal(0) if demand.unit == "replicas" else usual_pct
