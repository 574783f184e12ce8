"""Requests that name the same service share its replicas: each one's quota, and what it gets when all come at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from capacity.replicas import decimal_text
from capacity.sizing.envelope import Envelope, Tenant, divided
from capacity.sizing.plan import Plan

PRIORITY = {"interactive": 2, "agentic": 2, "asynchronous": 1, "batch": 0}
"""By `product.execution`, where `reliability.priority` does not say it: somebody waits, somebody will look, nobody
waits. Where that is not said either, somebody waits."""


@dataclass(frozen=True)
class Shared:
    """One service's envelope in requests in flight: `replicas`, of which each carries `in_flight_per_replica`.

    replicas: those of all its requests, but no more than the service's ceiling. in_flight_per_replica: of the class of
    which it carries least. tenants: in the order of the envelope's allotments.
    """

    service: str
    replicas: int
    in_flight_per_replica: Fraction
    tenants: tuple[Tenant, ...]
    envelope: Envelope


def shared(plans: Sequence[Plan]) -> tuple[Shared, ...]:
    """Every service that several plans are for, at the end of their ranges that needs the most.

    A request's quota and share are what it says, else what its own replicas carry: what it was sized for.
    """
    return tuple(_shared(name, asking) for name, asking in _together(plans).items())


def findings(plans: Sequence[Plan]) -> Iterator[str]:
    """Where what requests say of their isolation does not hold beside the others."""
    for plan in plans:
        quota, peak = plan.workload.reliability.quota_in_flight, _peak(plan)
        if quota is not None and quota < peak:
            refused = decimal_text(round(peak - Fraction(quota), 2))
            yield (
                f"{plan.name}: reliability.quota_in_flight is {decimal_text(quota)}, below its own projected peak of "
                f"{decimal_text(round(peak, 2))}: {refused} of it are refused"
            )
    for service, asking in _together(plans).items():
        promised = {one.tenant: one for one in _shared(service, asking).envelope.allotments}
        for plan in asking:
            isolation, one = plan.workload.reliability.isolation, promised[plan.name]
            others = " and ".join(other.name for other in asking if other is not plan)
            short = _peak(plan) - one.over_quota - one.guaranteed
            if isolation == "dedicated":
                yield f"{plan.name}: reliability.isolation is dedicated, but {others} ask for {service}, too"
            elif isolation == "reserved" and short > 0:
                yield (
                    f"{plan.name}: reliability.isolation is reserved, but with {others} at their quotas "
                    f"{decimal_text(round(short, 2))} of its peak in flight are not admitted: raise its priority or "
                    f"replicas.max of {service}, or lower their quota_in_flight"
                )


def _together(plans: Sequence[Plan]) -> dict[str, list[Plan]]:
    """Services that several plans are for."""
    by_service: dict[str, list[Plan]] = {}
    for plan in plans:
        by_service.setdefault(plan.workload.service, []).append(plan)
    return {name: asking for name, asking in by_service.items() if len(asking) > 1}


def _shared(name: str, plans: Sequence[Plan]) -> Shared:
    service = plans[0].service
    measured = [
        one.load["in_flight"] for plan in plans for one in plan.most.carries.values() if "in_flight" in one.load
    ]
    each = min(measured, default=Fraction(service.capacity.in_flight_per_replica))
    replicas = min(sum(plan.most.reserve.running for plan in plans), service.replicas.max)
    shares = any(plan.workload.reliability.share is not None for plan in plans)
    tenants = tuple(_tenant(plan, plan.most.reserve.running * each, shares=shares) for plan in plans)
    return Shared(name, replicas, each, tenants, divided(replicas * each, tenants))


def _tenant(plan: Plan, sized_for: Fraction, *, shares: bool) -> Tenant:
    """Where one request says its share, the others count 1: what they are sized for is of another unit."""
    said = plan.workload.reliability
    by_share = said.share is not None and said.quota_in_flight is None
    quota = None if by_share else said.quota_in_flight or sized_for
    share = (said.share or 1) if shares else sized_for
    priority = PRIORITY[plan.workload.product.execution or "interactive"] if said.priority is None else said.priority
    return Tenant(plan.name, _peak(plan), quota, share, priority)


def _peak(plan: Plan) -> Fraction:
    return sum((offered.load.get("in_flight", Fraction(0)) for offered in plan.most.offered.values()), Fraction(0))
