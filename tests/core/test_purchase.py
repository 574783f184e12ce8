"""A pool's purchase: one type, enough for the peak and every rollout, and money that adds up at both ends."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from capacity.purchase.money import total
from capacity.purchase.pool import Bought, Held, kinds_of, purchase
from capacity.spread import over_zones
from stacks.loader import load_platform
from stacks.prices import Price, PriceTable, Term, load_prices
from stacks.spec import NodePool, Service

ROOT = Path(__file__).parents[2] / "stacks"
SERVICE = load_platform("local", ROOT).services["support-bot"]
POOL = NodePool(instance_types=["g6e.2xlarge"], max_nodes=18)
PUBLIC = load_prices(ROOT / "local", "us-east-1")


def service(gpus: int = 1, owner: str = "support-platform") -> Service:
    return SERVICE.model_copy(update={"gpus_per_replica": gpus, "owner": owner})


def table(**usd_per_h: str) -> PriceTable:
    """Prices of g6e.2xlarge, by term."""
    prices: dict[tuple[str, Term], Price] = {
        ("g6e.2xlarge", term): Price(Decimal(usd_per_h[term]), "agreement", "2026-03-01")
        for term in get_args(Term)
        if term in usd_per_h
    }
    return PriceTable("us-east-1", prices)


def buy(*held: Held, pool: NodePool = POOL, prices: PriceTable = PUBLIC, zones: int = 1) -> Bought:
    found = purchase("l40s", pool, held, prices, zones=zones, daemonset_pods=6)
    assert found.bought, found.choice.why
    return found.bought


def test_the_sale() -> None:
    bought = buy(Held("support-bot", service(), base=2, peak=7, surge=1))
    assert [placed.nodes for placed in (bought.base, bought.peak, bought.with_surge)] == [2, 7, 8]
    (need,) = bought.quotas
    assert need.quota
    assert (need.quota.code, need.vcpus) == ("L-DB2E81BA", 64)
    (way,) = bought.ways
    assert way.least.usd == 2 * 730 * Fraction("2.24208")
    assert way.most.usd == 7 * 730 * Fraction("2.24208")
    assert way.most.peak_usd_per_h == 7 * Fraction("2.24208")
    # One replica and six daemons are 7 pods: one interface of 15 addresses, and one kept warm.
    assert bought.subnet
    assert (bought.subnet.nodes, bought.subnet.addresses, bought.subnet.mask) == (8, 240, 24)
    assert bought.spread is None


def test_eleven_over_three_zones() -> None:
    bought = buy(Held("support-bot", service(), base=3, peak=11, surge=1), zones=3)
    assert bought.peak.by_zone("support-bot") == (4, 4, 3)
    assert bought.peak.after_a_zone("support-bot") == 7
    assert bought.spread == over_zones(3)
    assert bought.only_wished == ("support-bot",)
    assert bought.subnet
    assert (bought.subnet.nodes, bought.subnet.mask) == (4, 25)


def test_a_commitment_for_the_base() -> None:
    prices = table(on_demand="2", savings_plan_1y="1.5", reserved_3y="1")
    bought = buy(Held("support-bot", service(), base=2, peak=7), prices=prices)
    assert [way.term for way in bought.ways] == ["on_demand", "reserved_3y", "savings_plan_1y"]
    on_demand, reserved, plan = bought.ways
    assert [on_demand.least.usd, on_demand.most.usd] == [2920, 10220]
    assert [reserved.least.usd, reserved.most.usd, reserved.break_even_hours] == [1460, 8760, 365]
    assert [plan.least.usd, plan.most.usd, plan.break_even_hours] == [2190, 9490, Fraction("547.5")]
    assert on_demand.break_even_hours is None


def test_an_unknown_price_leaves_the_nodes_known() -> None:
    bought = buy(Held("support-bot", service(), base=2, peak=7), prices=PriceTable())
    (way,) = bought.ways
    assert (way.price, way.least.usd, way.most.usd) == (None, None, None)
    assert bought.peak.nodes == 7
    assert [charge.usd for charge in bought.charges_at_peak] == [None]
    committed = buy(Held("support-bot", service(), base=2, peak=7), prices=table(reserved_1y="1")).ways[1]
    assert [committed.least.usd, committed.most.usd, committed.break_even_hours] == [1460, None, None]


def test_services_share_nodes_and_each_pays_its_gpus() -> None:
    pool = NodePool(instance_types=["g6e.2xlarge", "g6e.12xlarge"], max_nodes=18)
    bought = buy(
        Held("chat", service(), base=1, peak=5),
        Held("coder", service(gpus=4, owner="developers"), base=1, peak=2),
        pool=pool,
    )
    assert bought.peak.kind.instance_type == "g6e.12xlarge"
    assert [(one.owner, one.gpus) for one in bought.charges_at_peak] == [
        ("support-platform", 5),
        ("developers", 8),
        (None, 3),
    ]
    assert total(one.usd for one in bought.charges_at_peak) == bought.ways[0].most.usd == 4 * 730 * Fraction("10.49264")
    assert total(one.usd for one in bought.charges_at_base) == bought.ways[0].least.usd


def test_nothing_fits() -> None:
    found = purchase("l40s", POOL, [Held("coder", service(gpus=4), base=1, peak=2)], PUBLIC, zones=1, daemonset_pods=6)
    assert found.bought is None
    assert found.finding == (
        "pool l40s: none of its instance types holds them: a replica of coder needs 4 GPUs, g6e.2xlarge has 1"
    )


def test_a_type_that_is_not_in_the_table() -> None:
    own = NodePool(instance_types=["g99.huge"], max_nodes=4, gpus_per_node=2)
    (kind,) = kinds_of(own)
    assert (kind.gpus, kind.vcpus) == (2, None)
    bought = buy(Held("chat", service(), base=1, peak=3), pool=own)
    assert bought.subnet is None
    (need,) = bought.quotas
    assert need.vcpus is None


COUNTS = st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 4), st.sampled_from([1, 2, 4]))
FOUR_GPUS = NodePool(instance_types=["g6e.12xlarge"], max_nodes=500)


@given(st.lists(COUNTS, min_size=1, max_size=3), st.integers(1, 3))
def test_both_ends_of_the_month_add_up_and_the_quota_covers_them(
    counts: list[tuple[int, int, int, int]], zones: int
) -> None:
    held = [
        Held(f"s{row}", service(gpus, owner=f"o{row % 2}"), base=base, peak=base + more, surge=surge)
        for row, (base, more, surge, gpus) in enumerate(counts)
    ]
    bought = buy(*held, pool=FOUR_GPUS, zones=zones)
    (way,) = bought.ways
    assert way.least.usd is not None
    assert way.most.usd is not None
    assert way.least.usd <= way.most.usd
    assert total(one.usd for one in bought.charges_at_peak) == way.most.usd
    (need,) = bought.quotas
    assert need.vcpus == bought.with_surge.nodes * 48
    assert bought.subnet
    assert bought.subnet.nodes >= max(bought.with_surge.nodes_by_zone, default=0)
