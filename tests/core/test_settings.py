from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from capacity.replicas import HPA_TOLERANCE, in_flight
from capacity.request import Request
from capacity.sizing.plan import Plan, plan
from capacity.sizing.settings import Flags, Setting, settings
from stacks.loader import load_platform
from stacks.spec import UsualLoad
from stacks.workloads import Workload
from tests.core.stack_files import LOCAL

PLATFORM = load_platform("local", LOCAL.parent)
SERVICE = PLATFORM.services["support-bot"]
POOL = PLATFORM.node_pools[SERVICE.node_pool]
FLAGS = Flags("max-num-queued-reqs", "max-num-queued-tokens")

TARGETS = st.decimals(1, 500, places=1)
RPS = st.decimals("0.1", 500, places=1)
DURATIONS_S = st.decimals("0.1", 300, places=1)
LIMITS_MS = st.decimals(1, 20_000, places=0)


def planned(target: Decimal, rps: Decimal, duration_s: Decimal, limit_ms: Decimal) -> Plan:
    capacity = SERVICE.capacity.model_copy(update={"in_flight_per_replica": target})
    load = {"rps": rps, "request_duration_s": duration_s, "growth_pct": 0, "exact_cache_hit_pct": 0}
    workload = Workload.model_validate(
        {
            "service": "support-bot",
            "profile": {"classes": {"chat": load}},
            "slo": {"queue_p95_ms": limit_ms},
            "reliability": {"headroom_pct": 30},
        }
    )
    return plan(Request("bot", workload, SERVICE.model_copy(update={"capacity": capacity}), POOL))


@given(TARGETS, st.tuples(RPS, DURATIONS_S), st.tuples(RPS, DURATIONS_S), st.integers(0, 40))
def test_the_baseline_is_never_above_the_ceiling(
    target: Decimal, peak: tuple[Decimal, Decimal], usual: tuple[Decimal, Decimal], most: int
) -> None:
    one = planned(target, *peak, Decimal(600))
    load = UsualLoad(rps=usual[0], request_duration_s=usual[1])
    replicas = SERVICE.replicas.model_copy(update={"min": min(most, 2), "max": max(most, 1)})
    one = replace(one, service=one.service.model_copy(update={"usual_load": load, "replicas": replicas}))
    found = by_name(settings([one], POOL, FLAGS))
    assert found["baseline"] <= found["ceiling"]
    if in_flight(*usual) > in_flight(*peak):
        assert found["baseline"] == replicas.min


def by_name(found: tuple[Setting, ...]) -> dict[str, int]:
    return {one.name: int(one.value) for one in found[1:]}


@given(TARGETS, RPS, DURATIONS_S, LIMITS_MS)
def test_bounds_leave_room_for_the_autoscaler_and_none_for_a_late_answer(
    target: Decimal, rps: Decimal, duration_s: Decimal, limit_ms: Decimal
) -> None:
    found = by_name(settings([planned(target, rps, duration_s, limit_ms)], POOL, FLAGS))
    slots, limit = found["sequences at once"], found["in flight at one replica at most"]
    assert slots > target
    assert limit >= slots
    assert limit > Fraction(target) * HPA_TOLERANCE
    last_waits_s = (limit - slots) * Fraction(duration_s) / slots
    least = math.floor(Fraction(target) * HPA_TOLERANCE) + 1
    assert last_waits_s * 1000 <= limit_ms or limit == least
    assert (limit + 1 - slots) * Fraction(duration_s) / slots * 1000 > limit_ms
    assert found["gateway's cap, in flight"] == limit * found["ceiling"]


@given(TARGETS, RPS, DURATIONS_S)
def test_neither_baseline_nor_ceiling_is_lowered(target: Decimal, rps: Decimal, duration_s: Decimal) -> None:
    one = planned(target, rps, duration_s, Decimal(600))
    found = by_name(settings([one], POOL, FLAGS))
    assert found["baseline"] >= SERVICE.replicas.min
    assert found["ceiling"] >= max(SERVICE.replicas.max, one.most.reserve.running)


def test_requests_to_one_service_add_up() -> None:
    one = planned(Decimal(40), Decimal(60), Decimal("7.8"), Decimal(600))
    assert one.most.reserve.running == 16
    assert by_name(settings([one, one], POOL, FLAGS))["ceiling"] == 32
