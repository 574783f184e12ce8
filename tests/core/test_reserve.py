from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from capacity.replicas import whole
from capacity.sizing.reserve import RESERVES, Policy, headroom, lost, sets, slots

LOADS = st.fractions(0, 500, max_denominator=1000)
POLICIES = st.builds(
    Policy,
    survive=st.sampled_from(["none", "pod", "node", "zone"]),
    zones=st.integers(2, 6),
    replicas_per_node=st.integers(1, 8),
    capacity_after_loss_pct=st.fractions(1, 100, max_denominator=10),
    surge=st.sampled_from(["0", "1", "3", "25%", "100%"]),
    unavailable=st.sampled_from(["0", "1", "10%", "25%"]),
    cold_start_growth=st.fractions(0, 20, max_denominator=10),
    near_term_growth_pct=st.fractions(0, 100, max_denominator=10),
    one_at_a_time=st.frozensets(st.sampled_from(RESERVES)),
)


def parts(load: Any, policy: Policy) -> dict[str, int]:
    return {part.name: part.replicas for part in sets(Fraction(load), policy).parts if not part.covered}


def test_a_base_of_seven_over_three_zones_that_survives_one() -> None:
    reserve = sets(Fraction("6.5"), Policy(survive="zone", zones=3))
    assert (reserve.base, reserve.running) == (7, 11)
    why = next(part.why for part in reserve.parts if part.name == "failure")
    assert "holds 4 of 11" in why
    assert "maxSkew 1 and minDomains 3 over topology.kubernetes.io/zone" in why


@pytest.mark.parametrize(
    ("load", "policy", "running"),
    [
        (7, Policy(survive="none"), 7),
        (7, Policy(survive="pod"), 8),
        (7, Policy(survive="node", replicas_per_node=4), 11),
        (7, Policy(survive="zone", zones=2), 14),
        (3, Policy(survive="zone", zones=6), 4),
        # Half of the peak after the loss: no more than the peak itself needs.
        (8, Policy(survive="zone", zones=2, capacity_after_loss_pct=Fraction(50)), 8),
        (7, Policy(unavailable="1"), 8),
        (7, Policy(unavailable="25%"), 9),  # 25 % of 9 is 2, rounded down
        (7, Policy(near_term_growth_pct=Fraction(10)), 8),
        (7, Policy(cold_start_growth=Fraction("1.2")), 9),
    ],
)
def test_each_set_by_itself(load: int, policy: Policy, running: int) -> None:
    assert sets(Fraction(load), policy).running == running


def test_all_at_once_unless_said_otherwise() -> None:
    policy = Policy(survive="node", replicas_per_node=4, unavailable="1", near_term_growth_pct=Fraction(20))
    assert parts(10, policy) == {"base": 10, "near_term_growth": 2, "cold_start": 0, "rollout": 1, "failure": 4}
    one = replace(policy, one_at_a_time=frozenset({"failure", "rollout"}))
    assert parts(10, one) == {"base": 10, "near_term_growth": 2, "cold_start": 0, "failure": 4}
    covered = [part for part in sets(Fraction(10), one).parts if part.covered]
    assert [(part.name, part.replicas) for part in covered] == [("rollout", 1)]


def test_a_zone_takes_its_share_of_the_other_reserves_too() -> None:
    policy = Policy(survive="zone", zones=3, near_term_growth_pct=Fraction(20))
    assert parts(10, policy) == {"base": 10, "near_term_growth": 2, "cold_start": 0, "rollout": 0, "failure": 6}


@pytest.mark.parametrize(
    ("text", "replicas", "up", "down"), [("2", 9, 2, 2), ("25%", 9, 3, 2), ("25%", 1, 1, 0), ("0%", 7, 0, 0)]
)
def test_percent_of_a_rollout_is_rounded_as_kubernetes_rounds(text: str, replicas: int, up: int, down: int) -> None:
    assert slots(text, replicas, up=True) == up
    assert slots(text, replicas, up=False) == down


