"""When calendar and clock raise a floor, and how certain they must be to lower it."""

from __future__ import annotations

import pytest

from prescale.clock import Clock
from stacks import ownership
from tests.core.cluster_double import scaled_object
from tests.core.decision_cases import HERE, HOUR, at, minimum, remembered, run, window


def test_nothing_before_the_raise() -> None:
    target, decision = run(scaled_object(), [window()], -1801)
    assert (decision.patch, decision.findings, minimum(target)) == (None, (), 2)


def test_raised_from_raise_at_and_released_at_the_end() -> None:
    target, decision = run(scaled_object(), [window()], -1800)
    assert decision.patch == {
        "metadata": {
            "resourceVersion": "1",
            "annotations": {
                ownership.FLOOR_ANNOTATION: '{"set":7,"events":[{"event":"sale","floor":7,'
                '"until":"2027-10-29T18:30:00Z","calendar":"local/events.yaml"}],"activated":true}',
                ownership.FORCE_ACTIVATION: "true",
            },
        },
        "spec": {"minReplicaCount": 7},
    }
    assert run(target, [window()], 4 * HOUR - 1)[1].patch is None
    target, decision = run(target, [window()], 4 * HOUR)
    assert minimum(target) == 2
    assert remembered(target) is None
    assert not decision.findings


def test_a_missed_run_is_made_up_for() -> None:
    assert minimum(run(scaled_object(), [window()], 1320)[0]) == 7


def test_overlapping_events_end_one_by_one() -> None:
    both = [window("long", 5, -3600, -1800, 9000), window("short", 9, -1800, 1800, 5400)]
    floors = []
    target = scaled_object()
    for seconds in (-3600, 0, 5399, 5400, 9000):
        target, _ = run(target, both, seconds)
        floors.append(minimum(target))
    assert floors == [5, 9, 9, 5, 2]


EXCEPT = "except 2027-10-29 from its series in the .ics file (EXDATE)"


class TestVanished:
    def test_held_to_its_recorded_end(self) -> None:
        target, _ = run(scaled_object(), [window()])
        held, decision = run(target, [], 3 * HOUR)
        assert minimum(held) == 7
        assert decision.patch is None
        assert "gone from the calendar" in decision.notes[0]
        assert minimum(run(held, [], 4 * HOUR)[0]) == 2

    @pytest.mark.parametrize(
        ("event", "fix"),
        [
            ("sale", "mark it `cancelled: true`"),
            ("sale@2027-10-29", "put 2027-10-29 into cancelled_on of sale"),
            ("sales-1f3a9c02b7", "have its entry in the .ics file with STATUS:CANCELLED"),
            (
                "sales-1f3a9c02b7@2027-10-29",
                f"{EXCEPT}, or have that day there as STATUS:CANCELLED",
            ),
        ],
    )
    def test_says_how_to_call_it_off_where_it_was_written(self, event: str, fix: str) -> None:
        target, _ = run(scaled_object(), [window(event)])
        _, decision = run(target, [], 3 * HOUR)
        (note,) = decision.notes
        assert note.endswith(f"To let it go now {fix}, or run `warmline prescale cancel {event}`.")

    def test_held_under_a_higher_one_that_is_still_there(self) -> None:
        both = [window("low", 5, end_s=3 * HOUR), window("high", 9, end_s=2 * HOUR)]
        target, _ = run(scaled_object(), both)
        target, _ = run(target, both[1:], 60)
        target, _ = run(target, both[1:], 2 * HOUR)
        assert minimum(target) == 5
        assert minimum(run(target, both[1:], 3 * HOUR)[0]) == 2

    def test_cancelled_is_a_certain_word(self) -> None:
        target, _ = run(scaled_object(), [window()])
        target, decision = run(target, [window(cancelled=True)], 60)
        assert minimum(target) == 2
        assert "cancelled" in decision.notes[0]

    def test_other_times_apply_at_once(self) -> None:
        target, _ = run(scaled_object(), [window()])
        assert minimum(run(target, [window(end_s=HOUR)], 2 * HOUR)[0]) == 2
        later, _ = run(target, [window(end_s=6 * HOUR)], 2 * HOUR)
        held = remembered(later)
        assert held
        assert held.events[0].until == at(6 * HOUR)
        assert minimum(run(target, [window(raise_s=24 * HOUR, start_s=25 * HOUR, end_s=26 * HOUR)], 60)[0]) == 2

    def test_a_lower_floor_under_the_same_name_applies_at_once(self) -> None:
        target, _ = run(scaled_object(), [window(floor=9)])
        assert minimum(run(target, [window(floor=6)], 60)[0]) == 6


class TestAnotherCalendar:
    def test_raises_but_does_not_lower(self) -> None:
        target, _ = run(scaled_object(), [window()])
        target, decision = run(target, [], 60, calendar="laptop/events.yaml")
        assert minimum(target) == 7
        assert HERE in decision.notes[0]
        target, _ = run(target, [window("mine", 9)], 60, calendar="laptop/events.yaml")
        assert minimum(target) == 9

    def test_each_lets_go_of_its_own(self) -> None:
        target, _ = run(scaled_object(), [window()])
        target, _ = run(target, [window("mine", 9)], 60, calendar="laptop/events.yaml")
        target, decision = run(target, [window()], 5 * HOUR)
        assert minimum(target) == 9
        assert "laptop/events.yaml raised it" in decision.findings[0]
        assert minimum(run(target, [], 5 * HOUR, calendar="laptop/events.yaml")[0]) == 2


class TestClock:
    @pytest.mark.parametrize("ahead_s", [-7200, 7200])
    def test_off_by_hours_raises_but_does_not_lower(self, ahead_s: int) -> None:
        raised, _ = run(scaled_object(), [window()])
        after = Clock(at(5 * HOUR), at(5 * HOUR - ahead_s))
        target, decision = run(raised, [window()], clock=after)
        assert minimum(target) == 7
        assert f"{abs(ahead_s)} s" in decision.findings[0]
        assert minimum(run(scaled_object(), [window()], clock=Clock(at(0), at(-ahead_s)))[0]) == 7

    def test_behind_raises_when_the_server_says_it_is_time(self) -> None:
        assert minimum(run(scaled_object(), [window()], clock=Clock(at(-2 * HOUR), at(0)))[0]) == 7

    def test_five_minutes_are_believed(self) -> None:
        raised, _ = run(scaled_object(), [window()])
        assert minimum(run(raised, [window()], clock=Clock(at(4 * HOUR), at(4 * HOUR + 300)))[0]) == 2
        assert minimum(run(raised, [window()], clock=Clock(at(4 * HOUR), at(4 * HOUR - 301)))[0]) == 7
