"""Cron schedules as KEDA's library reads them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prescale.preflight.checks.cron import parse, takes_turns


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "0 fields, not 5"),
        ("0 30 6 * * 1-5", "6 fields, not 5"),
        ("60 6 * * *", "60 is no minute"),
        ("0 24 * * *", "24 is no hour"),
        ("0 6 0 * *", "0 is no day of the month"),
        ("0 6 * 13 *", "13 is no month"),
        ("0 6 * * 7", "7 is no day of the week"),
        ("0 6 * * 5-1", "5-1 is no day of the week"),
        ("0 6 * * fr", "'fr' is no day of the week"),
        ("*/0 6 * * *", "*/0 is no minute"),
        ("-1 6 * * *", "'' is no minute"),
        ("@daily * * * *", "'@daily' is no minute"),
    ],
)
def test_what_keda_refuses(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=r"no |fields") as refused:
        parse(text)
    assert str(refused.value) == says


def test_fields() -> None:
    found = parse("*/20 6-8,22 ? jan-MAR mon-fri/2")
    assert found.minutes == {0, 20, 40}
    assert found.hours == {6, 7, 8, 22}
    assert found.months == {1, 2, 3}
    assert found.weekdays == {1, 3, 5}
    assert parse("50/5 0 * * *").minutes == {50, 55}


def test_two_said_days_are_either() -> None:
    """`30 19 27 11 5` fires on the 27th, and on every Friday of November."""
    fires = parse("30 19 27 11 5")
    assert [day for day in range(1, 31) if fires.on(date(2026, 11, day))] == [6, 13, 20, 27]
    assert [day for day in range(1, 31) if parse("0 0 27 11 *").on(date(2026, 11, day))] == [27]


@pytest.mark.parametrize(
    ("start", "end", "turns"),
    [
        ("30 6 * * 1-5", "10 22 * * 1-5", True),
        ("30 6 * * 1-5", "10 22 * * *", False),
        ("0 22 * * 5", "0 6 * * 6", True),
        ("0 22 * * 5,6", "0 6 * * 6", False),
        ("0 6,7 * * *", "0 22 * * *", False),
        ("0 8,12 * * *", "0 12,20 * * *", True),
        ("0 19 27 11 *", "0 23 27 11 *", True),
        ("0 19 30 2 *", "0 23 30 2 *", False),
    ],
)
def test_turns(start: str, end: str, turns: bool) -> None:
    assert takes_turns(parse(start), parse(end)) == turns


@given(st.integers(0, 23), st.integers(0, 59), st.integers(1, 1439), st.sampled_from(["*", "1-5", "0,6", "3"]))
def test_a_window_within_each_day_takes_turns(hour: int, minute: int, lasts_min: int, days: str) -> None:
    ends = hour * 60 + minute + lasts_min
    if ends < 1440:
        start, end = parse(f"{minute} {hour} * * {days}"), parse(f"{ends % 60} {ends // 60} * * {days}")
        assert takes_turns(start, end)
        assert not takes_turns(start, start)
