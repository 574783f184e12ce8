"""A gap between two events that is too short to cool in."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from whenever import Instant

from prescale.floors.gap import Ended, holds
from prescale.floors.ramp import Rise
from prescale.windows.timetable import timetable
from prescale.windows.window import Timetable
from tests.core.cluster_double import scaled_object
from tests.core.decision_cases import HOUR, T0, minimum, run
from tests.core.stack_files import calendar, stack

# Lead time 300 s, margin 600 s: raised 15 min before the start. 5 replicas and then 7.
FIRST = "name: first, start: 2027-10-29 20:00, end: {end}, services: {{support-bot: {{replicas: 5}}}}"
SECOND = "name: second, start: 2027-10-29 23:00, end: 2027-10-30 01:00, services: {support-bot: {replicas: 7}}"


def of(root: Path, end: str, second: str = SECOND) -> Timetable:
    events = calendar(FIRST.format(end=f"2027-10-29 {end}"), second, margin_s=600)
    return timetable(stack(root, events=events))


def floors(table: Timetable, *times: str) -> list[int]:
    return [table.floor_at(Instant.parse_iso(f"2027-10-29T{time}Z"), "support-bot", 2) for time in times]


def test_a_gap_shorter_than_the_lead_time_is_held_at_what_both_need(tmp_path: Path) -> None:
    # The first ends at 17:11Z; the second is raised at 17:15Z, for 17:30Z.
    table = of(tmp_path, "22:41")
    assert floors(table, "17:10", "17:11", "17:14", "17:15", "19:29", "19:30") == [5, 5, 5, 7, 7, 2]
    states = [table.windows[1].state(Instant.parse_iso(f"2027-10-29T{time}Z")) for time in ("17:10", "17:11", "17:15")]
    assert states == ["planned", "held", "raised"]


def test_a_gap_as_long_as_the_lead_time_cools(tmp_path: Path) -> None:
    assert floors(of(tmp_path, "22:40"), "17:09", "17:10", "17:14", "17:15") == [5, 2, 2, 7]


def test_events_that_touch_or_overlap_have_no_gap(tmp_path: Path) -> None:
    assert of(tmp_path, "22:45").windows[1].holds == ()
    assert of(tmp_path, "23:30").windows[1].holds == ()


def test_no_gap_is_held_for_or_after_what_is_cancelled(tmp_path: Path) -> None:
    called_off = of(tmp_path, "22:41", SECOND.replace("name: second", "name: second, cancelled: true"))
    assert floors(called_off, "17:10", "17:11") == [5, 2]
    assert called_off.windows[1].holds == ()
    first = FIRST.format(end="2027-10-29 22:41").replace("name: first", "name: first, cancelled: true")
    events = calendar(first, SECOND, margin_s=600)
    assert floors(timetable(stack(tmp_path, events=events)), "17:11", "17:15") == [2, 7]


def test_the_record_names_the_event_that_is_waited_for(tmp_path: Path) -> None:
    windows = [*of(tmp_path, "22:41").windows]
    target = scaled_object(minimum=2, maximum=16, baseline="2")
    seen = []
    for minutes in (-15, 160, 161, 164, 165, 299, 300):
        target, decision = run(target, windows, 60 * minutes)
        seen.append((minimum(target), [held.event for held in decision.events]))
    assert [floor for floor, _ in seen] == [5, 5, 5, 5, 7, 7, 2]
    assert [events for _, events in seen[1:5]] == [["first"], ["second"], ["second"], ["second"]]


def test_a_ramp_is_waited_for_at_each_step(tmp_path: Path) -> None:
    # Steps to 4, 5, 6, 7 by 16:30, 16:45, 17:00, 17:15: raised a quarter of an hour before each.
    ramped = SECOND.replace("name: second", "name: second, ramp: {steps: 4, over_s: 3600}")
    table = of(tmp_path, "21:43", ramped)
    assert floors(table, "16:12", "16:13", "16:14", "16:15", "16:29", "16:30") == [5, 4, 4, 4, 4, 5]


MINUTES = st.integers(0, 600)


@given(
    ends=st.lists(st.tuples(st.integers(1, 30), MINUTES), max_size=6),
    raised=MINUTES,
    floor=st.integers(1, 30),
    lead=st.integers(0, 120),
)
def test_every_short_gap_is_held_and_no_other(ends: list[tuple[int, int]], raised: int, floor: int, lead: int) -> None:
    ended = [Ended(str(index), high, T0.add(minutes=end)) for index, (high, end) in enumerate(ends)]
    rise = Rise(floor, T0.add(hours=20).to_tz("UTC"), T0.add(minutes=raised))
    found = holds(ended, [rise], lead * 60)
    expected = {(str(index), min(high, floor)) for index, (high, end) in enumerate(ends) if 0 < raised - end < lead}
    assert {(hold.after, hold.rise.floor) for hold in found} == expected
    assert all(hold.until == rise.raise_at for hold in found)
    assert not any(hold.covers(T0.subtract(seconds=HOUR)) for hold in found)
