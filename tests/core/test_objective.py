"""Whether a point keeps an objective: what its file says outright, what it binds, and what it leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capacity.sweeps.objective import Attainment, Objective, Share, attainment, by_percentiles, objective, of_slo
from capacity.sweeps.sweep import Latency, LatencyName, Origin, PerRequest, Point, StatedGoodput
from stacks.spec import Slo

SLO = Slo(ttft_p95_ms=Decimal(600), tpot_p95_ms=Decimal(20), attainment_pct=Decimal(99))
PROMISED = of_slo(SLO)


def point(**fields: object) -> Point:
    return Point(Origin("made.json"), "made", **fields)  # type: ignore[arg-type]


def ladder(**values_s: float) -> Latency:
    """`p99_9=0.5` is 0.5 s at p99.9."""
    return Latency(None, {float(name[1:].replace("_", ".")): value for name, value in values_s.items()})


def test_the_slo_of_a_service() -> None:
    assert {limit.latency: limit.limit_s for limit in PROMISED.limits} == {
        "ttft": Fraction(3, 5),
        "tpot": Fraction(1, 50),
    }
    assert PROMISED.required == Fraction(99, 100)


REQUESTS = PerRequest(ttft_s=(0.6, 0.6001, 0.1, 0.1), tpot_s=(0.02, 0.01, 0.021, 0.0))


def test_request_by_request_all_limits_at_once() -> None:
    got = attainment(point(completed=4, failed=0, per_request=REQUESTS), PROMISED)
    assert (got.source, got.share) == ("per request", Share(Fraction(1, 2), Fraction(1, 2)))
    assert got.within["ttft"].low == Fraction(3, 4)
    assert got.verdict == "fails"


def test_whole_seconds_are_numbers_as_well() -> None:
    whole = PerRequest(ttft_s=(0, 1), tpot_s=(0, 0))
    got = attainment(point(completed=2, failed=0, per_request=whole), PROMISED)
    assert got.share == Share(Fraction(1, 2), Fraction(1, 2))


def test_a_failed_request_kept_nothing_and_one_cut_off_may_have() -> None:
    got = attainment(point(completed=4, failed=3, incomplete=1, per_request=REQUESTS), PROMISED)
    assert got.share == Share(Fraction(2, 8), Fraction(3, 8))


def test_the_count_of_the_tool_where_its_limits_are_ours() -> None:
    stated = StatedGoodput(9.9, {"ttft": 0.6, "tpot": 0.02})
    fields = {
        "completed": 1000,
        "duration_s": 100.0,
        "throughput_rps": 10.0,
        "ttft": ladder(p95=0.5),
        "tpot": ladder(p95=0.01),
    }
    got = attainment(point(goodput=stated, **fields), PROMISED)
    assert (got.source, got.share.low, got.share.high, got.verdict) == (
        "stated goodput",
        Fraction(99, 100),
        Fraction(99, 100),
        "holds",
    )
    looser = StatedGoodput(9.9, {"ttft": 0.7, "tpot": 0.02})
    assert attainment(point(goodput=looser, **fields), PROMISED).source == "percentiles"


def by_ladder(ttft: Latency | None, tpot: Latency | None, attainment_pct: int = 99) -> Attainment:
    asked: Mapping[LatencyName, Fraction] = {"ttft": Fraction(600), "tpot": Fraction(20)}
    return attainment(point(completed=5000, failed=0, ttft=ttft, tpot=tpot), objective(asked, Fraction(attainment_pct)))


LADDERS: dict[str, tuple[Latency | None, Latency | None, int, str]] = {
    "both far within": (ladder(p95=0.1, p99_9=0.5), ladder(p95=0.01, p99_9=0.015), 99, "holds"),
    "p99 of each within: together it may be 98": (ladder(p99=0.5), ladder(p99=0.015), 99, "unknown"),
    "p99 of each within: 98 is enough": (ladder(p99=0.5), ladder(p99=0.015), 98, "holds"),
    "p99 beyond": (ladder(p95=0.1, p99=0.7), ladder(p99_9=0.015), 99, "fails"),
    "p95 beyond, though 90 are enough": (ladder(p90=0.1, p95=0.7), ladder(p99_9=0.015), 90, "fails"),
    "p95 within and p99 beyond, for 95": (ladder(p95=0.5, p99=0.7), ladder(p99_9=0.015), 90, "holds"),
    "no p95": (ladder(p50=0.1, p99=0.7), ladder(p99_9=0.015), 90, "unknown"),
    "one latency not in the file": (ladder(p99_9=0.1), None, 99, "unknown"),
    "one latency not in the file, the other broken": (ladder(p50=0.7), None, 99, "fails"),
    "all of 100": (ladder(p100=0.5), ladder(p100=0.02), 100, "holds"),
    "100 that no percentile shows": (ladder(p99_9=0.5), ladder(p99_9=0.02), 100, "unknown"),
}


@pytest.mark.parametrize("name", LADDERS)
def test_percentiles_bind_the_share(name: str) -> None:
    ttft, tpot, attainment_pct, verdict = LADDERS[name]
    assert by_ladder(ttft, tpot, attainment_pct).verdict == verdict


def test_a_sample_too_small_to_have_one_that_misses_shows_nothing() -> None:
    """99 of 99 is 100 %, as is 99 of any number that nobody measured."""
    asked: Mapping[LatencyName, Fraction] = {"ttft": Fraction(600)}
    promised = objective(asked, Fraction(99))

    def verdict(completed: int, ttft_s: float) -> str:
        every = PerRequest(ttft_s=(ttft_s,) * completed)
        return attainment(point(completed=completed, per_request=every), promised).verdict

    assert [verdict(99, 0.5), verdict(100, 0.5), verdict(2, 0.7)] == ["unknown", "holds", "fails"]
    everything = objective(asked, Fraction(100))
    assert attainment(point(completed=99, per_request=PerRequest(ttft_s=(0.5,) * 99)), everything).verdict == "holds"


def test_gaps_are_not_requests() -> None:
    """An inter-token limit has its percentile, and no part in the share of requests."""
    asked: Mapping[LatencyName, Fraction] = {"ttft": Fraction(600), "itl": Fraction(20)}
    fine = point(completed=5000, ttft=ladder(p95=0.1, p99_9=0.5), itl=ladder(p95=0.019, p99=0.5))
    assert attainment(fine, objective(asked, Fraction(99))).verdict == "holds"
    slow = point(completed=5000, ttft=ladder(p95=0.1, p99_9=0.5), itl=ladder(p95=0.021))
    assert attainment(slow, objective(asked, Fraction(99))).verdict == "fails"


def percentiles_of(values: Sequence[float], quantiles: Sequence[float]) -> Latency:
    """Nearest rank: the least value that so many per cent do not exceed."""
    ordered = sorted(values)
    return Latency(None, {each: ordered[max(0, -(-int(each * len(ordered)) // 100) - 1)] for each in quantiles})


TIMES = st.lists(st.tuples(st.integers(1, 1200), st.integers(1, 40)), min_size=1, max_size=60)


@given(TIMES, st.sets(st.integers(1, 100), max_size=6), st.integers(50, 100))
def test_bounds_never_contradict_the_requests(times: list[tuple[int, int]], quantiles: set[int], required: int) -> None:
    """Whatever percentiles a file has, what they settle is what a count of the requests says."""
    ttft, tpot = ([column / 1000 for column in columns] for columns in zip(*times, strict=True))
    asked: Mapping[LatencyName, Fraction] = {"ttft": Fraction(600), "tpot": Fraction(20)}
    promised = objective(asked, Fraction(required))
    ladder_quantiles = [float(each) for each in sorted(quantiles)]
    counted = attainment(point(completed=len(times), per_request=PerRequest(tuple(ttft), tuple(tpot))), promised)
    bounded = attainment(
        point(
            completed=len(times),
            ttft=percentiles_of(ttft, ladder_quantiles),
            tpot=percentiles_of(tpot, ladder_quantiles),
        ),
        promised,
    )
    assert bounded.share.low <= counted.share.low <= bounded.share.high
    assert bounded.verdict in {"unknown", counted.verdict}


@given(st.lists(st.floats(0.001, 10), min_size=1, max_size=8), st.floats(0.001, 10), st.floats(0.001, 10))
def test_a_wider_limit_is_never_kept_by_fewer(values: list[float], one: float, other: float) -> None:
    rungs = {float(10 * number + 10): value for number, value in enumerate(sorted(values))}
    narrow, wide = sorted([Fraction(one), Fraction(other)])
    assert by_percentiles(Latency(None, rungs), narrow).low <= by_percentiles(Latency(None, rungs), wide).low


@given(st.integers(1, 5000), st.integers(0, 500), st.integers(0, 500), st.integers(1, 100))
def test_failures_never_help(completed: int, failed: int, more: int, required: int) -> None:
    asked = Objective((), Fraction(required))
    before = attainment(point(completed=completed, failed=failed), asked)
    after = attainment(point(completed=completed, failed=failed + more), asked)
    assert after.share.low <= before.share.low
    assert after.share.high <= before.share.high
