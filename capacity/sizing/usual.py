"""What runs without any event: the usual load, what may come on top of it while a replica starts, and the reserve.

The usual load is no higher than the peak that was projected. Where platform.yaml and workloads.yaml say otherwise, one
of them is wrong, and nothing is derived from either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from capacity.replicas import decimal_text, in_flight, of_load
from capacity.sizing.plan import Plan
from capacity.sizing.policy import reserve
from stacks.spec import NodePool


@dataclass(frozen=True)
class Usual:
    """One service's usual load, in replicas, and `source`, which says it.

    to_come: replicas of load that may come while one starts. running: of replicas, with the reserve.
    """

    source: str
    load: Fraction
    to_come: Fraction
    running: int


def usual(plans: Sequence[Plan], pool: NodePool, per_replica: Fraction) -> Usual | None:
    """Of one service, from all the requests that are made to it; None where nobody says it, or it contradicts them.

    Args:
        per_replica: in flight, by which the autoscaler counts.
    """
    if contradiction(plans):
        return None
    said = _said(plans, per_replica)
    if said is None:
        return None
    growth, peak = (sum((getattr(plan.most, name) for plan in plans), Fraction(0)) for name in ("growth", "peak"))
    load, source = min(said[0], peak), said[1]  # a cache may answer a part of what usually comes
    needs = [_need(plan, load, growth, pool, peak=peak) for plan in plans]
    running, to_come = max(needs)
    return Usual(source, load, to_come, running)


def contradiction(plans: Sequence[Plan]) -> str | None:
    """How platform.yaml's usual load is more than the projected peak of all `plans`; None where it is not."""
    service, name = plans[0].service, plans[0].workload.service
    projected = _projected(plans)
    if service.usual_load is None or projected is None:
        return None
    rps, duration_s = service.usual_load.rps, service.usual_load.request_duration_s
    held = in_flight(rps, duration_s)
    if held <= projected:
        return None
    who, peak = " and ".join(plan.name for plan in plans), decimal_text(projected)
    return (
        f"services.{name}.usual_load of platform.yaml is {decimal_text(rps)} rps x {decimal_text(duration_s)} s = "
        f"{decimal_text(held)} in flight, above the projected peak of {who} in workloads.yaml, {peak}"
    )


def _projected(plans: Sequence[Plan]) -> Fraction | None:
    """In flight at the projection's upper end, before a cache answers a part; None where a class does not say."""
    loads = [load for plan in plans for load in plan.most.offered.values()]
    if any("in_flight" not in load.load for load in loads):
        return None
    return sum((load.load["in_flight"] * load.projected / load.served for load in loads), Fraction(0))


def _said(plans: Sequence[Plan], per_replica: Fraction) -> tuple[Fraction, str] | None:
    """In replicas, and what says it."""
    service = plans[0].service
    if service.usual_load is not None:
        held = in_flight(service.usual_load.rps, service.usual_load.request_duration_s)
        return of_load(held, per_replica), "usual_load"
    average = Fraction(0)
    for plan in plans:
        ratios = {load.peak_to_average for load in plan.workload.profile.classes.values()}
        ratio = next(iter(ratios))
        if len(ratios) != 1 or ratio is None:
            return None
        average += plan.most.peak / Fraction(ratio)
    return average, "the average hour"


def _need(plan: Plan, load: Fraction, growth: Fraction, pool: NodePool, *, peak: Fraction) -> tuple[int, Fraction]:
    """Replicas by the plan's own reserve, and the part of the load that it has for a cold start."""
    said = plan.most.reliability
    running = reserve(load, growth, said, plan.service, pool, peak=peak).running
    counts_rises = said.headroom_pct is None
    return running, min(growth, peak - load) if counts_rises else Fraction(0)
