"""One replica's number: exact, traceable, and never more than what was shown."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capacity.replicas import of_load, whole
from capacity.sweeps.objective import objective
from capacity.sweeps.operating import at_load, read
from capacity.sweeps.sweep import Point, Sweep
from tests.core.made_points import closed_point, made_curve, open_point

PROMISED = objective({"ttft": Fraction(600)}, Fraction(99))


def sweep(*points: Point) -> Sweep:
    return Sweep("made", points)


RISING = sweep(open_point(2.1, 0.5, 7.8), open_point(4.2, 0.5, 8.0), open_point(8.4, 0.55, 9.0))


def test_three_quarters_of_the_knee_where_the_objective_holds_above_it() -> None:
    reading = read(RISING, PROMISED)
    assert reading.knee is not None
    assert reading.capacity is not None
    assert reading.knee.is_at_or_above
    sustainable, target = reading.capacity.sustainable, reading.capacity.target
    assert (sustainable.rps, sustainable.in_flight, sustainable.is_interpolated) == (
        Fraction("8.4"),
        Fraction("75.6"),
        False,
    )
    assert target.rps == Fraction("6.3")
    assert target.in_flight == Fraction("6.3") * Fraction("8.5")  # half way between 8 and 9 s an answer
    assert target.output_tokens_per_s == 630
    assert target.is_interpolated
    assert [run.point.origin.file for run in target.evidence] == ["4.2.json", "8.4.json"]
    assert reading.capacity.why == "75 % of the knee (at least 8.4 requests/s)"


def test_a_knee_below_all_that_was_measured_says_so() -> None:
    reading = read(sweep(open_point(2.0, 0.1), open_point(4.0, 0.5)), PROMISED)
    assert reading.capacity is not None
    assert reading.capacity.why == "75 % of the knee (at most 2 requests/s)"
    assert reading.capacity.target.rps == Fraction(3, 2)


def test_the_objective_where_it_holds_no_higher_than_that() -> None:
    reading = read(sweep(open_point(2.0, 0.5), open_point(4.0, 0.5), open_point(8.0, 0.7)), PROMISED)
    assert reading.knee is not None
    assert reading.capacity is not None
    assert reading.knee.load == 8
    assert reading.capacity.target == reading.capacity.sustainable
    assert reading.capacity.target.rps == 4
    assert "the objective" in reading.capacity.why


def test_no_float_before_the_ceil() -> None:
    """2.1 rps at 0.7 each are 3 replicas, not 4."""
    reading = read(sweep(open_point(0.7, 0.5), open_point(1.4, 0.9)), PROMISED)
    assert reading.capacity is not None
    assert reading.capacity.sustainable.rps is not None
    assert whole(of_load(Fraction("2.1"), reading.capacity.sustainable.rps)) == 3
    assert math.ceil(2.1 / 0.7) == 4


def test_closed_loops_alone_tell_what_may_be_in_flight_and_no_rate() -> None:
    points = [closed_point(held, min(held, 50) / 7.8) for held in (10, 25, 50, 100)]
    reading = read(sweep(*points), PROMISED)
    assert reading.curve.axis == "in_flight"
    assert reading.capacity is not None
    target = reading.capacity.target
    assert target.rps is None
    assert target.in_flight is not None
    assert float(target.in_flight) == pytest.approx(37.5)
    assert all(any(remark.code == "closed-loop" for remark in run.remarks) for run in reading.runs)


def test_open_loop_evidence_goes_before_closed_loops() -> None:
    reading = read(sweep(*RISING.points, closed_point(50, 6.4)), PROMISED)
    assert reading.curve.axis == "rps"
    assert len(reading.curve.steps) == 3


def test_mixed_configurations_conclude_nothing() -> None:
    first, second, third = RISING.points
    other = replace(second, configuration={"tensor_parallelism": "2"})
    reading = read(sweep(replace(first, configuration={"tensor_parallelism": "1"}), other, third), PROMISED)
    (line,) = reading.refused
    assert "tensor_parallelism: 1 (2.1.json), 2 (4.2.json)" in line
    assert (reading.knee, reading.capacity, reading.curve.steps) == (None, None, ())


def test_without_an_objective_there_is_a_knee_and_no_capacity() -> None:
    reading = read(RISING)
    assert reading.knee is not None
    assert (reading.goodput, reading.capacity) == (None, None)


def test_no_load_that_is_shown_to_hold_is_no_capacity() -> None:
    assert read(sweep(open_point(2.0, 0.7), open_point(4.0, 0.9)), PROMISED).capacity is None


def test_without_a_knee_three_quarters_of_what_was_shown() -> None:
    reading = read(sweep(open_point(4.0, 0.5)), PROMISED)
    assert reading.knee is None
    assert reading.capacity is not None
    assert reading.capacity.target.rps == 3
    assert "for want of a knee" in reading.capacity.why


def test_repeats_count_as_the_least_that_any_of_them_sent_and_carried() -> None:
    runs = [
        open_point(4.0, 0.5, 9.0, achieved_rps=3.9, throughput_rps=3.9, output_tokens_per_s=380.0),
        open_point(4.0, 0.5, 8.0, name="again"),
    ]
    reading = read(sweep(*runs), PROMISED)
    assert reading.capacity is not None
    sustainable = reading.capacity.sustainable
    assert (sustainable.rps, sustainable.in_flight) == (Fraction("3.9"), Fraction(32))
    assert sustainable.output_tokens_per_s == 380
    assert len(sustainable.evidence) == 2


def test_what_one_run_does_not_say_stays_unknown() -> None:
    first, second, third = RISING.points
    reading = read(sweep(first, second, replace(third, output_tokens_per_s=None, e2e=None)), PROMISED)
    assert reading.capacity is not None
    assert reading.capacity.target.output_tokens_per_s is None
    assert reading.capacity.target.in_flight is None


MEASURED = st.dictionaries(
    st.integers(1, 200), st.tuples(st.floats(0.01, 1.2), st.floats(1.3, 30)), min_size=1, max_size=8
)


@given(MEASURED)
def test_the_target_is_never_above_what_was_shown(measured: dict[int, tuple[float, float]]) -> None:
    points = [open_point(float(load), ttft_s, e2e_s) for load, (ttft_s, e2e_s) in measured.items()]
    reading = read(sweep(*points), PROMISED)
    if reading.capacity is None:
        assert reading.goodput is not None
        assert reading.goodput.load is None
        return
    sustainable, target = reading.capacity.sustainable, reading.capacity.target
    assert isinstance(target.rps, Fraction)
    assert sustainable.rps in measured
    assert target.rps <= sustainable.rps
    assert reading.knee is None or target.rps <= Fraction(3, 4) * reading.knee.load


@given(MEASURED, st.fractions(0, 1))
def test_what_belongs_to_a_load_lies_between_its_neighbours(
    measured: dict[int, tuple[float, float]], way: Fraction
) -> None:
    curve = made_curve([open_point(float(load), *seconds) for load, seconds in measured.items()])
    load = way * curve.steps[-1].load
    if load == 0:
        return
    found = at_load(curve, load)
    assert found.in_flight is not None
    each = [step.load * Fraction(1) for step in curve.steps]
    assert found.rps == load
    assert found.is_interpolated == (load not in each)
    answers = [Fraction(str(seconds[1])) for seconds in measured.values()]
    assert min(answers) <= found.in_flight / load <= max(answers)
