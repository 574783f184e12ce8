"""Requests that name the same service share its replicas: each one's quota, and what it gets when all come at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from capacity.sizing.envelope import Envelope, Tenant, divided
from capacity.sizing.plan import Plan

PRIORITY = {"interactive": 2, "agentic": 2, "asynchronous": 1, "batch": 0}
"""By `product.execution`: somebody waits, somebody will look, nobody waits. Not said, it is taken for interactive."""


@dataclass(frozen=True)
class Shared:
    """One service's envelope in requests in flight: `replicas`, of which each carries `in_flight_per_replica`.

    replicas: those of all its requests, but no more than the service's ceiling. in_flight_per_replica: of the class of
    which it carries least.
    """

    service: str
    replicas: int
    in_flight_per_replica: Fraction
    envelope: Envelope


def shared(plans: Sequence[Plan]) -> tuple[Shared, ...]:
    """Every service that several plans are for, at the end of their ranges that needs the most.

    A request's quota and share are what its own replicas carry: what it was sized for.
    """
    by_service: dict[str, list[Plan]] = {}
    for plan in plans:
        by_service.setdefault(plan.workload.service, []).append(plan)
    return tuple(_shared(name, asking) for name, asking in by_service.items() if len(asking) > 1)


def _shared(name: str, plans: Sequence[Plan]) -> Shared:
    service = plans[0].service
    measured = [one.load["in_flight"] for plan in plans for one in plan.carries.values() if "in_flight" in one.load]
    each = min(measured, default=Fraction(service.capacity.in_flight_per_replica))
    replicas = min(sum(plan.most.reserve.running for plan in plans), service.replicas.max)
    tenants = [_tenant(plan, plan.most.reserve.running * each) for plan in plans]
    return Shared(name, replicas, each, divided(replicas * each, tenants))


def _tenant(plan: Plan, quota: Fraction) -> Tenant:
    peak = sum((offered.load.get("in_flight", Fraction(0)) for offered in plan.most.offered.values()), Fraction(0))
    return Tenant(plan.name, peak, quota, quota, PRIORITY[plan.workload.product.execution or "interactive"])
