"""Whole replicas on whole nodes: counts, zones, what remains after a loss, quotas, addresses, the choice of a type."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capacity.purchase.addresses import addresses_per_node, enis, mask_for, subnet
from capacity.purchase.choice import choose
from capacity.purchase.placement import (
    NodeKind,
    Replicas,
    misfit,
    place,
    quota_needs,
)
from capacity.sizing.reserve import Policy, lost
from capacity.spread import over_zones
from stacks.instance_types import INSTANCE_TYPES

ONE = NodeKind("g6e.2xlarge", 1, 8)
FOUR = NodeKind("g6e.12xlarge", 4, 48)
EIGHT = NodeKind("p5.48xlarge", 8, 192)

COUNTS = st.integers(0, 60)
SIZES = st.sampled_from([1, 2, 4, 8])
SERVICES = st.lists(st.tuples(COUNTS, SIZES), min_size=1, max_size=4).map(
    lambda rows: [Replicas(f"service-{row}", count, gpus) for row, (count, gpus) in enumerate(rows)]
)
ZONES = st.integers(1, 4)


def test_seven_over_three_zones_of_which_one_may_be_lost() -> None:
    placed = place([Replicas("support-bot", 11, 1)], ONE, 3)
    assert placed.by_zone("support-bot") == (4, 4, 3)
    assert placed.nodes_by_zone == (4, 4, 3)
    assert placed.after_a_zone("support-bot") == 7
    assert place([Replicas("support-bot", 10, 1)], ONE, 3).after_a_zone("support-bot") == 6


def test_what_must_be_kept_to_and_what_is_a_wish() -> None:
    assert over_zones(3).manifest() == {
        "maxSkew": 1,
        "minDomains": 3,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "matchLabelKeys": ["pod-template-hash"],
        "nodeTaintsPolicy": "Honor",
    }
    wish = over_zones(None).manifest()
    assert wish["whenUnsatisfiable"] == "ScheduleAnyway"
    assert "minDomains" not in wish  # the API server refuses it beside a wish


@given(st.integers(1, 500), st.integers(2, 6))
def test_a_reserve_reckons_to_lose_what_the_fullest_zone_holds(count: int, zones: int) -> None:
    gone = lost(count, Policy(survive="zone", zones=zones))
    assert place([Replicas("bot", count, 1)], ONE, zones).after_a_zone("bot") == count - gone


def test_replicas_of_several_gpus_share_nodes() -> None:
    placed = place([Replicas("small", 3, 1), Replicas("large", 3, 4)], EIGHT)
    assert (placed.nodes, placed.gpus, placed.left_over_gpus, placed.vcpus) == (2, 16, 1, 384)
    assert [dict(group.replicas) for group in placed.groups] == [{"large": 2}, {"large": 1, "small": 3}]
    assert placed.after_a_node("large") == 1
    assert placed.after_a_node("small") == 0


def test_any_number_of_replicas_is_reckoned_and_not_counted_up_to() -> None:
    placed = place([Replicas("small", 10**12 + 1, 1), Replicas("large", 10**12, 4)], EIGHT, 3)
    assert sum(placed.by_zone("small")) == 10**12 + 1
    assert placed.gpus - placed.left_over_gpus == 5 * 10**12 + 1
    assert len(placed.groups) <= 3 * 6  # of a zone: for each service what is begun, what is full, what is left


def test_zones_do_not_share_nodes() -> None:
    placed = place([Replicas("bot", 3, 1)], FOUR, 3)
    assert (placed.nodes, placed.left_over_gpus) == (3, 9)


def test_the_odd_replicas_of_two_services_are_in_different_zones() -> None:
    placed = place([Replicas("a", 4, 1), Replicas("b", 4, 1)], ONE, 3)
    assert (placed.by_zone("a"), placed.by_zone("b")) == ((2, 1, 1), (1, 2, 1))


@pytest.mark.parametrize(
    ("gpus", "reason"),
    [
        (8, "a replica of bot needs 8 GPUs, g6e.12xlarge has 4"),
        (3, "replicas of bot (3 GPUs) leave 1 of g6e.12xlarge's over"),
    ],
)
def test_only_whole_replicas(gpus: int, reason: str) -> None:
    replicas = [Replicas("bot", 1, gpus)]
    assert misfit(replicas, FOUR) == reason
    with pytest.raises(ValueError, match="bot"):
        place(replicas, FOUR)


@given(SERVICES, ZONES)
def test_everything_is_placed_on_as_few_nodes_as_there_can_be(services: list[Replicas], zones: int) -> None:
    placed = place(services, EIGHT, zones)
    for one in services:
        counts = placed.by_zone(one.service)
        assert sum(counts) == one.count
        assert max(counts) - min(counts) <= 1
    assert placed.gpus - placed.left_over_gpus == sum(one.gpus for one in services)
    assert all(0 <= group.free_gpus < EIGHT.gpus for group in placed.groups)
    for zone, nodes in enumerate(placed.nodes_by_zone):
        inside = sum(placed.by_zone(one.service)[zone] * one.gpus_each for one in services)
        assert nodes == math.ceil(Fraction(inside, EIGHT.gpus))


@given(SERVICES, ZONES)
def test_what_remains_after_a_loss_is_what_the_worst_loss_leaves(services: list[Replicas], zones: int) -> None:
    placed = place(services, EIGHT, zones)
    for one in services:
        zone_losses = placed.by_zone(one.service)
        node_losses = [group.replicas.get(one.service, 0) for group in placed.groups]
        assert all(one.count - lost >= placed.after_a_zone(one.service) for lost in zone_losses)
        assert all(one.count - lost >= placed.after_a_node(one.service) for lost in node_losses)


@given(SERVICES, ZONES)
def test_one_more_replica_never_needs_fewer_nodes(services: list[Replicas], zones: int) -> None:
    # The last service: the zones of the others stay where they are.
    *rest, last = services
    more = Replicas(last.service, last.count + 1, last.gpus_each)
    assert place([*rest, more], EIGHT, zones).nodes >= place(services, EIGHT, zones).nodes


def test_quotas_add_up_by_code_not_by_family() -> None:
    l40s, t4 = place([Replicas("a", 5, 1)], FOUR), place([Replicas("b", 2, 1)], NodeKind("g4dn.xlarge", 1, 4))
    h100 = place([Replicas("c", 1, 8)], EIGHT)
    needs = quota_needs([l40s, h100, t4])
    assert [(need.quota and need.quota.code, need.families, need.vcpus) for need in needs] == [
        ("L-DB2E81BA", ("g4dn", "g6e"), 2 * 48 + 2 * 4),
        ("L-417A185B", ("p5",), 192),
    ]
    (block,) = quota_needs([h100], "capacity_block")
    assert block.quota
    assert block.quota.code == "L-DA6814F2"


def test_what_is_not_known_of_a_quota_stays_unknown() -> None:
    own = place([Replicas("a", 2, 1)], NodeKind("g99.huge", 2))
    known = place([Replicas("b", 1, 1)], ONE)
    (need,) = quota_needs([known, own])
    assert (need.vcpus, need.families) == (None, ("g6e", "g99"))
    (need,) = quota_needs([place([Replicas("a", 1, 1)], NodeKind("trn2.48xlarge", 16, 192))])
    assert (need.quota, need.vcpus) == (None, 192)


# instance type: (most interfaces, addresses on each); pods; interfaces; secondary addresses. As the CNI's own document
# has them for WARM_ENI_TARGET=1: aws/amazon-vpc-cni-k8s docs/eni-and-ip-target.md (Apache-2.0).
@pytest.mark.parametrize(
    ("kind", "pods", "attached", "secondary"),
    [
        ((3, 4), 0, 1, 3),
        ((3, 4), 5, 3, 9),
        ((3, 4), 9, 3, 9),
        ((15, 50), 0, 1, 49),
        ((15, 50), 3, 2, 98),
        ((15, 50), 95, 3, 147),
    ],
)
def test_interfaces_as_the_cni_documents_them(kind: tuple[int, int], pods: int, attached: int, secondary: int) -> None:
    most, each = kind
    assert enis(pods, most, each) == attached
    assert addresses_per_node(pods, most, each) == secondary + attached


def test_the_subnet_that_is_large_enough() -> None:
    l40s = INSTANCE_TYPES["g6e.2xlarge"]
    found = subnet(4, 1, l40s.enis, l40s.ipv4_per_eni, daemonset_pods=6)
    assert (found.addresses_per_node, found.addresses, found.mask) == (30, 120, 25)  # 123 are there for use
    assert subnet(5, 1, l40s.enis, l40s.ipv4_per_eni, daemonset_pods=6).mask == 24


@pytest.mark.parametrize(
    ("addresses", "mask"), [(0, 28), (11, 28), (12, 27), (123, 25), (124, 24), (65531, 16), (65532, None)]
)
def test_five_addresses_of_a_subnet_are_not_for_use(addresses: int, mask: int | None) -> None:
    assert mask_for(addresses) == mask


def test_more_pods_than_addresses() -> None:
    with pytest.raises(ValueError, match="10 pods"):
        addresses_per_node(10, 3, 4)


@given(st.integers(0, 300), st.integers(1, 15), st.integers(2, 50))
def test_addresses_hold_every_pod_and_grow_with_them(pods: int, most: int, each: int) -> None:
    pods = min(pods, most * (each - 1))
    taken = addresses_per_node(pods, most, each)
    assert pods + enis(pods, most, each) <= taken <= most * each
    if pods:
        assert addresses_per_node(pods - 1, most, each) <= taken


REPLICAS = [Replicas("bot", 11, 1)]


def test_the_cheapest_is_of_whole_nodes_and_not_of_gpus() -> None:
    prices = {ONE.instance_type: Decimal("2.24208"), FOUR.instance_type: Decimal("8.00")}
    choice = choose(REPLICAS, [ONE, FOUR], prices, 3)
    assert choice.chosen
    # A GPU costs less on the larger, but 3 zones of 4, 4 and 3 leave one over.
    assert choice.chosen.instance_type == "g6e.12xlarge"
    assert choice.chosen.usd_per_h == 24
    assert choice.why == "g6e.12xlarge is the cheapest of 2 that fit at a known price"
    assert (
        choose([Replicas("bot", 5, 1)], [ONE, FOUR], prices).chosen
        == choose([Replicas("bot", 5, 1)], [ONE], prices).chosen
    )


def test_an_unknown_price_is_said_and_never_the_cheapest() -> None:
    choice = choose(REPLICAS, [FOUR, ONE], {ONE.instance_type: Decimal("2.24208")}, 3)
    assert choice.chosen
    assert choice.chosen.instance_type == "g6e.2xlarge"
    assert choice.unpriced == ("g6e.12xlarge",)
    assert choice.why.endswith("; of g6e.12xlarge the price is unknown")


def test_without_any_price_the_fewest_gpus_left_over() -> None:
    choice = choose(REPLICAS, [FOUR, ONE], {}, 3)
    assert choice.chosen
    assert (choice.chosen.instance_type, choice.chosen.usd_per_h) == ("g6e.2xlarge", None)
    assert choice.why == "no price is known; g6e.2xlarge leaves the fewest GPUs over"


def test_what_does_not_fit_is_named() -> None:
    choice = choose([Replicas("bot", 1, 4)], [ONE, FOUR], {}, 1)
    assert dict(choice.refused) == {"g6e.2xlarge": "a replica of bot needs 4 GPUs, g6e.2xlarge has 1"}
    assert choice.why == "g6e.12xlarge is the only type of the pool that fits"
    nothing = choose([Replicas("bot", 1, 4)], [ONE], {})
    assert (nothing.chosen, nothing.why) == (None, "a replica of bot needs 4 GPUs, g6e.2xlarge has 1")


def test_a_type_of_which_there_may_not_be_as_many_nodes_is_out_while_another_does() -> None:
    bot, prices = [Replicas("bot", 8, 1)], {ONE.instance_type: Decimal(2), FOUR.instance_type: Decimal(9)}
    at_most = [Replicas("bot", 9, 1)]
    choice = choose(bot, [ONE, FOUR], prices, at_most=at_most, max_nodes=8)
    assert choice.chosen
    assert choice.chosen.instance_type == FOUR.instance_type
    assert choice.refused == {ONE.instance_type: "9 nodes of it, rollouts included, and max_nodes is 8"}
    assert choose(bot, [ONE, FOUR], prices, at_most=at_most, max_nodes=9).chosen != choice.chosen
    neither = choose(bot, [ONE, FOUR], prices, at_most=at_most, max_nodes=2)
    assert neither.chosen
    assert (neither.chosen.instance_type, neither.refused) == (ONE.instance_type, {})


@given(
    SERVICES,
    ZONES,
    st.lists(st.one_of(st.none(), st.decimals("0.01", 200, places=5)), min_size=3, max_size=3),
)
def test_no_candidate_of_known_price_is_cheaper(
    services: list[Replicas], zones: int, usd: list[Decimal | None]
) -> None:
    kinds = [ONE, FOUR, EIGHT]
    choice = choose(services, kinds, dict(zip([kind.instance_type for kind in kinds], usd, strict=True)), zones)
    assert choice.chosen
    known = [one.usd_per_h for one in choice.candidates if one.usd_per_h is not None]
    assert choice.chosen.usd_per_h == (min(known) if known else None)
    assert {one.instance_type for one in choice.candidates} | set(choice.refused) == {
        kind.instance_type for kind in kinds
    }
