"""The knee, on replicas whose truth is known."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capacity.sweeps.curve import curve_of, judge
from capacity.sweeps.knee import Knee, knee
from capacity.sweeps.sweep import Latency, Point
from sandbox.engine.timing import EngineTiming
from tests.core.made_points import closed_point, exactly, latency, made_curve, open_curve, open_point

CARRIES = 10.0
"""What every made replica can carry at most, in requests per second."""
GRID = [0.5 * number for number in range(1, 20)]


def mm1(load: float) -> float:
    """Mean response time of M/M/1, and of M/G/1 under processor sharing."""
    return 1 / (CARRIES - load)


def md1(load: float) -> float:
    """Mean response time of M/D/1 (Pollaczek-Khinchine): greatest power at 2 - sqrt(2) of what it carries."""
    used = load / CARRIES
    return (1 + used / (2 * (1 - used))) / CARRIES


def flat_then_queue(load: float) -> float:
    """No waiting up to what it carries; beyond it the queue grows through ten minutes."""
    return 0.58 + max(0.0, load / CARRIES - 1) * 300


TRUTHS: dict[str, tuple[Callable[[float], float], float]] = {
    "M/M/1 and processor sharing": (mm1, 5.0),
    "M/D/1": (md1, CARRIES * (2 - 2**0.5)),
    "flat, then a queue": (flat_then_queue, CARRIES),
}


def found(response_s: Callable[[float], float], loads: list[float]) -> Knee:
    bend = knee(open_curve(response_s, loads))
    assert bend is not None
    return bend


@pytest.mark.parametrize("name", TRUTHS)
def test_the_knee_is_where_it_is_known_to_be(name: str) -> None:
    response_s, truth = TRUTHS[name]
    loads = [*GRID, *([10.0, 10.5, 11.0, 12.0] if response_s is flat_then_queue else [])]
    bend = found(response_s, loads)
    assert abs(float(bend.load) - truth) <= 0.25
    assert not bend.is_at_or_above
    assert bend.above is not None
    assert bend.below is not None
    assert float(bend.above) < truth < float(bend.below)


@pytest.mark.parametrize("name", TRUTHS)
@given(st.sets(st.integers(1, 99), min_size=3, max_size=12))
def test_the_bracket_holds_the_truth_whatever_loads_were_measured(name: str, tenths: set[int]) -> None:
    response_s, truth = TRUTHS[name]
    bend = found(response_s, [number / 10 for number in sorted(tenths)])
    if bend.above is not None:
        assert float(bend.above) <= truth
    if bend.below is not None:
        assert truth <= float(bend.below)
    assert bend.is_at_or_above == (bend.below is None)


@given(st.lists(st.floats(0.99, 1.01), min_size=3 * len(GRID), max_size=3 * len(GRID)), st.randoms())
def test_noise_of_a_hundredth_and_repeats_move_it_by_little(noise: list[float], order: random.Random) -> None:
    """Near its top the power of M/M/1 is flat: what costs 2 % of it lies within 1.5 of the truth."""
    points = [
        open_point(load, mm1(load) * noise[3 * number + run], name=f"{load}-{run}")
        for number, load in enumerate(GRID)
        for run in range(3)
    ]
    order.shuffle(points)
    bend = knee(made_curve(points))
    assert bend is not None
    assert abs(float(bend.load) - 5.0) <= 1.5
    assert len(bend.powers) == len(GRID)


def test_one_lucky_run_of_three_does_not_make_a_knee() -> None:
    points = [open_point(load, mm1(load)) for load in GRID]
    lucky = [open_point(8.0, 0.01, name="lucky"), open_point(8.0, mm1(8.0), name="third")]
    bend = knee(made_curve([*points, *lucky]))
    assert bend is not None
    assert bend.load == 5


POSITIVE = st.floats(0.001, 1000, allow_nan=False)
CURVES = st.dictionaries(st.integers(1, 1000), POSITIVE, min_size=2, max_size=12)


@given(CURVES, st.sampled_from([0.001, 0.25, 60.0, 1024.0]), st.sampled_from([0.001, 0.5, 60.0]))
def test_units_do_not_matter(measured: dict[int, float], per_load: float, per_second: float) -> None:
    loads = sorted(measured)
    one = knee(made_curve([open_point(load, measured[load]) for load in loads]))
    other = knee(made_curve([open_point(load * per_load, measured[load] * per_second) for load in loads]))
    assert one is not None
    assert other is not None
    index = [Fraction(load) for load in loads].index(one.load)
    best = max(one.powers)
    clear = all(power < best * (1 - Fraction(1, 10**9)) for number, power in enumerate(one.powers) if number != index)
    if clear:  # a tie may fall to either side of a rounded product
        assert float(other.load) == pytest.approx(loads[index] * per_load)
        assert other.is_at_or_above == one.is_at_or_above


@given(CURVES)
def test_it_is_a_measured_load_between_measured_loads(measured: dict[int, float]) -> None:
    bend = knee(made_curve([open_point(load, seconds) for load, seconds in measured.items()]))
    assert bend is not None
    assert bend.load in measured
    assert bend.above is None or (bend.above in measured and bend.above < bend.load)
    assert bend.below is None or (bend.below in measured and bend.below > bend.load)
    assert bend.is_at_or_below == (bend.load == min(measured))
    assert bend.is_at_or_above == (bend.load == max(measured))


@given(CURVES, st.integers(1001, 5000))
def test_a_load_beyond_of_less_power_does_not_move_it(measured: dict[int, float], beyond: int) -> None:
    points = [open_point(load, seconds) for load, seconds in measured.items()]
    before = knee(made_curve(points))
    assert before is not None
    slow = open_point(beyond, 2 * beyond / float(max(before.powers)))
    after = knee(made_curve([*points, slow]))
    assert after is not None
    assert after.load == before.load


NO_EVIDENCE: dict[str, dict[str, object]] = {
    "closed loop": {"arrivals": "closed", "concurrency_limit": 64.0, "requested_rps": None},
    "burst": {"arrivals": "burst", "requested_rps": None},
    "unknown arrivals": {"arrivals": None},
    "the client fell behind": {"achieved_rps": 900.0},
    "waited in the client": {"client_queue": Latency(1.0)},
    "failures": {"failed": 100},
    "cut off": {"incomplete": 400},
    "nothing answered": {"completed": 0, "ttft": None, "e2e": None},
}


@pytest.mark.parametrize("name", NO_EVIDENCE)
def test_a_point_that_is_no_open_loop_evidence_is_never_the_knee(name: str) -> None:
    tempting = replace(open_point(1000.0, 0.001), **NO_EVIDENCE[name])  # type: ignore[arg-type]
    bend = knee(made_curve([*(open_point(load, mm1(load)) for load in GRID), tempting]))
    assert bend is not None
    assert bend.load == 5
    assert knee(made_curve([*(open_point(load, mm1(load)) for load in GRID), open_point(1000.0, 0.001)])) != bend


def test_at_or_above_below_what_the_client_could_send() -> None:
    behind = open_point(20.0, 0.9, achieved_rps=10.5)
    bend = knee(made_curve([open_point(4.0, 0.5), open_point(8.0, 0.6), behind]))
    assert bend is not None
    assert (bend.load, bend.above, bend.below) == exactly(8, 4, Fraction("10.5"))
    assert bend.is_at_or_above


@pytest.mark.parametrize(("failed_rps", "bracket"), [(40, (20, 30, 40)), (25, (10, 20, 25)), (15, None)])
def test_it_is_below_every_load_at_which_requests_failed(failed_rps: int, bracket: tuple[int, int, int] | None) -> None:
    """Whatever is measured above it: a replica that answers nothing at 25 is not shown to bend at 30."""
    points = [open_point(load, 0.5) for load in (10.0, 20.0, 30.0)]
    failed = replace(open_point(failed_rps, 0.5), completed=0, failed=2000, throughput_rps=None, ttft=None, e2e=None)
    found = knee(made_curve([*points, failed]))
    assert (found and (found.above, found.load, found.below)) == (bracket and exactly(*bracket))
    assert found is None or found.is_at_or_above


def test_one_load_has_no_knee() -> None:
    assert knee(made_curve([open_point(4.0, 0.5), open_point(4.0, 0.6, name="again")])) is None


def test_answers_that_are_not_streamed_are_judged_by_their_end() -> None:
    points = [replace(open_point(load, 1.0), ttft=None, e2e=latency(mm1(load))) for load in GRID]
    bend = knee(made_curve(points))
    assert bend is not None
    assert (bend.response, bend.load) == exactly("e2e", 5)


ENGINE = EngineTiming()
LACKING: dict[str, dict[str, object]] = {
    "nothing": {},
    "answers": {"e2e": None, "tpot": None},
    "rate": {"throughput_rps": None},
}


def engine_point(held: int, lacking: dict[str, object]) -> Point:
    """The engine double with `held` sequences, each of 1,000 tokens in and 400 out, one after another."""
    answer_s = ENGINE.prefill_s(1000) + ENGINE.output_tokens * ENGINE.tpot_at(held)
    return replace(closed_point(held, held / answer_s), **lacking)  # type: ignore[arg-type]


@pytest.mark.parametrize("lacks", LACKING)
def test_the_engine_double_in_closed_loops_has_its_knee_where_it_was_put(lacks: str) -> None:
    sweep = [judge(engine_point(held, LACKING[lacks])) for held in (10, 20, 30, 40, 50, 60, 80, 120)]
    bend = knee(curve_of(sweep, "in_flight"))
    assert bend is not None
    assert bend.above is not None
    assert bend.below is not None
    for load, held in ((bend.above, 40), (bend.load, ENGINE.knee_in_flight), (bend.below, 60)):
        assert float(load) == pytest.approx(held)
