"""What the reliability benchmark rests on, without a control plane: its oracle, its dice, its mutations, its page."""

from __future__ import annotations

import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from sandbox.places import REPOSITORY
from sandbox.reliability import calendars, oracle
from sandbox.reliability.bench import page
from sandbox.reliability.course import GRAIN_S, Course, dice, drawn_services, rps_for
from sandbox.reliability.mutation import MUTATIONS, Mutate
from sandbox.reliability.oracle import Event, Service
from sandbox.reliability.stack_on_disk import calendar_text

RESULTS = REPOSITORY / "docs" / "benchmarks"
CHAT = Service("chat", baseline=2, ceiling=18, lead_s=600)


@pytest.mark.parametrize(
    ("now", "floor"), [(3399, 2), (3400, 6), (4000, 6), (4400, 10), (5999, 10), (6000, 6), (7999, 6), (8000, 2)]
)
def test_the_oracle_takes_the_highest_of_what_is_active(now: int, floor: int) -> None:
    events = [
        Event("long", 4000, 8000, {"chat": rps_for(6)}),
        Event("nested", 5000, 6000, {"chat": rps_for(10)}),
        Event("called-off", 4000, 8000, {"chat": rps_for(16)}, cancelled=True),
        Event("another's", 4000, 8000, {"other": rps_for(16)}),
    ]
    assert oracle.floor(CHAT, events, now) == floor


@pytest.mark.parametrize(("end", "floor"), [(4400, 2), (4401, 6), (4999, 6), (5000, 10)])
def test_the_oracle_holds_a_gap_shorter_than_a_lead_time(end: int, floor: int) -> None:
    events = [
        Event("before", 4000, end, {"chat": rps_for(6)}),
        Event("after", 5600, 8000, {"chat": rps_for(10)}),
    ]
    assert oracle.floor(CHAT, events, end) == floor


@pytest.mark.parametrize(
    ("now", "late"), [(3399, False), (3400, False), (3401, True), (4000, True), (7999, True), (8000, False)]
)
def test_the_oracle_calls_late_what_cannot_be_started_before_its_start(now: int, late: bool) -> None:
    events = {
        name: Event(name, 4000, 8000, {service: rps_for(replicas)}, cancelled=cancelled)
        for name, service, replicas, cancelled in (
            ("sale", "chat", 6, False),
            ("the baseline's", "chat", 2, False),
            ("called-off", "chat", 6, True),
            ("another's", "other", 6, False),
        )
    }
    assert {name for name, event in events.items() if oracle.is_late(event, CHAT, now)} == ({"sale"} if late else set())


@pytest.mark.parametrize("replicas", range(1, 19))
def test_a_load_for_so_many_replicas_needs_so_many(replicas: int) -> None:
    now = 10_000
    assert oracle.floor(Service("chat", 0, 18, 0), [Event("sale", 0, 2 * now, {"chat": rps_for(replicas)})], now) == (
        replicas
    )


def test_the_same_seed_is_the_same_course_and_no_event_is_near_the_present() -> None:
    courses = [Course(throws := dice(5), drawn_services(throws, 3)) for _ in range(2)]
    now = time.time()
    for _ in range(50):
        for course in courses:
            course.turn()
        one, other = courses
        assert [(event.name, event.rps, event.cancelled) for event in one.events] == [
            (event.name, event.rps, event.cancelled) for event in other.events
        ]
        moments = [event.start - service.lead_s for event in one.events for service in one.services]
        moments += [moment for event in one.events for moment in (event.start, event.end)]
        assert all(abs(moment - now) > GRAIN_S / 3 for moment in moments)


def test_what_vanishes_while_it_is_in_force_is_held_and_a_persons_value_is_kept() -> None:
    course = Course(dice(1), (CHAT,))
    now = int(time.time())
    course.events = (Event("sale", now - 60, now + 3600, {"chat": rps_for(6)}),)
    course.settled()
    course.events = ()
    assert course.floors() == {"chat": 6}
    value = course.person(CHAT)
    assert value
    assert course.floors() == {"chat": max(6, value)}


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda mutate: str(mutate.__name__))
def test_a_mutation_spoils_the_file_and_does_so_again_for_the_same_seed(mutate: Mutate) -> None:
    sale = Event("sale", 1_800_000_000, 1_800_009_000, {"chat-0": 20, "chat-1": 30})
    text = calendar_text([sale, Event("launch", 1_800_100_000, 1_800_109_000, {"chat-1": 20})])
    assert yaml.safe_load(text)["events"][0]["services"]["chat-1"]["rps"] == 30
    drawn = [mutate(dice(seed), text) for seed in range(20)]
    assert drawn == [mutate(dice(seed), text) for seed in range(20)]
    assert sum(one not in {text, text.encode()} for one in drawn) >= 10


def test_the_page_is_made_from_the_json_beside_it(tmp_path: Path) -> None:
    shutil.copy(RESULTS / "reliability.json", tmp_path)
    assert page(tmp_path).read_text() == (RESULTS / "reliability.md").read_text()


@pytest.mark.parametrize(
    ("rps", "ends_s", "cancelled", "is_too_much"),
    [("90", 999, "false", False), ("1e3", 999, "false", True), ("1e3", -1, "false", False), ("1e3", 9, "true", False)],
)
def test_a_calendar_that_asks_for_more_than_there_may_be_is_none(
    rps: str, ends_s: int, cancelled: str, *, is_too_much: bool
) -> None:
    """Also where the event is days away: `sync` refuses it before it is due."""
    end = datetime.fromtimestamp(int(time.time()) + ends_s, UTC)
    event = {
        "start": (end - timedelta(hours=1)).isoformat(),
        "end": end.isoformat(),
        "cancelled": cancelled,
        "services": {calendars.SERVICES[0].name: {"rps": rps, "request_duration_s": "1"}},
    }
    data = {"timezone": "UTC", "headroom_pct": "0", "events": [event]}
    assert calendars._is_too_much(data) == is_too_much
