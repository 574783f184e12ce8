"""What the plans of one service assume together, and what comes of it when one of these assumptions is another.

An engine does not know whose request it serves or of which class, so what it recorded is held against all requests of
its service as one. What has moved is scaled in each class alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from capacity.request import Request
from capacity.sizing.carries import Carries
from capacity.sizing.offered import Dimension
from capacity.sizing.plan import End, Plan, plan
from stacks.workload_class import Lengths, WorkloadClass

Moving = Literal["load", "request_duration_s", "input_tokens", "output_tokens", "in_flight_per_replica"]
"""What of a plan may turn out to be another."""


ENDS = ("fewest", "most")


@dataclass(frozen=True, slots=True)
class Span:
    """A planned number, from the end of the plan that needs the fewest replicas to the other; low first."""

    low: Fraction
    high: Fraction

    def ratio(self, seen: Fraction) -> Fraction:
        """`seen` to the nearer end of what was planned, above 0; 1 within."""
        return seen / self.high if seen > self.high else seen / self.low if seen < self.low else Fraction(1)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a plan comes to: replicas that run at the peak, and the requests in flight they are for, where known."""

    in_flight: Span | None
    replicas: Span


@dataclass(frozen=True)
class Planned:
    """The requests of one service, and their plans."""

    requests: tuple[Request, ...]
    plans: tuple[Plan, ...]

    @property
    def answer(self) -> Answer:
        running = (Fraction(sum(_end(one, end).reserve.running for one in self.plans)) for end in ENDS)
        return Answer(self.load("in_flight"), _span(*running))

    @property
    def with_surge(self) -> int:
        """Replicas there may be at most while a rollout is on."""
        return sum(one.most.reserve.running + one.most.reserve.surge for one in self.plans)

    def load(self, name: Dimension) -> Span | None:
        """Of all classes at their peak; None where one class does not tell."""
        return _span_of([self._sum(name, end) for end in ENDS])

    def _sum(self, name: Dimension, end: str) -> Fraction | None:
        loads = [each.load.get(name) for one in self.plans for each in _end(one, end).offered.values()]
        known = [load for load in loads if load is not None]
        return sum(known, Fraction(0)) if len(known) == len(loads) else None

    @property
    def duration_s(self) -> Span | None:
        """Mean of a request, by Little's law over all classes."""
        pairs = [(self._sum("in_flight", end), self._sum("rps", end)) for end in ENDS]
        return _span_of([held / rps if held is not None and rps else None for held, rps in pairs])

    def tokens(self, field: Literal["input_tokens", "output_tokens"]) -> Span | None:
        """Mean length over all requests; None where a class says neither it nor how many requests there are."""
        return _span_of([self._mean(field, end) for end in ENDS])

    def _mean(self, field: str, end: str) -> Fraction | None:
        pairs = [
            (_value(one, kind, field, end), load.load.get("rps"))
            for one in self.plans
            for kind, load in _end(one, end).offered.items()
        ]
        if len(pairs) == 1 and pairs[0][0] is not None:
            return Fraction(pairs[0][0])
        known = [(Fraction(value), rps) for value, rps in pairs if value is not None and rps is not None]
        if len(known) < len(pairs):
            return None
        return sum((value * rps for value, rps in known), Fraction(0)) / sum(rps for _, rps in known)

    @property
    def per_replica(self) -> Span | None:
        """Requests in flight that one replica is to carry, over the mix of classes."""
        return _span_of([self._per_replica(end) for end in ENDS])

    def _per_replica(self, end: str) -> Fraction | None:
        held = self._sum("in_flight", end)
        replicas = [_end(one, end).needs.get("in_flight", Fraction(0)) for one in self.plans]
        return held / sum(replicas) if held is not None and all(replicas) else None

    def moved(self, ratios: Mapping[Moving, Fraction]) -> Planned:
        """The same requests with these assumptions scaled, from their upper ends where they are ranges."""
        requests = tuple(_moved(*pair, ratios) for pair in zip(self.requests, self.plans, strict=True))
        ratio = ratios.get("in_flight_per_replica", Fraction(1))
        carries = [{kind: _carrying(each, ratio) for kind, each in one.carries.items()} for one in self.plans]
        plans = (plan(request, measured=each) for request, each in zip(requests, carries, strict=True))
        return Planned(requests, tuple(plans))


def _end(one: Plan, end: str) -> End:
    return one.fewest if end == "fewest" else one.most


def _span(*numbers: Fraction) -> Span:
    return Span(min(numbers), max(numbers))


def _span_of(ends: Sequence[Fraction | None]) -> Span | None:
    known = [each for each in ends if each is not None]
    return _span(*known) if len(known) == len(ends) else None


def _value(one: Plan, kind: str, field: str, end: str) -> Decimal | None:
    """Of one class: as said, or as assumed at that end of the plan; None where it was neither."""
    said = getattr(one.workload.profile.classes[kind], field)
    place = f"profile.classes.{kind}.{field}"
    if isinstance(said, Lengths):
        said, place = said.mean, f"{place}.mean"
    return (
        said if said is not None else next((getattr(gap, end) for gap in one.assumptions if gap.field == place), None)
    )


def _moved(request: Request, one: Plan, ratios: Mapping[Moving, Fraction]) -> Request:
    classes = {kind: _moved_class(load, one, kind, ratios) for kind, load in one.workload.profile.classes.items()}
    profile = one.workload.profile.model_copy(update={"classes": classes})
    return replace(request, workload=one.workload.model_copy(update={"profile": profile}))


def _moved_class(load: WorkloadClass, one: Plan, kind: str, ratios: Mapping[Moving, Fraction]) -> WorkloadClass:
    changes: dict[str, object] = {}
    for name, ratio in ratios.items():
        field = load.way if name == "load" else name
        value = None if name == "in_flight_per_replica" else _value(one, kind, field, "most")
        if value is not None:
            said, scaled = getattr(load, field), _scaled(value, ratio)
            changes[field] = said.model_copy(update={"mean": scaled}) if isinstance(said, Lengths) else scaled
    return load.model_copy(update=changes)


def _scaled(number: Decimal, ratio: Fraction) -> Decimal:
    exact = Fraction(number) * ratio
    return Decimal(exact.numerator) / exact.denominator


def _carrying(carries: Carries, ratio: Fraction) -> Carries:
    return replace(carries, load=carries.load | {"in_flight": carries.load["in_flight"] * ratio})
