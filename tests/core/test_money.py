"""Money is exact, unknown prices stay unknown, and parts add up to their totals."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capacity.purchase.charges import Charge, Use, by, charges, in_cents
from capacity.purchase.money import (
    HOURS_PER_MONTH,
    ApiPrice,
    Rates,
    break_even_hours,
    compared,
    spend,
    total,
    usd_per_million_tokens,
)

USD = st.decimals("0.0001", 200, places=6)
HOURS = st.decimals(0, HOURS_PER_MONTH, places=2)
NODES = st.integers(0, 40)


def test_a_base_under_a_commitment_and_the_rest_on_demand() -> None:
    rates = Rates(on_demand=Decimal("2.24208"), committed=Decimal("1.4"))
    month = spend(2, 7, rest_node_hours=5 * 40, rates=rates)
    assert month.committed_usd == 2 * 730 * Fraction(14, 10) == 2044
    assert month.on_demand_usd == Fraction("448.416")
    assert month.usd == Fraction("2492.416")
    assert month.peak_usd_per_h == Fraction("2.8") + 5 * Fraction("2.24208")


def test_break_even() -> None:
    rates = Rates(on_demand=Decimal(2), committed=Decimal("1.5"))
    assert break_even_hours(rates) == Fraction("547.5")
    assert break_even_hours(Rates(on_demand=Decimal(2))) is None
    assert break_even_hours(Rates(on_demand=None, committed=Decimal(1))) is None


def test_unknown_stays_unknown_and_is_not_nothing() -> None:
    month = spend(2, 7, 200, Rates(on_demand=Decimal(2)))
    assert [month.committed_usd, month.on_demand_usd, month.usd, month.peak_usd_per_h] == [None, 400, None, None]
    assert spend(0, 7, 200, Rates(on_demand=Decimal(2))).usd == 400
    assert spend(2, 2, 0, Rates(on_demand=None, committed=Decimal(1))).usd == 1460
    assert total([Fraction(1), None]) is None
    assert total([]) == 0


def test_dollars_per_million_tokens() -> None:
    # 36 dollars an hour at 2,500 tokens a second: 9 million tokens.
    assert usd_per_million_tokens(36, 2500) == 4
    assert usd_per_million_tokens(None, 2500) is None


def test_a_managed_api_at_its_price() -> None:
    price = ApiPrice(Decimal(3), Decimal(15))
    found = compared(3000, 400 * 10**6, 100 * 10**6, price, carried=None)
    assert found.api_usd == 1200 + 1500
    assert found.break_even_output_tokens == Fraction(100 * 10**6 * 3000, 2700)
    even = found.break_even_output_tokens
    assert even
    assert compared(3000, 4 * even, even, price, carried=None).api_usd == 3000
    assert compared(None, 1, 1, ApiPrice(1, 1), carried=1).break_even_output_tokens is None
    assert compared(3000, 1, 1, ApiPrice(0, 0), carried=1).break_even_output_tokens is None


def test_what_the_nodes_cannot_put_out_is_never_even() -> None:
    price = ApiPrice(Decimal(3), Decimal(15))
    even = compared(3000, 400 * 10**6, 100 * 10**6, price, carried=None).break_even_output_tokens
    assert even is not None
    told = [
        compared(3000, 400 * 10**6, 100 * 10**6, price, carried=carried).is_even_carried
        for carried in (even - 1, even, None)
    ]
    assert told == [False, True, None]
    assert compared(None, 1, 1, price, carried=1).is_even_carried is None


@given(NODES, NODES, HOURS, USD, USD)
def test_parts_are_the_total_and_more_never_costs_less(
    base: int, rest: int, hours: Decimal, on_demand: Decimal, committed: Decimal
) -> None:
    rates = Rates(on_demand, committed)
    month = spend(base, base + rest, rest * Fraction(hours), rates)
    assert month.usd is not None
    assert month.committed_usd is not None
    assert month.on_demand_usd is not None
    assert month.committed_usd + month.on_demand_usd == month.usd
    more = spend(base + 1, base + 1 + rest, rest * Fraction(hours), rates)
    assert more.usd is not None
    assert more.usd > month.usd


@given(USD, USD, HOURS)
def test_from_the_break_even_on_a_committed_node_is_cheaper(
    on_demand: Decimal, committed: Decimal, hours: Decimal
) -> None:
    rates = Rates(on_demand, committed)
    even = break_even_hours(rates)
    as_it_runs, all_month = spend(0, 1, hours, rates).usd, spend(1, 1, 0, rates).usd
    assert even is not None
    assert as_it_runs is not None
    assert all_month is not None
    assert (all_month < as_it_runs) == (Fraction(hours) > even)


USES = (
    Use("support-bot", "support-platform", "cc-17", 12),
    Use("fraud-bot", "risk", "cc-20", 2),
    Use("search", "support-platform", None, 1),
)


def test_what_nobody_holds_is_a_charge_of_its_own() -> None:
    charged = charges("l40s", 1600, 16, USES)
    assert [(one.service, one.gpus) for one in charged] == [
        ("support-bot", 12),
        ("fraud-bot", 2),
        ("search", 1),
        (None, 1),
    ]
    assert [one.usd for one in charged] == [1200, 200, 100, 100]
    assert by(charged, lambda one: one.owner) == {"support-platform": 1300, "risk": 200, None: 100}
    assert by(charged, lambda one: one.cost_center) == {"cc-17": 1200, "cc-20": 200, None: 200}
    assert by(charges("h100", None, 15, USES), lambda one: one.owner) == {"support-platform": None, "risk": None}


def test_services_cannot_hold_more_than_there_is() -> None:
    with pytest.raises(ValueError, match="pool l40s: services hold 15 GPUs of 14"):
        charges("l40s", 1600, 14, USES)


@given(USD, st.lists(st.integers(0, 64), max_size=6), st.integers(0, 16))
def test_charges_add_up_to_the_bill(usd: Decimal, gpus: list[int], idle: int) -> None:
    uses = [Use(f"s{row}", f"o{row % 2}", None, count) for row, count in enumerate(gpus)]
    held = sum(gpus) + idle
    charged = charges("pool", usd, held, uses)
    if held:
        assert total(one.usd for one in charged) == Fraction(usd)
        assert total(by(charged, lambda one: one.owner).values()) == Fraction(usd)
    assert sum(one.gpus for one in charged) == held


def test_cents_that_are_shown_add_up() -> None:
    thirds = in_cents([Fraction(10, 3)] * 3)
    assert thirds == (Decimal("3.34"), Decimal("3.33"), Decimal("3.33"))
    assert sum(thirds) == 10
    assert in_cents([]) == ()


@given(st.lists(st.fractions(0, 10**6), max_size=12))
def test_cents_add_up_to_the_rounded_total_and_none_is_off_by_a_cent(parts: list[Fraction]) -> None:
    shown = in_cents(parts)
    exact = sum(parts, Fraction(0))
    assert abs(sum(map(Fraction, shown), Fraction(0)) - exact) <= Fraction(1, 200)
    assert all(abs(Fraction(cents) - part) < Fraction(1, 100) for cents, part in zip(shown, parts, strict=True))
    assert all(cents.as_tuple().exponent == -2 for cents in shown)


def test_a_charge_without_a_price_names_its_gpus() -> None:
    (charge,) = charges("l40s", None, 1, [Use("bot", "team", None, 1)])
    assert charge == Charge("l40s", "bot", "team", None, 1, None)
