"""The highest load that keeps the objective, and what is said beside it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capacity.sweeps.curve import Curve, curve_of, judge
from capacity.sweeps.goodput import Goodput, goodput, spreads
from capacity.sweeps.objective import objective
from capacity.sweeps.sweep import Latency, Point
from tests.core.made_points import closed_point, exactly, made_curve, open_point

PROMISED = objective({"ttft": Fraction(600)}, Fraction(99))
HOLDS, FAILS, UNKNOWN = 0.5, 0.7, None


def at(load: float, ttft_s: float | None, name: str = "") -> Point:
    made = open_point(load, ttft_s or 0.5, name=name)
    return made if ttft_s is not None else open_point(load, 0.5, name=name, ttft=Latency(0.5, {50.0: 0.5}))


def curve(*runs: tuple[float, float | None]) -> Curve:
    points = [at(load, ttft_s, f"{number}") for number, (load, ttft_s) in enumerate(runs)]
    return made_curve(points, PROMISED)


def shown(*runs: tuple[float, float | None]) -> Goodput:
    return goodput(curve(*runs), PROMISED)


def test_between_the_last_that_holds_and_the_first_that_fails() -> None:
    got = shown((10, 0.1), (20, 0.4), (30, 0.8), (40, 2.0))
    assert (got.load, got.fails_at, got.crossing) == exactly(20, 30, 25)


def test_nothing_failed_so_it_is_at_least_that() -> None:
    got = shown((10, HOLDS), (20, HOLDS))
    assert (got.load, got.fails_at, got.crossing) == exactly(20, None, None)


def test_what_holds_above_a_failing_load_does_not_count() -> None:
    got = shown((10, HOLDS), (20, FAILS), (30, HOLDS))
    assert (got.load, got.fails_at, got.again) == exactly(10, 20, (30,))


def test_a_load_at_which_requests_failed_ends_the_search_although_its_latencies_are_no_evidence() -> None:
    points = [at(load, HOLDS) for load in (10.0, 20.0, 30.0)]
    broken = made_curve([points[0], replace(points[1], completed=1600, failed=400), points[2]], PROMISED)
    assert [step.load for step in broken.steps] == [10, 30]
    got = goodput(broken, PROMISED)
    assert (got.load, got.fails_at, got.crossing, got.again) == exactly(10, 20, None, (30,))


def failed(load: float) -> Point:
    return replace(at(load, HOLDS), completed=0, failed=2000, throughput_rps=None, ttft=None, e2e=None)


def test_a_load_at_which_all_requests_failed_bounds_it_from_above() -> None:
    points = [at(10.0, HOLDS), at(20.0, HOLDS), failed(30.0)]
    got = goodput(made_curve(points, PROMISED), PROMISED)
    assert (got.load, got.fails_at, got.crossing) == exactly(20, 30, None)
    assert made_curve(points).broken == exactly(30)  # whatever the objective


def test_where_all_loads_failed_there_is_only_the_bound() -> None:
    curve = made_curve([failed(30.0), failed(20.0)], PROMISED)
    assert not curve.steps
    assert curve.broken == exactly(20, 30)
    assert goodput(curve, PROMISED).fails_at == 20


def test_one_run_whose_requests_failed_spoils_the_repeats_of_its_load() -> None:
    points = [at(10.0, HOLDS), at(20.0, HOLDS), replace(at(20.0, HOLDS, "again"), completed=1000, failed=1000)]
    got = goodput(made_curve(points, PROMISED), PROMISED)
    assert (got.load, got.fails_at) == exactly(10, 20)


def test_failures_of_a_closed_loop_end_its_search_at_what_was_held() -> None:
    good, bad, better = (closed_point(held, held / 2.0) for held in (10, 20, 30))
    judged = [judge(each, PROMISED) for each in (good, replace(bad, failed=30_000), better)]
    got = goodput(curve_of(judged, "in_flight"), PROMISED)
    assert (got.load, got.fails_at) == exactly(10, 20)
    assert curve_of(judged, "rps").broken == ()


def test_what_cannot_be_told_is_passed_over_and_said() -> None:
    got = shown((10, UNKNOWN), (20, HOLDS), (30, UNKNOWN))
    assert (got.load, got.fails_at, got.unknown) == exactly(20, None, (10, 30))


def test_nothing_holds() -> None:
    got = shown((10, FAILS), (20, HOLDS))
    assert (got.load, got.fails_at, got.crossing, got.again) == exactly(None, 10, None, (20,))
    assert shown((10, UNKNOWN)).load is None
    assert shown().load is None


def test_a_load_holds_where_every_run_of_it_does() -> None:
    got = shown((10, HOLDS), (20, HOLDS), (20, 0.59), (20, FAILS))
    assert (got.load, got.fails_at) == exactly(10, 20)
    (spread,) = spreads(curve((10, HOLDS), (20, HOLDS), (20, 0.59), (20, FAILS)))
    assert (spread.load, spread.runs, spread.held) == exactly(20, 3, 2)
    assert spread.p95_s["ttft"] == (Fraction("0.5"), Fraction("0.7"))


def test_the_crossing_is_that_of_the_limit_met_first() -> None:
    both = objective({"ttft": Fraction(600), "e2e": Fraction(5000)}, Fraction(99))
    points = [open_point(10, 0.5, 1.0), open_point(20, 0.7, 9.0)]
    assert goodput(made_curve(points, both), both).crossing == 15
    points = [open_point(10, 0.5, 4.0), open_point(20, 0.7, 9.0)]
    assert goodput(made_curve(points, both), both).crossing == 12


RUNS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from([HOLDS, FAILS, UNKNOWN])), max_size=12)


@given(RUNS)
def test_it_holds_and_nothing_below_it_fails(runs: list[tuple[int, float | None]]) -> None:
    got = shown(*[(float(load), ttft_s) for load, ttft_s in runs])
    failing = [load for load, ttft_s in runs if ttft_s == FAILS]
    assert got.fails_at == (min(failing) if failing else None)
    if got.load is None:
        candidates = [load for load, ttft_s in runs if ttft_s == HOLDS and (not failing or load < min(failing))]
        assert all(any(other == load and ttft_s != HOLDS for other, ttft_s in runs) for load in candidates)
        return
    assert {ttft_s for load, ttft_s in runs if load == got.load} == {HOLDS}
    assert all(load > got.load for load in failing)
    if got.crossing is not None:
        assert got.fails_at is not None
        assert got.load <= got.crossing <= got.fails_at


@given(st.lists(st.floats(0.01, 2.0), min_size=1, max_size=8), st.integers(1, 1500), st.integers(1, 1500))
def test_a_wider_limit_never_lowers_it(ttfts_s: list[float], one_ms: int, other_ms: int) -> None:
    points = [open_point(float(number + 1), ttft_s) for number, ttft_s in enumerate(ttfts_s)]
    narrow, wide = (
        goodput(made_curve(points, asked), asked).load or 0
        for asked in (objective({"ttft": Fraction(ms)}, Fraction(99)) for ms in sorted((one_ms, other_ms)))
    )
    assert narrow <= wide


@pytest.mark.parametrize("count", [1, 3])
def test_spreads_are_of_repeats_only(count: int) -> None:
    runs = [(10.0, HOLDS)] * count
    assert len(spreads(curve(*runs, (20.0, HOLDS)))) == (1 if count > 1 else 0)
