from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from whenever import Instant

from prescale import record as book
from prescale.clock import Clock
from prescale.decision import Decision, decide
from prescale.record import Held, Record
from prescale.timetable import Load, Step, Window
from stacks import ownership
from tests.core.cluster_double import by_a_person, patched, scaled_object, seen

T0 = Instant.from_utc(2027, 10, 29, 14, 30)
HOUR = 3600
HERE = "local/events.yaml"
LOAD = Load(Fraction(1), Decimal(1), Fraction(1), Decimal(1), Fraction(1))


def at(seconds: float) -> Instant:
    """Seconds after T0."""
    return T0.add(seconds=seconds)


def window(
    event: str = "sale",
    floor: int = 7,
    raise_s: int = -1800,
    start_s: int = 0,
    end_s: int = 4 * HOUR,
    *,
    cancelled: bool = False,
) -> Window:
    steps = (Step("all of it", at(raise_s), start_s - raise_s),)
    start, end = (at(s).to_tz("Asia/Kolkata") for s in (start_s, end_s))
    zero = Decimal(0)
    return Window(
        event, "support-bot", cancelled, LOAD, zero, Fraction(floor), floor, 16, 2, 300, 1500, steps, start, end
    )


def run(
    target: dict[str, Any],
    windows: list[Window],
    seconds: float = 0,
    *,
    calendar: str = HERE,
    clock: Clock | None = None,
) -> tuple[dict[str, Any], Decision]:
    """One run: the object after it, and what was decided."""
    decision = decide(seen(target), windows, calendar, clock or Clock(at(seconds)))
    return patched(target, decision.patch), decision


def minimum(target: dict[str, Any]) -> int:
    value: int = target["spec"].get("minReplicaCount", 0)
    return value


def remembered(target: dict[str, Any]) -> Record | None:
    text = target["metadata"]["annotations"].get(ownership.FLOOR_ANNOTATION)
    return None if text is None else book.parse(text)


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


class TestVanished:
    def test_held_to_its_recorded_end(self) -> None:
        target, _ = run(scaled_object(), [window()])
        held, decision = run(target, [], 3 * HOUR)
        assert minimum(held) == 7
        assert decision.patch is None
        assert "gone from the calendar" in decision.notes[0]
        assert minimum(run(held, [], 4 * HOUR)[0]) == 2

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


class TestAPerson:
    def test_higher_value_is_kept_to_the_windows_end(self) -> None:
        target, _ = run(scaled_object(), [window()])
        target, decision = run(by_a_person(target, 9), [window()], 60)
        assert minimum(target) == 9
        assert "a person's 9 is kept until 2027-10-29T18:30:00Z" in decision.notes[0]
        assert not decision.findings
        assert run(target, [window()], 3 * HOUR)[1].patch is None
        assert minimum(run(target, [window()], 4 * HOUR)[0]) == 2

    def test_higher_value_outside_of_a_window_is_kept_four_hours(self) -> None:
        target, _ = run(by_a_person(scaled_object(), 4), [], 0)
        assert minimum(target) == 4
        assert run(target, [], 4 * HOUR - 1)[1].patch is None
        assert minimum(run(target, [], 4 * HOUR)[0]) == 2

    def test_a_window_that_opens_meanwhile_keeps_it_to_its_end(self) -> None:
        target, _ = run(by_a_person(scaled_object(), 9), [window()], -3 * HOUR)
        target, _ = run(target, [window()], -1800)
        assert minimum(run(target, [window()], 3 * HOUR)[0]) == 9
        assert minimum(run(target, [window()], 4 * HOUR)[0]) == 2

    def test_lower_value_is_raised_again(self) -> None:
        target, _ = run(scaled_object(), [window()])
        target, decision = run(by_a_person(target, 3), [window()], 60)
        assert minimum(target) == 7
        assert decision.notes == ("somebody lowered 7 to 3; raised again",)

    def test_a_second_thought_takes_the_first_ones_place(self) -> None:
        target, _ = run(by_a_person(scaled_object(), 9), [])
        target, _ = run(by_a_person(target, 5), [], HOUR)
        assert minimum(target) == 5
        target, _ = run(by_a_person(target, 1), [], 2 * HOUR)
        assert minimum(target) == 2
        assert remembered(target) is None

    def test_taken_back_to_ours_is_not_raised_to_the_old_one(self) -> None:
        target, _ = run(scaled_object(), [window()])
        target, _ = run(by_a_person(target, 9), [window()], 60)
        target, _ = run(by_a_person(target, 7), [window()], 120)
        assert minimum(target) == 7

    def test_kept_beneath_an_event_that_is_higher(self) -> None:
        target, _ = run(by_a_person(scaled_object(), 5), [], -HOUR)
        target, _ = run(target, [window(end_s=HOUR)])
        assert minimum(target) == 7
        target, _ = run(target, [window(end_s=HOUR)], HOUR)
        assert minimum(target) == 5
        assert minimum(run(target, [window(end_s=HOUR)], 3 * HOUR)[0]) == 2

    def test_known_by_value_where_the_server_names_no_owner(self) -> None:
        target, _ = run(scaled_object(owner=None), [window()])
        target, _ = run(by_a_person(target, 9), [window()], 60)
        assert minimum(target) == 9


