"""What holds after any history of calendars, clocks, people and missed runs."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from prescale.clock import Clock
from prescale.decision import decide
from prescale.windows.window import Window
from stacks import ownership
from tests.core.cluster_double import by_a_person, scaled_object, seen
from tests.core.decision_cases import HERE, at, minimum, remembered, run, window

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
