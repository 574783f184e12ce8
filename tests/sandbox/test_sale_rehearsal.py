"""A rehearsal is the stack itself, with its durations divided and its event moved."""

from __future__ import annotations

from pathlib import Path

import pytest
from whenever import Instant

from cli.prescale.plan_text import plan_data
from prescale.windows.timetable import timetable
from sandbox.sale import demo
from sandbox.sale.play import Course, Stage, at_t0
from sandbox.sale.rehearsal import Rehearsal, rehearse
from sandbox.sale.script import script
from stacks.loader import load_calendar_spec, load_stack
from tests.core.stack_files import stack, swap

START, END = Instant.from_utc(2027, 3, 1, 12, 0, 5), Instant.from_utc(2027, 3, 1, 12, 2)


@pytest.fixture
def rehearsal(tmp_path: Path) -> Rehearsal:
    return rehearse(load_stack("local"), load_calendar_spec("local"), tmp_path / "stacks", 20, "http://127.0.0.1:9191")


def test_every_duration_is_divided_and_nothing_else_changes(rehearsal: Rehearsal) -> None:
    real, played = load_stack("local").platform, load_stack("local", rehearsal.root).platform
    service, was = played.services["support-bot"], real.services["support-bot"]
    assert (service.cold_start.total_s, was.cold_start.total_s) == (15, 300)
    assert (service.scale_down.window_s, service.scale_down.period_s) == (30, 3)
    assert rehearsal.margin_s == 75
    assert played.prometheus.url == "http://127.0.0.1:9191"
    same = was.model_copy(update={"cold_start": service.cold_start, "scale_down": service.scale_down})
    assert service == same


def test_a_rehearsed_stack_loads_with_an_empty_calendar_until_its_event_is_scheduled(rehearsal: Rehearsal) -> None:
    assert load_stack("local", rehearsal.root).calendar.events == ()
    rehearsal.schedule(START, END)
    (event,) = load_stack("local", rehearsal.root).calendar.events
    assert (event.name, event.start.to_instant(), event.end.to_instant()) == ("diwali-sale", START, END)
    assert event.demands["support-bot"] == load_stack("local").calendar.events[0].demands["support-bot"]


def test_a_ramp_is_divided_and_its_first_step_is_raised_before_the_rest(tmp_path: Path) -> None:
    ramp = "    ramp: {steps: 4, over_s: 3600}\n    services:"
    real = stack(tmp_path, events=swap("    services:", ramp))
    played = rehearse(real, load_calendar_spec("local", tmp_path), tmp_path / "rehearsed", 20, "http://127.0.0.1:1")
    stage = Stage(played, script(played.platform, played.event, 20), None, None, "", Path(), 1, "")  # type: ignore[arg-type]
    course = Course.after(1_900_000_001.4, stage)
    played.schedule(Instant.from_timestamp(course.start), Instant.from_timestamp(course.end))
    table = timetable(load_stack("local", played.root), Instant.from_timestamp(course.raise_at))
    (planned,) = plan_data(load_stack("local", played.root), table, Instant.from_timestamp(course.raise_at))["events"]
    rises = [Instant.parse_iso(rise["raise_at"]).timestamp() - course.start for rise in planned["ramp"]["rises"]]
    assert rises == [-270, -225, -180, -135]
    assert course.raise_at - course.start == rises[0]
    assert demo.raised_whole_at(planned) - course.start == rises[-1]
    cron, _ = demo.what_comes(stage, course, 7, demo.raised_whole_at(planned), 6.0)
    assert cron.endswith("floor 7 is due at T-135 s, in steps from T-270 s on")


def test_whole_days_become_the_hours_of_the_play(tmp_path: Path) -> None:
    days = swap(
        "    start: 2027-10-29 20:00\n    end: 2027-10-30 00:30", "    day: 2027-10-29\n    last_day: 2027-10-30"
    )
    real = stack(tmp_path, events=days)
    played = rehearse(real, load_calendar_spec("local", tmp_path), tmp_path / "rehearsed", 20, "http://127.0.0.1:1")
    played.schedule(START, END)
    (event,) = load_stack("local", played.root).calendar.events
    assert (event.start.to_instant(), event.end.to_instant()) == (START, END)


def test_a_time_that_the_clock_shows_twice_is_the_right_one(tmp_path: Path) -> None:
    real = stack(tmp_path, events=swap("Asia/Kolkata", "America/New_York"))
    played = rehearse(real, load_calendar_spec("local", tmp_path), tmp_path / "rehearsed", 20, "http://127.0.0.1:1")
    for hour in (5, 6):  # 01:30, and 01:30 once more
        start = Instant.from_utc(2026, 11, 1, hour, 30)
        played.schedule(start, start.add(minutes=2))
        (event,) = load_stack("local", played.root).calendar.events
        assert event.start.to_instant() == start


def test_the_real_stack_is_left_as_it_is(tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in Path("stacks/local").rglob("*") if path.is_file()}
    rehearse(load_stack("local"), load_calendar_spec("local"), tmp_path / "stacks", 20, "http://127.0.0.1:1")
    assert {path: path.read_bytes() for path in Path("stacks/local").rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("grain_s", [1, 60])
def test_the_raise_falls_on_the_grain_and_leaves_time_to_write_the_calendar(rehearsal: Rehearsal, grain_s: int) -> None:
    played = script(rehearsal.platform, rehearsal.event, 20)
    stage = Stage(rehearsal, played, None, None, "", Path(), 1, "")  # type: ignore[arg-type]
    course = Course.after(1_900_000_001.4, stage, grain_s=grain_s)
    assert course.raise_at % grain_s == 0
    assert 7 <= course.raise_at - 1_900_000_001.4 <= 8 + grain_s
    assert course.start - course.raise_at == 90
    assert at_t0(course.raise_at, course) == "T-90 s"
    assert course.end - course.start == played.window_s


def test_the_demo_says_what_is_played_on_any_scale(tmp_path: Path) -> None:
    played = rehearse(load_stack("local"), load_calendar_spec("local"), tmp_path, 10, "http://127.0.0.1:1")
    stage = Stage(played, script(played.platform, played.event, 10), None, None, "", Path(), 1, "")  # type: ignore[arg-type]
    course = Course.after(1_900_000_001.4, stage)
    cron, load = demo.what_comes(stage, course, 7, course.raise_at, 6.0)
    assert cron.endswith("every 6 s; floor 7 is due at T-180 s")
    assert load.startswith("the load: 5.3 rps until T0; 70 s at 26.7 rps (the sale as planned); 80 s at 53.4 rps (more")
