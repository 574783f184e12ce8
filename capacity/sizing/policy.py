"""The reserve as a request asks for it: plain headroom, or sets of what is to be survived."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from capacity.sizing import reserve as reserves
from capacity.sizing.assumptions import of_the_reserve
from capacity.sizing.reserve import Policy, Reserve
from stacks.spec import NodePool, Service
from stacks.workloads import Reliability


def reserve(
    load: Fraction, growth: Fraction, said: Reliability, service: Service, pool: NodePool, *, peak: Fraction
) -> Reserve:
    """On `load`, in replicas.

    Args:
        growth: replicas of load that may come while one starts, up to `peak`.
    """
    surge = said.rollout.surge if said.rollout else str(service.rollout.surge)
    if said.headroom_pct is not None:
        return reserves.headroom(load, Fraction(said.headroom_pct), surge)
    return reserves.sets(load, replace(policy(said, service, pool), cold_start_growth=growth, peak=peak))


def policy(said: Reliability, service: Service, pool: NodePool) -> Policy:
    """What is to be survived, with the service's own rollout where the request says none.

    What sets need is there (`assumptions.of_the_reserve`); beyond that nothing is unsaid that has a part in them.

    Raises:
        ValueError: it is not.
    """
    if said.survive is not None and any(of_the_reserve(said, "reliability")):
        raise ValueError("the reserve is not complete: capacity.sizing.assumptions.of_the_reserve comes first")
    rollout = said.rollout
    on_a_node = max(pool.gpus(kind) for kind in pool.instance_types) // service.gpus_per_replica
    return Policy(
        survive=said.survive or "none",
        zones=said.zones or 2,
        replicas_per_node=max(on_a_node, 1),
        capacity_after_loss_pct=Fraction(said.capacity_after_loss_pct or 100),
        surge=rollout.surge if rollout else str(service.rollout.surge),
        unavailable=rollout.unavailable if rollout else str(service.rollout.unavailable),
        near_term_growth_pct=Fraction(said.near_term_growth_pct or 0),
        one_at_a_time=frozenset(said.one_at_a_time),
    )
