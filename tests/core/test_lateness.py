"""Whether an event's replicas are Ready by its start: the decision, and what a run does about it. T0 is 20:00."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from prescale import record as book
from prescale import whole_run
from prescale.briefs.making import brief_of
from prescale.clock import Clock
from prescale.floors.ramp import Rise
from prescale.lead_time.history import parse_data
from prescale.lead_time.progress import Progress
from prescale.lead_time.reckoning import LeadTime
from prescale.lead_time.start import PHASES
from prescale.on_time.lateness import Late, There, late, warm
from prescale.on_time.needs import by_service, needs
from prescale.outcome import Outcome
from prescale.pod_states import PodState
from prescale.record import Record
from prescale.whole_run import Done
from prescale.windows.window import Timetable, Window
from stacks import ownership
from stacks.loader import load_stack
from tests.core import start_cases
from tests.core.api_double import CONFIG_MAPS, PODS, ApiDouble
from tests.core.cluster_double import adopted_hpa, scaled_object, seen
from tests.core.decision_cases import HERE, HOUR, at, window
from tests.core.stack_files import LOCAL
from tests.core.test_on_time import known
from tests.core.test_warmth import pod

LEAD = LeadTime("platform.yaml", tuple(zip(PHASES, (0, 0, 120, 180, 0), strict=True)), 300)
RAISE_S = -1800
STARTS = ownership.starts_name("local")


def state(name: str, *, ready: bool, created_s: float = 0, phase: int = 0, why: str | None = None) -> PodState:
    found = Progress("ready" if ready else "unscheduled", 4 if ready else phase, at(created_s), why)
    return PodState(name, "support-bot", "127.0.0.1", 8000, at(created_s), ready, found)


def pods(ready: int, coming: int = 0, **how: Any) -> tuple[PodState, ...]:
    return tuple(state(f"p{n}", ready=n < ready, **how) for n in range(ready + coming))


def judged(
    there: There, seconds: float, *windows: Window, baseline: int = 2, known: int = 0, lead: LeadTime = LEAD
) -> tuple[Late, ...]:
    found = windows or (window(),)
    wanted = needs(found, {one.event for one in found}, baseline, known, at(seconds))
    return late(wanted, there, lead, at(seconds))


# --- the decision ---


@pytest.mark.parametrize(
    ("seconds", "late_s"),
    [
        (RAISE_S - 1, None),
        (RAISE_S, None),
        (-301, None),
        (-300, None),
        (-299, 1),
        (0, 300),
        (420, 720),
        (5 * HOUR, None),
    ],
    ids=["not raised", "in time", "margin left", "margin eaten", "too late", "at T0", "mid-way", "over"],
)
def test_raised_now_it_is_late_once_a_start_does_not_fit_before_t0(seconds: float, late_s: int | None) -> None:
    for there in (pods(2), 2):
        assert [one.late_s for one in judged(there, seconds)] == ([] if late_s is None else [late_s])


def test_says_when_how_late_and_what_is_missing() -> None:
    (found,) = judged(pods(2, 5, created_s=420, why="0/18 nodes are available."), 420)
    assert found.text == (
        "sale: ready about 20:12, 12 min late for 20:00 Asia/Kolkata: 2 of 7 Ready, a start takes 300 s by "
        "platform.yaml; 0/18 nodes are available. `warmline prescale watch` shows how far they are."
    )
    measured = replace(LEAD, basis="measured")
    (found,) = judged(3, 4 * HOUR - 60, lead=measured)
    assert found.text.startswith(
        "sale: ready about 2027-10-30 00:04, 4 h 04 min late for 20:00 Asia/Kolkata: 3 of 7 th"
    )
    assert "a start takes 300 s by what the cluster did." in found.text


def test_what_is_ready_is_not_late_however_late_it_was_raised() -> None:
    assert judged(pods(7), 420) == judged(7, 420) == ()


def test_pods_on_their_way_are_late_by_what_is_left_of_their_start() -> None:
    (found,) = judged(pods(5, 2, created_s=-60, phase=3), 0)
    assert found.late_s == 120, "its engine has run for a minute"
    assert judged(pods(5, 2, created_s=-240, phase=3), -60) == (), "Ready just by T0"


def test_the_baseline_needs_no_start() -> None:
    assert judged(pods(0), 420, baseline=7) == ()
    assert judged(pods(0), 420, window(floor=2)) == ()


def test_what_was_seen_ready_is_not_looked_at_again_and_a_higher_floor_is() -> None:
    assert judged(pods(0), 420, known=7) == ()
    (found,) = judged(pods(7), 420, window(), window("launch", floor=12, start_s=60), known=7)
    assert (found.need.event, found.late_s) == ("launch", 660)


def test_an_event_that_does_not_count_needs_nothing() -> None:
    assert needs([window(cancelled=True)], {"sale"}, 2, 0, at(0)) == ()
    assert needs([window()], {"another"}, 2, 0, at(0)) == ()


def test_of_a_ramp_every_step_counts_and_the_latest_is_told() -> None:
    steps = tuple(
        Rise(floor, at(s).to_tz("Asia/Kolkata"), at(s - 600)) for floor, s in ((4, -2400), (5, -1200), (7, -600))
    )
    ramped = structs.replace(window(), rises=steps)
    wanted = needs([ramped], {"sale"}, 2, 0, at(-1700))
    assert [need.rise.floor for need in wanted] == [4, 5], "the third is not raised yet"
    (found,) = judged(pods(2), -1700, ramped)
    assert (found.need.rise.floor, found.late_s) == (4, 1000)
    assert judged(pods(4), -1700, ramped, known=4) == (), "the second step is in time"
    assert warm(wanted, pods(4)) == 4
    assert warm(wanted, pods(9)) == 5


seconds = st.integers(-7200, 5 * HOUR)
some_pods = st.lists(
    st.builds(
        lambda n, ready, created, phase: state(f"p{n}", ready=ready, created_s=created, phase=phase),
        st.integers(0, 99),
        st.booleans(),
        st.integers(-7200, 5 * HOUR),
        st.integers(0, 4),
    ),
    max_size=12,
).map(tuple)
some_windows = st.lists(
    st.builds(
        lambda n, floor, start, lasts: window(f"e{n}", floor, start - 1800, start, start + lasts),
        st.integers(0, 3),
        st.integers(1, 12),
        st.integers(-3600, 3600),
        st.integers(600, 4 * HOUR),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda one: one.event,
)


@given(some_windows, some_pods, seconds, st.integers(0, 5))
def test_late_exactly_where_too_few_are_ready_and_the_rest_cannot_be_by_t0(
    windows: list[Window], there: tuple[PodState, ...], second: int, baseline: int
) -> None:
    """Against the rule said once more, by its words: count what is Ready by the start."""
    now = at(second)
    told = {one.need.event for one in judged(there, second, *windows, baseline=baseline)}
    for one in windows:
        counts = one.raise_at <= now < one.end.to_instant() and one.floor > baseline
        ready = sum(pod.is_ready for pod in there)
        t0 = one.start.to_instant()
        in_time = sum(pod.is_ready or pod.progress.ready_at(LEAD, now) <= t0 for pod in there)
        in_time += 99 * (now.add(seconds=300) <= t0)
        assert (one.event in told) == (counts and ready < one.floor and in_time < one.floor)


@given(some_windows, some_pods, seconds, st.integers(0, 12))
def test_more_that_is_ready_or_known_never_makes_more_late(
    windows: list[Window], there: tuple[PodState, ...], second: int, known_warm: int
) -> None:
    less = {one.need.event: one.late_s for one in judged(there, second, *windows)}
    more = {one.need.event: one.late_s for one in judged((*there, state("new", ready=True)), second, *windows)}
    assert set(more) <= set(less)
    assert all(more[event] <= less[event] for event in more)
    assert {one.need.event for one in judged(there, second, *windows, known=known_warm)} <= set(less)
    assert all(late_s > 0 for late_s in less.values())


@given(some_windows, some_pods, seconds)
def test_what_is_noted_as_warm_is_ready_and_ends_the_looking(
    windows: list[Window], there: tuple[PodState, ...], second: int
) -> None:
    events = {one.event for one in windows}
    wanted = needs(windows, events, 2, 0, at(second))
    floor = warm(wanted, there)
    assert floor <= sum(pod.is_ready for pod in there)
    left = needs(windows, events, 2, floor, at(second))
    assert all(need.rise.floor > sum(pod.is_ready for pod in there) for need in left)


# --- what a run does ---


def play(double: ApiDouble, seconds: float) -> Done:
    """`sync` at `seconds` after T0, and its look at the pods."""
    loaded, now, cluster = load_stack("local", LOCAL.parent), at(seconds), double.cluster()
    cluster.clock = Clock  # type: ignore[method-assign]
    return whole_run.run(cluster, brief_of(loaded, now), lambda: loaded, now, lambda: now)


def findings(followed: Done) -> tuple[str, ...]:
    return followed.outcomes[0].findings


def record(double: ApiDouble) -> Record:
    text = double.record()
    return book.parse(text) if text else Record()


def calls(double: ApiDouble, path: str) -> int:
    return sum(request.url.path.startswith(path) for request in double.requests)


def test_late_while_it_is_not_ready_then_noted_once_and_never_looked_at_again() -> None:
    double = ApiDouble(scaled_object())
    assert "10 min late" in findings(play(double, 300))[0]
    double.pods = [pod(f"p{n}", 310, ready=n < 6) for n in range(7)]
    assert "6 of 7 Ready" in findings(play(double, 360))[0]
    double.pods = [pod(f"p{n}") for n in range(7)]
    double.patches.clear()
    assert findings(play(double, 420)) == ()
    ((_, patch, manager),) = double.patches
    assert (set(patch), manager) == ({"metadata"}, ownership.FIELD_MANAGER), "no floor is written"
    assert record(double).warm == 7
    double.requests.clear()
    double.pods = []
    assert play(double, 480).outcomes[0].findings == ()
    assert len(double.requests) == 3, "objects, orders, HPAs"
    play(double, 5 * HOUR)
    assert double.record() is None


def test_a_run_that_raises_in_time_says_nothing_and_looks_on() -> None:
    double = ApiDouble(scaled_object())
    assert findings(play(double, RAISE_S)) == ()
    assert calls(double, PODS) == 1
    assert findings(play(double, -301)) == ()
    assert findings(play(double, -299)) != ()


def test_by_measured_starts_where_they_are_longer() -> None:
    double = ApiDouble(scaled_object())
    double.config_maps[STARTS] = known(700)
    assert (
        "2 of 7 Ready, a start takes 700 s by what the cluster did"
        in (findings(_with(double, [pod(f"p{n}") for n in range(2)], -699))[0])
    )
    assert findings(play(double, -700)) == ()


def _with(double: ApiDouble, there: list[dict[str, Any]], seconds: float) -> Done:
    double.pods = there
    return play(double, seconds)


def test_without_an_event_or_at_the_baseline_nothing_is_looked_at() -> None:
    for double in (ApiDouble(scaled_object()), ApiDouble(scaled_object(minimum=7, baseline="7"))):
        moments = (RAISE_S - HOUR * 9, 5 * HOUR) if double.minimum() == 2 else (RAISE_S, 0, 60)
        for moment in moments:
            play(double, moment)
        assert calls(double, PODS) == 0


def test_a_floor_that_is_not_in_force_starts_nothing() -> None:
    double = ApiDouble(scaled_object())
    double.keda_works = False
    (finding,) = findings(play(double, 300))
    assert finding.startswith("the floor is not in force")
    assert calls(double, PODS) == 0


def test_what_rests_starts_nothing() -> None:
    resting = {"conditions": [{"type": "ScalingActive", "status": "False", "reason": "ScalingDisabled"}]}
    moved = Outcome("chat", 2, 7, events=("sale",), hpa_name="vllm", hpa="vllm", hpa_min=7)
    table = Timetable(HERE, (structs.replace(window(), service="chat"),))
    hpas = ({**adopted_hpa(7), "status": status} for status in ({}, resting))
    awake, asleep = (structs.replace(moved, observed=seen(hpa)) for hpa in hpas)
    assert by_service(table, [awake], at(60)).keys() == {"chat"}
    assert by_service(table, [asleep], at(60)) == {}


def test_a_person_who_lowers_it_has_it_looked_at_again() -> None:
    double = ApiDouble(scaled_object())
    double.pods = [pod(f"p{n}") for n in range(7)]
    play(double, 0)
    play(double, 60)
    assert record(double).warm == 7
    double.person("support-bot", 3)
    double.pods = double.pods[:3]
    assert "3 of 7 Ready" in findings(play(double, 120))[0]
    assert record(double).warm == 3


def test_two_at_once_note_it_once_and_a_write_in_between_is_left_to_the_next() -> None:
    double = ApiDouble(scaled_object())
    play(double, 0)
    double.pods = [pod(f"p{n}") for n in range(7)]
    double.before_patch = [lambda: double.person("support-bot", 9)]
    followed = play(double, 60)
    assert (followed.notes, record(double).warm) == ((), 0)
    play(double, 120)
    play(double, 180)
    assert (double.minimum(), record(double).warm) == (9, 7)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(60, 900)), min_size=1, max_size=12))
def test_over_any_course_it_is_late_exactly_until_it_was_ready_once(course: list[tuple[int, int]]) -> None:
    """Runs every few minutes; pods come and go. What was Ready once is known to have come in time, or late, then."""
    double, second, was_ready = ApiDouble(scaled_object()), 0, False
    play(double, 0)
    for ready, after_s in course:
        second += after_s
        if second >= 4 * HOUR:
            return
        double.pods = [pod(f"p{n}", second) for n in range(ready)]
        was_ready = was_ready or ready >= 7
        assert bool(findings(play(double, second))) == (not was_ready)
        assert record(double).warm == (7 if was_ready else 0)


# --- what it remembers ---


def started(*totals_s: int) -> list[dict[str, Any]]:
    """Pods of the stack that are Ready, each after so long."""
    return [
        start_cases.pod(f"support-bot-5c9-p{n}", containers_ready=total, ready=total)
        for n, total in enumerate(totals_s)
    ]


def test_starts_are_kept_when_the_event_is_warm_and_once() -> None:
    double = ApiDouble(scaled_object())
    ready = round((start_cases.BEGAN - at(0)).total("seconds")) + 400
    play(double, ready - 300)
    assert STARTS not in double.config_maps
    double.pods = started(*range(300, 306))
    play(double, ready)
    assert STARTS not in double.config_maps, "not yet warm: the next run sees them, too"
    double.pods = started(*range(300, 306), 340)
    double.requests.clear()
    assert play(double, ready + 60).notes == ()
    writes = [request.url.path for request in double.requests if request.method != "GET"]
    assert len([path for path in writes if path.startswith(CONFIG_MAPS)]) == 1
    kept = parse_data(double.config_maps[STARTS]["data"]).starts["support-bot"]
    assert sorted(one.total_s for one in kept) == [*range(300, 306), 340]
    double.requests.clear()
    play(double, ready + 120)
    assert calls(double, CONFIG_MAPS) == 1, "the orders"


def test_starts_that_may_not_be_kept_are_a_note_and_it_is_warm_all_the_same() -> None:
    double = ApiDouble(scaled_object())
    whole = double._config_map

    def denied(request: httpx2.Request, name: str) -> httpx2.Response:
        if request.method != "GET":
            return httpx2.Response(403, json={"kind": "Status", "code": 403, "message": "configmaps is forbidden"})
        return whole(request, name)

    double._config_map = denied  # type: ignore[method-assign]
    double.pods = started(*[300] * 7)
    ready = round((start_cases.BEGAN - at(0)).total("seconds")) + 400
    play(double, ready)
    assert play(double, ready + 60).notes == ("the starts seen are not kept: configmaps is forbidden",)
    assert record(double).warm == 7
