"""A load in every unit an event may say it in, and the floor that comes of it."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from prescale.windows.timetable import timetable
from prescale.windows.window import Window
from stacks.faults import InputError
from tests.core.stack_files import Edit, all_of, calendar, stack, swap

WITH_TOKENS = swap("in_flight_per_replica: 40", "in_flight_per_replica: 40\n      tokens_per_s_per_replica: 1900")


def of(root: Path, demand: str, platform: Edit = WITH_TOKENS) -> Window:
    event = f"name: a, start: 2027-10-29 20:00, end: 2027-10-29 22:00, services: {{support-bot: {{{demand}}}}}"
    (window,) = timetable(stack(root, platform=platform, events=calendar(event))).windows
    return window


@pytest.mark.parametrize(
    ("demand", "needed", "floor"),
    [
        ("rps: 26.7, request_duration_s: 7.8", "6.76845", 7),
        ("multiplier: 5", "6.71775", 7),
        ("in_flight: 208.26", "6.76845", 7),
        ("in_flight: 200, headroom_pct: 0", "5", 5),
        ("tokens_per_s: 9500, headroom_pct: 20", "6", 6),
        ("tokens_per_s: 9500.1, headroom_pct: 20", "57000.6/9500", 7),
        ("replicas: 7", "7", 7),
        ("replicas: 7, headroom_pct: 30", "9.1", 10),
    ],
)
def test_each_unit_comes_to_its_floor(tmp_path: Path, demand: str, needed: str, floor: int) -> None:
    window = of(tmp_path, demand)
    if "/" in needed:
        top, _, bottom = needed.partition("/")
        assert window.replicas_with_headroom == Fraction(top) / Fraction(bottom)
    else:
        assert window.replicas_with_headroom == Fraction(needed)
    assert window.floor == floor


def test_what_a_unit_does_not_say_is_unknown(tmp_path: Path) -> None:
    tokens = of(tmp_path, "tokens_per_s: 9500").load
    assert (tokens.rps or tokens.in_flight or tokens.in_flight_per_replica) is None
    assert tokens.replicas == 5
    in_flight = of(tmp_path, "in_flight: 80").load
    assert (in_flight.rps or in_flight.request_duration_s) is None
    assert in_flight.in_flight == 80


@pytest.mark.parametrize(
    ("demand", "said"),
    [
        ("in_flight: 80, rps: 3", "support-bot: got rps and in_flight, expected one of rps, multiplier, in_flight"),
        ("headroom_pct: 30", "support-bot: got no load, expected one of"),
        ("in_flight: 0", "in_flight: got 0, expected above 0"),
        ("replicas: 1.5", "replicas: got 1.5, expected a whole number"),
        ("replicas: 0", "replicas: got 0, expected at least 1"),
        (
            "replicas: 7, request_duration_s: 3",
            "got request_duration_s beside replicas, expected it beside rps or",
        ),
        ("replicas: 17", "got a floor of 17 replicas (17 replicas + 0 %), expected at most the ceiling of 16"),
        ("in_flight: 801", "got a floor of 27 replicas (801 in flight / 40 + 30 %)"),
    ],
)
def test_what_is_no_load(tmp_path: Path, demand: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        of(tmp_path, demand)
    (fault,) = raised.value.faults
    assert said in str(fault)


def test_tokens_are_refused_where_nobody_says_what_a_replica_carries(tmp_path: Path) -> None:
    event = "name: a, day: 2027-10-29, services: {support-bot: {tokens_per_s: 9500}}"
    with pytest.raises(InputError) as raised:
        stack(tmp_path, events=calendar(event))
    (fault,) = raised.value.faults
    assert "support-bot: got no tokens_per_s_per_replica, expected a load the event can be reckoned from" in str(fault)
    assert "Set services.support-bot.capacity.tokens_per_s_per_replica in platform.yaml, from the same" in fault.fix


def test_without_a_usual_load_only_what_needs_it_is_refused(tmp_path: Path) -> None:
    without = swap("    usual_load: {rps: 5.3, request_duration_s: 7.8}\n", "")
    demands = ["rps: 1", "multiplier: 2", "in_flight: 40", "replicas: 3", "rps: 1, request_duration_s: 2"]
    events = [f"name: e{n}, day: 2027-10-29, services: {{support-bot: {{{said}}}}}" for n, said in enumerate(demands)]
    with pytest.raises(InputError) as raised:
        stack(tmp_path, platform=without, events=calendar(*events))
    assert [fault.path for fault in raised.value.faults] == [f"events[{n}].services.support-bot" for n in (0, 1)]


ROOM = all_of(WITH_TOKENS, swap("max: 16}", "max: 5000}"), swap("max_nodes: 18", "max_nodes: 5000"))


# Each example reads files, so none is shrunk: it would take minutes.
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(
    unit=st.sampled_from(["in_flight", "tokens_per_s", "rps", "multiplier"]),
    amount=st.decimals("0.001", "300", places=3),
    pct=st.integers(1, 30),
)
def test_the_floor_is_the_least_that_carries_the_load(tmp_path: Path, unit: str, amount: Decimal, pct: int) -> None:
    duration = ", request_duration_s: 1.7" if unit == "rps" else ""
    window = of(tmp_path, f"{unit}: {amount:f}{duration}, headroom_pct: {pct}", ROOM)
    each = {
        "in_flight": Fraction(1, 40),
        "tokens_per_s": Fraction(1, 1900),
        "rps": Fraction("1.7") / 40,
        "multiplier": Fraction("5.3") * Fraction("7.8") / 40,
    }
    assert window.floor == math.ceil(Fraction(amount) * each[unit] * (100 + pct) / 100)
