"""What is to be tried before a plan is believed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capacity.sizing.carries import Carries
from capacity.sizing.plan import Plan, plan
from capacity.sizing.validation import Validation, validation
from capacity.sweeps.goodput import Goodput, Spread
from capacity.sweeps.objective import objective
from capacity.sweeps.operating import Reading, read
from capacity.sweeps.sweep import Sweep
from stacks.spec import NodePool
from stacks.workloads import Workload
from tests.core.made_points import open_point
from tests.core.test_comparison import PLATFORM, request

OBJECTIVE = objective({"ttft": Fraction(600)}, Fraction(95))
POOL = PLATFORM.node_pools["l40s"]


def of(made: Plan, *readings: Reading, pool: NodePool = POOL) -> Validation:
    return validation(made, pool, readings)


def surviving(in_flight: int, **reliability: object) -> Plan:
    """No rollout takes anything away, and nothing grows."""
    asked = request(rps=None, request_duration_s=None, in_flight=in_flight, largest_minute_jump_pct=0)
    said = {"reliability": {"near_term_growth_pct": 0} | reliability}
    given = asked.workload.model_dump(exclude_none=True) | said
    return plan(replace(asked, workload=Workload.model_validate(given)))


def measured(reading: Reading) -> Plan:
    """The worked example, with this reading's number."""
    assert reading.capacity
    assert reading.capacity.target.in_flight
    load = {"in_flight": reading.capacity.target.in_flight}
    carries = Carries(load, "measured", "benchmarks/made", why="75 % of the knee", at_slo=True)  # type: ignore[arg-type]
    return plan(request(), measured={"chat": carries})


class TestRuns:
    def test_a_typed_number_is_measured_below_at_and_above_it(self) -> None:
        """40 in flight of 7.8 s each are 5.128 requests/s."""
        found = of(plan(request()))
        assert [float(run.load) for run in found.runs] == pytest.approx([3.846, 5.128, 6.410, 7.692], abs=1e-3)
        assert {(run.axis, run.times, run.of) for run in found.runs} == {("rps", 3, "chat")}
        assert found.requests == 1000, "at 99 % ten lie beyond"

    def test_without_a_duration_the_number_is_what_is_in_flight(self) -> None:
        asked = request(rps=None, request_duration_s=None, in_flight=200)
        assert [run.load for run in of(plan(asked)).runs] == [30, 40, 50, 60]

    def test_around_target_and_crossing_as_often_as_is_missing(self) -> None:
        """Holds to 20, fails at 30; the target is 75 % of the knee, which nobody measured."""
        points = [open_point(rps, ttft_s, rps * 0.1 + ttft_s) for rps, ttft_s in ((10, 0.2), (20, 0.3), (30, 2.0))]
        again = open_point(20, 0.3, 2.3, name="again.json")
        reading = read(Sweep("made", (*points, again)), OBJECTIVE)
        assert reading.goodput
        assert reading.capacity
        runs = {run.load: run for run in of(measured(reading), reading).runs}
        assert runs[Fraction(20)].times == 1, "two of three are there"
        assert runs[Fraction(30)].times == 2
        assert reading.capacity.target.rps in runs
        assert reading.goodput.crossing in runs
        assert Fraction(10) not in runs
        assert list(runs) == sorted(runs)

    def test_where_nothing_failed_it_goes_on(self) -> None:
        reading = read(Sweep("made", tuple(open_point(rps, 0.2) for rps in (10, 20))), OBJECTIVE)
        runs = {run.load: run.why for run in of(measured(reading), reading).runs}
        assert "nothing failed yet" in runs[Fraction(25)]

    def test_repeats_that_lie_apart_are_repeated(self) -> None:
        reading = read(Sweep("made", tuple(open_point(rps, 0.2) for rps in (10, 20))), OBJECTIVE)
        spread = Spread(Fraction(10), 4, 4, {"ttft": (Fraction(2, 10), Fraction(3, 10))})
        near = replace(spread, p95_s={"ttft": (Fraction(200), Fraction(219))})
        runs = {run.load: run for run in of(measured(reading), replace(reading, spreads=(spread,))).runs}
        assert "p95 of ttft differs by more than a tenth between 4 runs" in runs[Fraction(10)].why
        assert Fraction(10) not in {run.load for run in of(measured(reading), replace(reading, spreads=(near,))).runs}

    def test_an_objective_that_holds_now_and_then_is_tried_again(self) -> None:
        reading = read(Sweep("made", tuple(open_point(rps, 0.2) for rps in (10, 20))), OBJECTIVE)
        now_and_then = replace(reading, spreads=(Spread(Fraction(10), 4, 3, {}),))
        runs = {run.load: run for run in of(measured(reading), now_and_then).runs}
        assert runs[Fraction(10)].why == "the objective held in 3 of 4 runs"

    def test_of_loads_that_tell_nothing_those_above_what_holds_count(self) -> None:
        reading = read(Sweep("made", tuple(open_point(rps, 0.2) for rps in (10, 20))), OBJECTIVE)
        assert reading.goodput
        untold = replace(reading.goodput, unknown=(Fraction(5), Fraction(22)))
        loads = {run.load for run in of(measured(reading), replace(reading, goodput=untold)).runs}
        assert Fraction(22) in loads
        assert Fraction(5) not in loads

    def test_what_is_measured_three_times_and_known_asks_for_nothing(self) -> None:
        points = [
            open_point(rps, ttft, name=f"{rps}-{n}") for rps, ttft in ((10, 0.2), (20, 0.6), (30, 3)) for n in "abc"
        ]
        reading = read(Sweep("made", tuple(points)), OBJECTIVE)
        assert reading.goodput
        assert reading.capacity
        plan_of_it = measured(reading)
        settled = replace(
            reading,
            goodput=Goodput(Fraction(20), Fraction(30), None, (), ()),
            capacity=replace(reading.capacity, target=replace(reading.capacity.target, rps=Fraction(10))),
        )
        assert of(plan_of_it, settled).runs == ()

    def test_evidence_of_other_hardware_is_not_refined_but_made_anew(self) -> None:
        reading = read(Sweep("made", tuple(open_point(rps, 0.2) for rps in (10, 20))), OBJECTIVE)
        made = measured(reading)
        sandbox = {kind: replace(carries, kind="sandbox") for kind, carries in made.carries.items()}
        found = of(replace(made, carries=sandbox), reading)
        assert {run.of for run in found.runs} == {"chat"}
        assert "sandbox evidence" in found.runs[0].why

    def test_a_curve_without_steps_is_no_measurement(self) -> None:
        empty = read(Sweep("made", ()), OBJECTIVE)
        reading = read(Sweep("made", tuple(open_point(rps, 0.2) for rps in (10, 20))), OBJECTIVE)
        assert of(measured(reading), empty).runs == ()

    def test_assumed_fields_and_classes_of_the_mix_are_named(self) -> None:
        assert of(plan(request(growth_pct=None))).assumed == {"chat": ("growth_pct",)}
        asked = request()
        chat = asked.workload.profile.classes["chat"]
        profile = asked.workload.profile.model_copy(update={"classes": {"chat": chat, "summaries": chat}})
        both = plan(replace(asked, workload=asked.workload.model_copy(update={"profile": profile})))
        assert of(both).of_the_mix == ("chat", "summaries")