class TestBaseline:
    def test_a_change_takes_effect_at_the_next_run(self) -> None:
        assert minimum(run(scaled_object(minimum=2, baseline="3"), [])[0]) == 3
        assert minimum(run(scaled_object(minimum=3, baseline="2"), [])[0]) == 2
        ours = scaled_object(minimum=3, baseline="2", owner=(ownership.FIELD_MANAGER, "Update"))
        assert minimum(run(ours, [])[0]) == 2

    def test_a_change_under_an_event_waits_for_its_end(self) -> None:
        target, _ = run(scaled_object(), [window()])
        target["metadata"]["annotations"][ownership.BASELINE_ANNOTATION] = "4"
        assert minimum(run(target, [window()], 60)[0]) == 7
        assert minimum(run(target, [window()], 4 * HOUR)[0]) == 4

    @pytest.mark.parametrize("text", [None, "", "two", "-1", "2.0", "٣", "1" * 9])
    def test_unreadable_raises_but_does_not_lower(self, text: str | None) -> None:
        target, decision = run(scaled_object(baseline=text), [window()])
        assert minimum(target) == 7
        assert "pulumi up" in decision.findings[0]
        assert minimum(run(target, [window()], 5 * HOUR)[0]) == 7

    def test_lowers_once_it_can_be_read_again(self) -> None:
        target, _ = run(scaled_object(baseline=None), [window()])
        target, _ = run(target, [window()], 5 * HOUR)
        target["metadata"]["annotations"][ownership.BASELINE_ANNOTATION] = "2"
        assert minimum(run(target, [window()], 5 * HOUR)[0]) == 2


def test_a_window_of_another_calendar_that_is_over_does_not_say_how_long_a_persons_value_is_kept() -> None:
    target, _ = run(scaled_object(), [window()], calendar="laptop/events.yaml")
    target, _ = run(by_a_person(target, 9), [], 5 * HOUR)
    assert minimum(run(target, [], 8 * HOUR)[0]) == 9
    assert minimum(run(target, [], 9 * HOUR)[0]) == 7


class TestZero:
    def test_activation_comes_and_goes_in_the_same_patches(self) -> None:
        target, decision = run(scaled_object(minimum=0, baseline="0"), [window()])
        assert decision.patch
        assert decision.patch["metadata"]["annotations"][ownership.FORCE_ACTIVATION] == "true"
        assert decision.patch["spec"] == {"minReplicaCount": 7}
        target, _ = run(target, [window()], 4 * HOUR)
        assert ownership.FORCE_ACTIVATION not in target["metadata"]["annotations"]
        assert minimum(target) == 0

    def test_every_event_has_it_for_a_pause_may_have_left_no_replicas(self) -> None:
        target, decision = run(scaled_object(), [window()])
        assert decision.patch
        assert decision.patch["metadata"]["annotations"][ownership.FORCE_ACTIVATION] == "true"
        target, _ = run(target, [window()], 4 * HOUR)
        assert target["metadata"]["annotations"] == {ownership.BASELINE_ANNOTATION: "2"}

    def test_a_baseline_is_brought_up_from_no_replicas_too(self) -> None:
        resting = {"conditions": [{"type": "HPAActive", "status": "True", "reason": "ScalingDisabled"}]}
        target, decision = run({**scaled_object(), "status": resting}, [])
        assert "at 0 replicas" in decision.notes[0]
        assert target["metadata"]["annotations"][ownership.FORCE_ACTIVATION] == "true"
        assert run(target, [])[1].patch is None
        target, _ = run({**target, "status": {}}, [])
        assert target["metadata"]["annotations"] == {ownership.BASELINE_ANNOTATION: "2"}

    @pytest.mark.parametrize(
        "start",
        [
            scaled_object(minimum=0, baseline="0"),
            scaled_object(idle=0),
            scaled_object(annotations={ownership.PAUSED: "true"}),
        ],
    )
    def test_what_is_meant_to_have_no_replicas_is_left_alone(self, start: dict[str, Any]) -> None:
        resting = {"conditions": [{"type": "HPAActive", "status": "True", "reason": "ScalingDisabled"}]}
        assert run({**start, "status": resting}, [])[1].patch is None

    def test_activation_of_somebody_else_stays(self) -> None:
        theirs = {ownership.FORCE_ACTIVATION: "true"}
        target, _ = run(scaled_object(minimum=0, baseline="0", annotations=theirs), [window()])
        target, _ = run(target, [window()], 4 * HOUR)
        assert target["metadata"]["annotations"][ownership.FORCE_ACTIVATION] == "true"

    def test_activation_as_go_reads_it(self) -> None:
        theirs = {ownership.FORCE_ACTIVATION: "True"}
        decision = run(scaled_object(minimum=0, baseline="0", annotations=theirs), [window()])[1]
        assert decision.patch
        assert ownership.FORCE_ACTIVATION not in decision.patch["metadata"]["annotations"]

    def test_absent_minimum_is_zero(self) -> None:
        assert run(scaled_object(minimum=None, baseline="0"), [])[1].patch is None


