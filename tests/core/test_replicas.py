from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capacity.replicas import baseline, decimal_text, in_flight, of_load, whole, with_headroom

AMOUNTS = st.decimals(0, 10**6, places=4)
ABOVE_ZERO = st.decimals("0.0001", 10**6, places=4)
PERCENT = st.decimals(0, 400, places=2)


def test_the_sale() -> None:
    load = in_flight(Decimal("26.7"), Decimal("7.8"))
    assert load == Fraction("208.26")
    assert of_load(load, 40) == Fraction("5.2065")
    needed = with_headroom(of_load(load, 40), 30)
    assert decimal_text(needed) == "6.76845"
    assert whole(needed) == 7


def test_the_usual_peak() -> None:
    load = in_flight(Decimal("5.3"), Decimal("7.8"))
    assert decimal_text(load) == "41.34"
    assert decimal_text(of_load(load, 40)) == "1.0335"
    assert baseline(2, of_load(load, 40)) == 2
    assert baseline(2, of_load(in_flight(Decimal("26.7"), Decimal("7.8")), 40)) == 6


def test_exact_before_the_ceil() -> None:
    assert whole(of_load(Decimal("2.1"), Decimal("0.7"))) == 3  # in binary floats it is 3.0000000000000004
    assert whole(with_headroom(10, 10)) == 11


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (7, "7"),
        (Decimal("208.260"), "208.26"),
        (Fraction(1, 3), "0.333333"),
        (Fraction(-1, 2), "-0.5"),
        (10, "10"),
    ],
)
def test_decimal_text(number: Decimal | Fraction | int, text: str) -> None:
    assert decimal_text(number) == text


@given(AMOUNTS, ABOVE_ZERO, ABOVE_ZERO, PERCENT)
def test_never_below_need_and_never_a_whole_replica_above(
    rps: Decimal, duration: Decimal, each: Decimal, pct: Decimal
) -> None:
    load = in_flight(rps, duration)
    needed = with_headroom(of_load(load, each), pct)
    count = whole(needed)
    assert count * Fraction(each) >= load * (1 + Fraction(pct) / 100)
    assert count < needed + 1


@given(st.tuples(AMOUNTS, AMOUNTS), ABOVE_ZERO, ABOVE_ZERO, st.tuples(PERCENT, PERCENT))
def test_monotone(
    rps: tuple[Decimal, Decimal], duration: Decimal, each: Decimal, percents: tuple[Decimal, Decimal]
) -> None:
    small, large = (
        whole(with_headroom(of_load(in_flight(load, duration), each), percent))
        for load, percent in zip(sorted(rps), sorted(percents), strict=True)
    )
    assert small <= large


@given(st.integers(0, 100), AMOUNTS)
def test_baseline_holds_both(minimum: int, load: Decimal) -> None:
    assert baseline(minimum, load) >= minimum
    assert baseline(minimum, load) >= load