class TestLinearity:
    def test_the_numbers_of_the_plan(self) -> None:
        """7 replicas: 3 and 6, of 5.128 requests/s each; at 90 % the plan is 6.76845 / 0.9 = 7.52, so 8."""
        found = of(plan(request())).linearity
        assert (found.replicas, found.planned, found.if_short) == (3, 7, 8)
        assert found.in_flight == 40
        assert found.rps == Fraction(40) / Fraction("7.8")
        assert found.peak * found.in_flight == Fraction("208.26")

    def test_of_one_replica_two_are_tried(self) -> None:
        found = of(surviving(10, survive="none")).linearity
        assert (found.replicas, found.planned) == (1, 1)
        assert found.rps is None


class TestLosses:
    def test_zones(self) -> None:
        """Base 7 over 3 zones is 11: 4 go, 7 remain, each with just its number."""
        found = {loss.domain: loss for loss in of(surviving(280, survive="zone", zones=3)).losses}
        assert (found["zone"].gone, found["zone"].remain) == (4, 7)
        assert found["zone"].each == 1
        assert all(loss.asked and loss.is_carried for loss in found.values())

    def test_what_nobody_asked_for_may_break(self) -> None:
        found = {loss.domain: loss for loss in of(surviving(280, survive="none")).losses}
        assert (found["pod"].remain, found["pod"].each, found["pod"].is_carried) == (6, Fraction(7, 6), False)
        assert not found["pod"].asked
        assert "zone" not in found, "nobody said how many there are"

    def test_the_last_replica_leaves_nothing(self) -> None:
        (pod, node) = of(surviving(10, survive="none")).losses
        assert (pod.remain, pod.each, pod.is_carried, node.remain) == (0, None, False, 0)

    def test_a_node_takes_all_its_replicas(self) -> None:
        big = POOL.model_copy(update={"instance_types": ["p5.48xlarge"]})
        asked = request(rps=None, request_duration_s=None, in_flight=600, largest_minute_jump_pct=0)
        node_only = {"reliability": {"survive": "node", "near_term_growth_pct": 0}}
        given = asked.workload.model_dump(exclude_none=True) | node_only
        made = plan(replace(asked, workload=Workload.model_validate(given), pool=big))
        node = {loss.domain: loss for loss in of(made, pool=big).losses}["node"]
        assert (node.gone, node.remain) == (8, 15)
        assert node.each == 1

    @given(st.integers(1, 4000), st.sampled_from(["none", "pod", "node", "zone"]), st.integers(2, 6))
    def test_what_is_asked_for_is_carried(self, in_flight: int, survive: str, zones: int) -> None:
        found = of(surviving(in_flight, survive=survive, zones=zones, capacity_after_loss_pct=100))
        for loss in found.losses:
            assert loss.remain + loss.gone == found.linearity.planned
            if loss.asked:
                assert loss.is_carried
        assert found.linearity.if_short >= found.linearity.planned