def test_what_is_large_takes_no_longer() -> None:
    """Each number is reckoned, not counted up to."""
    policy = Policy(survive="pod", capacity_after_loss_pct=Fraction(1), near_term_growth_pct=Fraction(1000))
    assert sets(Fraction(10**18), policy).running == 11 * 10**18
    assert sets(Fraction(10**18), replace(policy, unavailable="50%")).running == 22 * 10**18 - 1


def test_headroom_is_rounded_once() -> None:
    reserve = headroom(Fraction("5.2065"), Fraction(30), "25%")
    assert [(part.name, part.replicas) for part in reserve.parts] == [("base", 6), ("headroom", 1)]
    assert (reserve.running, reserve.surge) == (7, 2)


def test_a_loss_of_everything_is_no_policy() -> None:
    assert not Policy(survive="zone", zones=2, unavailable="50%").is_possible
    assert Policy(
        survive="zone", zones=2, unavailable="50%", one_at_a_time=frozenset({"failure", "rollout"})
    ).is_possible
    with pytest.raises(ValueError, match="takes every replica"):
        sets(Fraction(1), Policy(unavailable="100%"))


@given(LOADS, POLICIES)
def test_never_below_need_after_any_single_loss(load: Fraction, policy: Policy) -> None:
    assume(policy.is_possible)
    running = sets(load, policy).running
    assert running - lost(running, policy) >= load * policy.capacity_after_loss_pct / 100
    assert running - slots(policy.unavailable, running, up=False) >= load
    assert running >= load * (1 + policy.near_term_growth_pct / 100)
    assert running >= load + policy.cold_start_growth
    if not policy.one_at_a_time:
        grown = load * (1 + policy.near_term_growth_pct / 100) + policy.cold_start_growth
        left = running - slots(policy.unavailable, running, up=False) - lost(running, policy)
        assert left >= grown * policy.capacity_after_loss_pct / 100


def test_a_rise_leads_to_the_peak_and_not_beyond_it() -> None:
    rises = Policy(cold_start_growth=Fraction(14), peak=Fraction(7))
    assert [sets(Fraction(load), rises).running for load in (7, 5, 1, 0)] == [7, 7, 7, 7]
    slow = replace(rises, cold_start_growth=Fraction(3))
    assert [sets(Fraction(load), slow).running for load in (7, 5, 1, 0)] == [7, 7, 4, 3]
    assert sets(Fraction(7), replace(rises, near_term_growth_pct=Fraction(100))).running == 14, "beyond the projection"


@given(st.tuples(LOADS, LOADS), POLICIES)
def test_a_lower_load_never_runs_more_for_what_may_come(loads: tuple[Fraction, Fraction], policy: Policy) -> None:
    assume(policy.is_possible)
    usual, peak = sorted(loads)
    bounded = replace(policy, peak=peak)
    assert sets(usual, bounded).running <= sets(peak, bounded).running
    assert sets(usual, bounded).running >= min(usual + policy.cold_start_growth, peak)


@given(LOADS, POLICIES)
def test_the_parts_are_what_runs_and_one_less_would_not_do(load: Fraction, policy: Policy) -> None:
    assume(policy.is_possible)
    reserve = sets(load, policy)
    assert sum(part.replicas for part in reserve.parts if not part.covered) == reserve.running
    assert reserve.base == whole(load)
    simple = Policy(survive=policy.survive, zones=policy.zones, replicas_per_node=policy.replicas_per_node)
    running = sets(load, simple).running
    fewer = running - 1
    assert running == whole(load) or fewer - lost(fewer, simple) < load


@given(st.tuples(LOADS, LOADS), POLICIES)
def test_monotone_in_load(loads: tuple[Fraction, Fraction], policy: Policy) -> None:
    assume(policy.is_possible)
    small, large = sorted(loads)
    assert sets(small, policy).running <= sets(large, policy).running


@given(LOADS, POLICIES)
def test_expecting_less_at_once_never_needs_more(load: Fraction, policy: Policy) -> None:
    assume(policy.is_possible and replace(policy, one_at_a_time=frozenset()).is_possible)
    assert sets(load, policy).running <= sets(load, replace(policy, one_at_a_time=frozenset())).running
