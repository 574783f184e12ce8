"""What an autoscaler that counts requests in flight is to divide by, so that it runs what the plan has.

It is the operating target, unless something else (tokens, requests per second) fills a replica first: then it is what a
replica holds in flight when it is full of that. And where what comes beyond the SLO is rejected (`slo.overload`), it is
so low that the autoscaler sees more than it before anything is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from capacity.replicas import HPA_TOLERANCE, decimal_text, least_in_flight_limit, whole
from capacity.sizing.offered import Dimension
from capacity.sizing.plan import Plan

NAMES: dict[Dimension, str] = {
    "in_flight": "requests in flight",
    "rps": "requests/s",
    "prefill_tokens_per_s": "prefill tokens/s",
    "output_tokens_per_s": "output tokens/s",
}


@dataclass(frozen=True)
class Threshold:
    """In flight per replica: `value` to scale by, and the `operating` level that the engine's bounds follow from."""

    value: Fraction
    operating: Fraction
    why: str


def threshold(plans: Sequence[Plan]) -> Threshold:
    """Of one service, from all the requests that are made to it, at the ends that need the most."""
    service = plans[0].service
    measured = _measured(plans)
    target = Fraction(service.capacity.in_flight_per_replica) if measured is None else measured
    why = f"the operating target, from {service.capacity.evidence}; nothing discounts it again"
    if rejects(plans) and (bound := most_at_slo(plans)) is not None and least_in_flight_limit(target) > bound:
        target = _seen_below(bound)
        why = f"what comes beyond the {bound} in flight that keep the SLO is rejected, and HPAs add above 1.1 x this"
    held, replicas = in_flight_at_peak(plans), sum((plan.most.peak for plan in plans), Fraction(0))
    # Rounded up, so that what is written does not bind by itself when it is read again.
    value = None if held is None else Fraction(math.ceil(held / replicas * 1000), 1000)
    if held is None or value is None or value >= target:
        return Threshold(target, target, why)
    fewer = f"at {decimal_text(target)} this peak would run on {whole(held / target)} replicas, not {whole(replicas)}"
    if any(_follows_it(plan) for plan in plans):
        return Threshold(target, target, f"{why}; but {fewer}, as classes differ: hold the others by a floor")
    fills = " and ".join(dict.fromkeys(NAMES[plan.most.binds] for plan in plans))
    why = f"{fills} fill a replica that has these in flight; {fewer}"
    return Threshold(value, value if measured is None else target, why)


def rejects(plans: Sequence[Plan]) -> bool:
    """Whether what comes beyond the SLO is to be rejected: engines do not know whose request it is."""
    return any(plan.workload.slo.overload == "reject" for plan in plans)


def most_at_slo(plans: Sequence[Plan]) -> int | None:
    """Most requests in flight that result files show to keep every limit at once; None where none does."""
    seen = [one.sustains for plan in plans for one in plan.most.carries.values() if one.sustains is not None]
    return max(math.floor(min(seen)), 1) if seen else None


def _seen_below(bound: int) -> Fraction:
    """The highest threshold, in thousandths, of which an HPA sees more while `bound` are in flight."""
    return Fraction(math.ceil(bound / HPA_TOLERANCE * 1000) - 1, 1000)


def _measured(plans: Sequence[Plan]) -> Fraction | None:
    """The least that result files say; rounded down, and to a number that a person reads."""
    measured = [
        one.load["in_flight"]
        for plan in plans
        for one in plan.most.carries.values()
        if one.at_slo and "in_flight" in one.load
    ]
    if not measured:
        return None
    target = min(measured)
    return Fraction(math.floor(target)) if target >= 1 else Fraction(math.floor(target * 1000), 1000)


def in_flight_at_peak(plans: Sequence[Plan]) -> Fraction | None:
    """In flight at the peak, of all classes; None where one does not say it."""
    loads = [offered.load.get("in_flight") for plan in plans for offered in plan.most.offered.values()]
    known = [load for load in loads if load is not None]
    return sum(known, Fraction(0)) if len(known) == len(loads) else None


def _follows_it(plan: Plan) -> bool:
    """Whether it is sized by the typed threshold itself: with another one it would need other replicas."""
    classes = plan.workload.profile.classes
    typed = [
        kind
        for kind, one in plan.carries.items()
        if not one.at_slo and not ((own := classes[kind].per_replica) and own.in_flight)
    ]
    return plan.most.binds == "in_flight" and bool(typed)
