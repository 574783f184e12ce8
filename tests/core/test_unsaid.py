"""Whatever a request leaves out is an assumption of its plan, or moves no number of it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capacity.request import Request
from capacity.sizing.assumptions import of_the_reserve
from capacity.sizing.plan import Plan, plan
from capacity.sizing.policy import policy
from capacity.sizing.usual import usual
from stacks.loader import load_platform
from stacks.workload_class import WAYS, WorkloadClass
from stacks.workloads import Reliability, Workload
from tests.core.stack_files import LOCAL

PLATFORM = load_platform("local", LOCAL.parent)
SERVICE = PLATFORM.services["support-bot"].model_copy(update={"usual_load": None})
POOL = PLATFORM.node_pools[SERVICE.node_pool]

OF_A_CLASS: dict[str, tuple[Any, ...]] = {
    "active_pct": (4, 60),
    "runs_per_user_hour": (2, 30),
    "llm_calls_per_run": (1, 7),
    "retries_pct": (0, 40),
    "peak_to_average": (1, 4),
    "average_pct": (5, 100),
    "tokens_per_s_per_stream": (3, 80),
    "request_duration_s": (Decimal("0.5"), 90),
    "input_tokens": ({"mean": 50}, {"mean": 60_000}),
    "output_tokens": ({"mean": 5}, {"mean": 9000}),
    "context_tokens": ({"mean": 50}, {"p95": 60_000}),
    "exact_cache_hit_pct": (0, 50),
    "prefix_cache_hit_pct": (0, 50),
    "growth_pct": (-20, 300),
    "largest_minute_jump_pct": (0, 100),
    "burst_duration_s": (5, 6000),
    "cancellations_pct": (0, 50),
}
OF_THE_RESERVE: dict[str, tuple[Any, ...]] = {
    "isolation": ("shared", "dedicated"),
    "quota_in_flight": (1, 9000),
    "share": (1, 9),
    "priority": (0, 9),
    "availability_pct": (50, 99),
    "zones": (2, 6),
    "capacity_after_loss_pct": (30, 100),
    "near_term_growth_pct": (0, 80),
    "max_recovery_s": (1, 9000),
    "degradation": (["shorter answers"],),
}
CHOICES = {"headroom_pct", "survive", "one_at_a_time", "rollout", "per_replica"}
"""What kind of reserve, and of number: unsaid, the report names what stands in their place (headroom's range, that no
reserves overlap, the service's own rollout and capacity)."""

TYPED = {"evidence": "benchmarks/support-8b-l40s.md", "kind": "illustrative"}
OWN = st.sampled_from(
    [
        None,
        {"in_flight": 30},
        {"rps": 2},
        {"output_tokens_per_s": 900},
        {"in_flight": 30, "prefill_tokens_per_s": 4000},
        {"rps": 2, "prefill_tokens_per_s": 4000, "output_tokens_per_s": 900},
    ]
)
RESERVES = st.sampled_from([{}, {"headroom_pct": 30}, *({"survive": name} for name in ("none", "pod", "node", "zone"))])


def said(fields: dict[str, tuple[Any, ...]]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of them, each with one of its values."""
    return st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in fields.items()})


def planned(load: dict[str, Any], reliability: dict[str, Any]) -> Plan | None:
    """None where the request is none, or no number of replicas fulfils it."""
    work = {"service": "support-bot", "profile": {"classes": {"chat": load}}, "reliability": reliability}
    try:
        return plan(Request("bot", Workload.model_validate(work), SERVICE, POOL))
    except ValueError:
        return None


def numbers(found: Plan) -> tuple[Any, ...]:
    """Load, replicas and baseline, at both ends."""
    runs = usual([found], POOL, Fraction(40))
    average = found.workload.profile.classes["chat"].peak_to_average is not None
    ends = [(end.peak, end.growth if end.reliability.survive else 0, end.reserve) for end in (found.fewest, found.most)]
    return (*ends, runs and runs.running if average else None)


def changed(load: dict[str, Any], reliability: dict[str, Any]) -> Iterator[tuple[str, Plan]]:
    """The request with one more field said, by its place."""
    for name, values in OF_A_CLASS.items():
        place = f"profile.classes.chat.{name}"
        yield from (
            (place, one) for value in values if name not in load and (one := planned(load | {name: value}, reliability))
        )
    for name, values in OF_THE_RESERVE.items():
        more = [reliability | {name: value} for value in values if name not in reliability]
        yield from ((f"reliability.{name}", one) for each in more if (one := planned(load, each)))


def test_every_field_is_tried_or_a_choice() -> None:
    assert WorkloadClass.model_fields.keys() - WAYS.keys() - OF_A_CLASS.keys() == {"per_replica"}
    assert Reliability.model_fields.keys() - OF_THE_RESERVE.keys() == CHOICES - {"per_replica"}


@given(st.sampled_from(sorted(WAYS)), OWN, RESERVES, said(OF_A_CLASS), said(OF_THE_RESERVE))
def test_what_is_unsaid_is_assumed_or_moves_nothing(
    way: str, own: dict[str, int] | None, reserve: dict[str, Any], load: dict[str, Any], reliability: dict[str, Any]
) -> None:
    load = {name: value for name, value in load.items() if name in WAYS[way] or name not in sum(WAYS.values(), ())}
    load |= {way: 300} | ({"per_replica": own | TYPED} if own else {})
    if "survive" not in reserve:
        for name in ("zones", "capacity_after_loss_pct", "near_term_growth_pct"):
            reliability.pop(name, None)
    found = planned(load, reliability | reserve)
    assert found
    assumed = {one.field.removesuffix(".mean") for one in found.assumptions}
    for place, other in changed(load, reliability | reserve):
        if place not in assumed:
            assert numbers(other) == numbers(found), f"{place} is not said, not assumed, and moves a number"


@pytest.mark.parametrize("survive", ["none", "pod", "node", "zone"])
def test_no_reserve_is_reckoned_of_one_that_is_not_complete(survive: Any) -> None:
    asked = Reliability(survive=survive)
    with pytest.raises(ValueError, match="the reserve is not complete"):
        policy(asked, SERVICE, POOL)
    filled = {one.field.removeprefix("x."): one.most for one in of_the_reserve(asked, "x")}
    assert policy(asked.model_copy(update=filled), SERVICE, POOL).near_term_growth_pct == 20