class TestRefused:
    def test_a_floor_above_the_live_ceiling(self) -> None:
        target, decision = run(scaled_object(maximum=5), [window()])
        assert minimum(target) == 2
        assert "a floor of 7 was refused, it is above the live ceiling of 5" in decision.findings[0]

    def test_the_event_that_fits_is_raised(self) -> None:
        target, _ = run(scaled_object(maximum=5), [window(), window("small", 4)])
        assert minimum(target) == 4

    def test_a_ceiling_lowered_under_a_raised_floor_changes_nothing(self) -> None:
        target, _ = run(scaled_object(), [window()])
        target["spec"]["maxReplicaCount"] = 5
        target, decision = run(target, [window()], 60)
        assert minimum(target) == 7
        assert "refused" in decision.findings[0]
        assert minimum(run(target, [window()], 4 * HOUR)[0]) == 2

    def test_never_touches_the_ceiling(self) -> None:
        for maximum in (5, 16, None):
            decision = run(scaled_object(maximum=maximum), [window()])[1]
            assert "maxReplicaCount" not in (decision.patch or {}).get("spec", {})


class TestNotInForce:
    @pytest.mark.parametrize(
        "annotations", [{ownership.PAUSED: "true"}, {ownership.PAUSED: "yes"}, {ownership.PAUSED_REPLICAS: "3"}]
    )
    def test_paused(self, annotations: dict[str, str]) -> None:
        decision = run(scaled_object(annotations=annotations), [window()])[1]
        assert "KEDA is paused" in decision.findings[0]
        assert not run(scaled_object(annotations=annotations), [])[1].findings

    def test_paused_false_is_not_paused(self) -> None:
        for text in ("false", "False", "0"):
            assert not run(scaled_object(annotations={ownership.PAUSED: text}), [window()])[1].findings

    def test_idle(self) -> None:
        target, decision = run(scaled_object(idle=0), [window()])
        assert "idleReplicaCount 0" in decision.findings[0]
        assert target["metadata"]["annotations"][ownership.FORCE_ACTIVATION] == "true"


class TestRecordLost:
    @pytest.mark.parametrize(
        "text", ["", "{", "[]", "7", '{"set":"7"}', '{"events":[{"floor":7}]}', '{"kept":{"floor":9}}', "[" * 9999]
    )
    def test_unreadable_raises_but_does_not_lower(self, text: str) -> None:
        broken = {ownership.FLOOR_ANNOTATION: text}
        target, decision = run(scaled_object(minimum=7, annotations=broken), [])
        assert (minimum(target), decision.patch) == (7, None)
        assert "cannot be read" in decision.findings[0]
        assert minimum(run(scaled_object(minimum=3, annotations=broken), [window()])[0]) == 7

    def test_what_was_there_is_held_under_what_is_raised(self) -> None:
        broken = {ownership.FLOOR_ANNOTATION: "{"}
        target, _ = run(scaled_object(minimum=6, annotations=broken), [window(end_s=HOUR), window("b", 5, end_s=60)])
        kept = remembered(target)
        assert kept
        assert kept.kept
        assert kept.kept.floor == 6

    def test_a_removed_annotation_lets_go(self) -> None:
        target, _ = run(scaled_object(), [window()])
        del target["metadata"]["annotations"][ownership.FLOOR_ANNOTATION]
        assert minimum(run(target, [], 60)[0]) == 2


# --- any history ---

EVENTS = st.builds(
    window,
    event=st.sampled_from(["a", "b", "c"]),
    floor=st.integers(0, 20),
    raise_s=st.integers(-4, 0).map(lambda n: n * 1800),
    start_s=st.integers(0, 4).map(lambda n: n * 1800),
    end_s=st.integers(5, 10).map(lambda n: n * 1800),
    cancelled=st.booleans(),
)
CALENDARS = st.lists(EVENTS, max_size=3, unique_by=lambda w: w.event)
MOMENTS = st.integers(-5, 12).map(lambda n: n * 1800)
OBJECTS = st.builds(
    scaled_object,
    minimum=st.none() | st.integers(0, 12),
    maximum=st.integers(12, 20),
    baseline=st.sampled_from(["0", "2", "3", None, "x"]),
    owner=st.sampled_from([None, ("pulumi-kubernetes-1", "Apply"), ("kubectl-patch", "Update")]),
    idle=st.none() | st.just(0),
)
RUNS = st.tuples(
    CALENDARS,
    MOMENTS,
    st.sampled_from([HERE, HERE, HERE, "laptop/events.yaml"]),
    st.sampled_from([0, 0, 0, 7200, -7200]),
    st.none() | st.integers(0, 12),
)


