"""The load that arrived, and a plan with what was seen: by hand, and as properties."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capacity.recordings.comparison import Compared, Comparison, compare
from capacity.recordings.histogram import histogram
from capacity.recordings.planned import Planned
from capacity.recordings.recording import Recording, Series, most_in_flight, peak, window
from capacity.request import Request, made_to
from capacity.sizing.plan import plan
from stacks.loader import load_platform
from stacks.workloads import Workload
from tests.cli.stack_folder import REPOSITORY

PLATFORM = load_platform("local", REPOSITORY / "stacks")
TENTH = Fraction(1, 10)
BEGIN = 1_800_000_000
BOUNDS = (1, 2, 5, 10, 20, 50, 100)


def request(**fields: object) -> Request:
    load = {"rps": Decimal("26.7"), "request_duration_s": Decimal("7.8"), "growth_pct": 0, "exact_cache_hit_pct": 0}
    profile = {"classes": {"chat": load | fields}}
    given = {"service": "support-bot", "profile": profile, "reliability": {"headroom_pct": Decimal(30)}}
    return made_to(PLATFORM, "bot", Workload.model_validate(given))


def planned(*requests: Request) -> Planned:
    return Planned(requests, tuple(plan(each) for each in requests))


def steady(rps: Fraction, duration_s: Fraction, *, replicas: int = 7, growth: Fraction = Fraction(0)) -> Recording:
    """An hour in which `rps` arrive, of whom `growth` a second only wait."""
    looked_at = window(BEGIN, BEGIN + 3600)
    moments = range(looked_at.first, looked_at.end + 1, looked_at.step_s)
    held = {moment: rps * duration_s + growth * (moment - BEGIN) for moment in moments}
    ended: Series = {
        moment: (rps - growth) * looked_at.busy_s for moment in moments if moment - BEGIN >= looked_at.busy_s
    }
    count = (rps - growth) * 3600
    buckets = [(Fraction(bound), count if duration_s <= bound else Fraction(0)) for bound in BOUNDS]
    whole = histogram([*buckets, (None, count)], duration_s * count)
    return Recording(
        window=looked_at,
        in_flight=held,
        replicas=dict.fromkeys(moments, Fraction(replicas)),
        ended=ended,
        refused=None,
        ends={"stop": count},
        failed=Fraction(0),
        refusals=None,
        preemptions=Fraction(0),
        timed={"e2e": whole} if whole else {},
        counted={},
    )


def of(found: Comparison, what: str) -> Compared:
    return next(one for one in found.assumptions if one.what == what)


class TestArrived:
    def test_what_waits_has_arrived_too(self) -> None:
        found = peak(steady(Fraction(30), Fraction(8), growth=Fraction(10)))
        assert found
        assert (found.arrived_rps, found.ended_rps) == (Fraction(30), Fraction(20))
        assert found.is_queueing

    def test_what_random_arrivals_add_for_a_while_is_no_queue(self) -> None:
        """240 in flight: chance alone adds up to some 46."""
        grown = {
            growth: peak(steady(Fraction(30), Fraction(8), growth=Fraction(growth, 300))) for growth in (0, 40, 4000)
        }
        assert [found.is_queueing for found in grown.values() if found] == [False, False, True]

    def test_refused_ones_have_too(self) -> None:
        made = steady(Fraction(30), Fraction(8))
        refused = dict.fromkeys(made.ended, Fraction(600))
        found = peak(replace(made, refused=refused))
        assert found
        assert found.arrived_rps == 32

    def test_the_busiest_stretch_counts(self) -> None:
        made = steady(Fraction(10), Fraction(5))
        busiest = made.window.end - 600
        found = peak(replace(made, ended={**made.ended, busiest: Fraction(9000)}))
        assert found
        assert (found.end, found.arrived_rps) == (busiest, Fraction(30))

    def test_a_stretch_that_was_not_seen_whole_is_left_out(self) -> None:
        made = steady(Fraction(10), Fraction(5))
        assert peak(replace(made, in_flight={})) is None
        assert peak(replace(made, ended={})) is None
        late = {moment: value for moment, value in made.in_flight.items() if moment > made.window.end - 60}
        assert peak(replace(made, in_flight=late)) is None
        assert most_in_flight(replace(made, in_flight=late)) is None


class TestWindow:
    @given(st.integers(10, 92 * 86400))
    def test_whole_steps_few_enough_and_no_gap_between_stretches(self, length_s: int) -> None:
        found = window(BEGIN, BEGIN + length_s)
        assert found.busy_s % found.step_s == 0
        assert found.step_s <= found.busy_s <= max(300, found.step_s)
        assert (found.end - found.first) % found.step_s == 0
        assert BEGIN <= found.first <= found.end - found.busy_s
        assert length_s / found.step_s <= 1000
        if 100 <= length_s <= 86400:
            assert found.busy_s >= min(length_s, 300) * 0.7


class TestMoved:
    def test_the_worked_example_with_longer_requests(self) -> None:
        found = compare(planned(request()), steady(Fraction("26.7"), Fraction("9.1")), TENTH)
        duration = of(found, "request_duration_s")
        assert (duration.verdict, duration.ratio) == ("moved", Fraction(7, 6))
        assert duration.answer
        assert duration.answer.in_flight
        assert duration.answer.in_flight.high == Fraction("242.97")
        assert duration.answer.replicas.high == 8
        assert found.needs_a_person
        assert found.together is None, "one thing moved: its own answer is the answer"

    def test_people_scale_with_the_load(self) -> None:
        """3,600 users, one run an hour, one call: 1 rps; twice as much seen makes twice as many in flight."""
        users = {"active_users": Decimal(3600), "runs_per_user_hour": Decimal(1), "llm_calls_per_run": Decimal(1)}
        asked = request(rps=None, **users, retries_pct=Decimal(0), peak_to_average=Decimal(1))
        found = compare(planned(asked), steady(Fraction(2), Fraction("7.8")), TENTH)
        answer = of(found, "offered_rps").answer
        assert answer
        assert answer.in_flight
        assert answer.in_flight.high == Fraction("15.6")

    def test_a_load_said_in_flight_is_compared_in_flight(self) -> None:
        asked = request(rps=None, request_duration_s=None, in_flight=Decimal(200))
        found = compare(planned(asked), steady(Fraction(40), Fraction(10)), TENTH)
        assert of(found, "offered_rps").verdict == "not planned"
        assert of(found, "request_duration_s").verdict == "not planned"
        held = of(found, "in_flight")
        assert held.verdict == "moved"
        assert held.answer
        assert held.answer.replicas.high == 13  # 400 / 40 x 1.3

    def test_tokens_that_were_assumed_are_a_range(self) -> None:
        asked = request(request_duration_s=None)
        assumed = planned(asked).tokens("output_tokens")
        assert assumed
        assert (assumed.low, assumed.high) == (Fraction(28), Fraction(343))
        moved = planned(asked).moved({"output_tokens": Fraction(2)})
        doubled = moved.tokens("output_tokens")
        assert doubled
        assert doubled.low == doubled.high == 686

    @given(st.fractions(Fraction(1, 10), 5, max_denominator=50), st.sampled_from(["load", "request_duration_s"]))
    def test_a_factor_of_the_load_is_one_of_the_answer(self, ratio: Fraction, what: str) -> None:
        before = planned(request())
        after = before.moved({what: ratio})  # type: ignore[dict-item]
        assert before.answer.in_flight
        assert after.answer.in_flight
        assert abs(after.answer.in_flight.high - before.answer.in_flight.high * ratio) < Fraction(1, 10**20)
        assert (after.answer.replicas.high >= before.answer.replicas.high) or ratio < 1

    @given(st.fractions(1, 3, max_denominator=50), st.fractions(1, 3, max_denominator=50))
    def test_more_seen_never_takes_fewer_replicas(self, rps: Fraction, duration: Fraction) -> None:
        before = planned(request())
        found = compare(before, steady(Fraction("26.7") * rps, Fraction("7.8") * duration, replicas=9), TENTH)
        for one in found.assumptions:
            if one.verdict == "moved" and one.answer:
                assert one.answer.replicas.high >= before.answer.replicas.high
        if found.together:
            alone = [one.answer.replicas.high for one in found.assumptions if one.verdict == "moved" and one.answer]
            assert found.together.replicas.high >= max(alone)

    @given(
        st.fractions(Fraction(9, 10), Fraction(11, 10), max_denominator=1000),
        st.fractions(Fraction(91, 100), Fraction(109, 100), max_denominator=1000),
    )
    def test_within_the_tolerance_nothing_moves(self, rps: Fraction, duration: Fraction) -> None:
        """In flight is the product of both and may be further off."""
        found = compare(planned(request()), steady(Fraction("26.7") * rps, Fraction("7.8") * duration), TENTH)
        assert {one.what for one in found.moved} <= {"in_flight"}


@pytest.mark.parametrize("whats", [("in_flight",), ("in_flight", "per_replica")])
def test_less_carried_takes_more_replicas(whats: tuple[str, ...]) -> None:
    own = {"in_flight": Decimal(20), "evidence": "made", "kind": "sandbox"} if "per_replica" in whats else None
    before = planned(request(per_replica=own))
    after: Planned = before.moved({"in_flight_per_replica": Fraction(1, 2)})
    assert before.per_replica
    assert after.per_replica
    assert after.per_replica.high == before.per_replica.high / 2
    assert after.answer.replicas.high > before.answer.replicas.high