def play(target: dict[str, Any], runs: list[Any]) -> dict[str, Any]:
    """A history: in each step perhaps a person's patch, then a run."""
    for windows, seconds, calendar, ahead_s, person in runs:
        if person is not None:
            target = by_a_person(target, person)
        clock = Clock(at(seconds), at(seconds - ahead_s))
        target, _ = run(target, windows, calendar=calendar, clock=clock)
    return target


@settings(max_examples=400, deadline=None)
@given(OBJECTS, st.lists(RUNS, max_size=5), RUNS)
def test_a_second_run_has_nothing_to_do(start: dict[str, Any], before: list[Any], last: Any) -> None:
    target = play(start, [*before, last])
    windows, seconds, calendar, ahead_s, _ = last
    again = decide(seen(target), windows, calendar, Clock(at(seconds), at(seconds - ahead_s)))
    assert again.patch is None


@settings(max_examples=400, deadline=None)
@given(OBJECTS, st.lists(RUNS, max_size=5), RUNS)
def test_never_lower_than_an_active_event_that_fits(start: dict[str, Any], before: list[Any], last: Any) -> None:
    target = play(start, [*before, last])
    windows, seconds, *_ = last
    decision = decide(seen(target), windows, last[2], Clock(at(seconds), at(seconds - last[3])))
    refused = decision.target > target["spec"]["maxReplicaCount"]
    fitting = [w.floor for w in windows if w.active(at(seconds)) and w.floor <= target["spec"]["maxReplicaCount"]]
    assert refused or minimum(target) >= max(fitting, default=0)


@settings(max_examples=400, deadline=None)
@given(OBJECTS, st.lists(RUNS, max_size=4), CALENDARS, st.lists(MOMENTS, min_size=1, max_size=4))
def test_missed_runs_change_nothing_in_the_end(
    start: dict[str, Any], before: list[Any], windows: list[Window], moments: list[int]
) -> None:
    """With the calendar as it is, a certain baseline and nobody else at work, only the last moment counts."""
    assume(start["metadata"]["annotations"].get(ownership.BASELINE_ANNOTATION, "").isdigit())
    assume(all(w.floor <= start["spec"]["maxReplicaCount"] for w in windows))
    target = play(start, before)
    target, _ = run(target, windows, min(moments))
    every, last = target, target
    for seconds in sorted(moments):
        every, _ = run(every, windows, seconds)
    last, _ = run(last, windows, max(moments))
    held = remembered(target)
    if not (held and held.kept):  # a person's value may be kept longer by a window that was seen open
        assert minimum(every) == minimum(last)


@settings(max_examples=300, deadline=None)
@given(CALENDARS, CALENDARS, MOMENTS)
def test_two_calendars_end_the_same_in_any_order(ours: list[Window], theirs: list[Window], seconds: int) -> None:
    ends = []
    for order in ((0, 1), (1, 0)):
        target = scaled_object(maximum=20)
        for turn in (*order, *order):
            windows, name = ((ours, HERE), (theirs, "laptop/events.yaml"))[turn]
            target, _ = run(target, windows, seconds, calendar=name)
        ends.append((minimum(target), remembered(target)))
    assert ends[0] == ends[1]


@settings(max_examples=300, deadline=None)
@given(OBJECTS, st.lists(RUNS, max_size=5), CALENDARS, MOMENTS)
def test_lowered_only_on_a_certain_word(
    start: dict[str, Any], before: list[Any], windows: list[Window], seconds: int
) -> None:
    target = play(start, before)
    held = remembered(target)
    after, _ = run(target, windows, seconds)
    names = {w.event for w in windows}
    for event in held.events if held else ():
        is_certain = event.calendar == HERE and (event.event in names or event.until <= at(seconds))
        assert is_certain or minimum(after) >= min(event.floor, minimum(target))


@given(
    st.none() | st.integers(0, 99),
    st.lists(
        st.builds(Held, st.text(), st.text(), st.integers(0, 99), st.integers(0, 9**9).map(Instant.from_timestamp))
    ),
    st.booleans(),
)
def test_record_survives_its_text(set_to: int | None, events: list[Held], activated: bool) -> None:
    record = Record(set_to, tuple(sorted(events)), None, activated)
    assert book.parse(record.text()) == record
    assert "\n" not in record.text()
