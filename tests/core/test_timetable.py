from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from whenever import Instant

from capacity.replicas import decimal_text
from prescale.floors.load import usual
from prescale.windows.timetable import timetable
from prescale.windows.timing import chain
from prescale.windows.window import Timetable
from stacks.faults import InputError
from stacks.loader import load_stack
from tests.core.stack_files import LOCAL, all_of, calendar, stack, swap

SALE = "name: a, start: 2027-10-29 20:00, end: 2027-10-29 22:00, SERVICES"


def of(root: Path, *events: str, timezone: str = "Asia/Kolkata") -> Timetable:
    return timetable(stack(root, events=calendar(*events, timezone=timezone)))


def test_the_sale() -> None:
    window = timetable(load_stack("local", LOCAL.parent)).windows[0]
    assert (window.event, window.service, window.floor, window.ceiling) == ("diwali-sale", "support-bot", 7, 16)
    assert window.load.in_flight == Fraction("208.26")
    assert decimal_text(window.load.replicas) == "5.2065"
    assert decimal_text(window.replicas_with_headroom) == "6.76845"
    assert window.raise_at == Instant.from_utc(2027, 10, 29, 14)
    assert window.start.to_instant() == Instant.from_utc(2027, 10, 29, 14, 30)
    assert (window.lead_time_s, window.margin_s) == (300, 1500)
    assert [(step.name, step.starts_at.format_iso()[11:16], step.takes_s) for step in window.steps] == [
        ("weights", "14:00", 120),
        ("engine start", "14:02", 180),
        ("ready, with a margin", "14:05", 1500),
    ]


def test_the_usual_peak() -> None:
    load = usual(load_stack("local", LOCAL.parent).platform.services["support-bot"])
    assert load
    assert (load.in_flight, decimal_text(load.replicas)) == (Fraction("41.34"), "1.0335")


def test_half_open_window(tmp_path: Path) -> None:
    table = of(tmp_path, SALE)
    window = table.windows[0]
    end = window.end.to_instant()
    floors = [
        table.floor_at(moment, "support-bot", 2)
        for moment in (window.raise_at.subtract(seconds=1), window.raise_at, end.subtract(seconds=1), end)
    ]
    assert floors == [2, 7, 7, 2]
    assert [window.state(moment) for moment in (window.raise_at, window.start.to_instant(), end)] == [
        "raised",
        "running",
        "over",
    ]


def test_a_baseline_above_the_event_holds(tmp_path: Path) -> None:
    table = of(tmp_path, SALE)
    assert table.floor_at(table.windows[0].raise_at, "support-bot", 9) == 9


def test_overlap_is_the_highest_and_touching_windows_leave_no_gap(tmp_path: Path) -> None:
    big = "name: b, start: 2027-10-29 22:00, end: 2027-10-29 23:00, services: {support-bot: {multiplier: 7}}"
    table = of(tmp_path, SALE, big)
    # 5.3 x 7 = 37.1 rps x 7.8 s / 40 x 1.3 = 9.40485
    at = {
        f"{hour}:{minute}": Instant.from_utc(2027, 10, 29, hour, minute)
        for hour, minute in [(14, 0), (15, 59), (16, 0), (16, 30), (17, 29), (17, 30)]
    }
    assert [table.floor_at(moment, "support-bot", 2) for moment in at.values()] == [7, 7, 10, 10, 10, 2]


def test_cancelled_never_counts_and_may_pass_the_ceiling(tmp_path: Path) -> None:
    event = (
        "name: a, cancelled: true, start: 2027-10-29 20:00, end: 2027-10-29 22:00, services: {support-bot: {rps: 900}}"
    )
    table = of(tmp_path, event)
    assert table.floor_at(Instant.from_utc(2027, 10, 29, 15), "support-bot", 2) == 2
    assert table.windows[0].state(Instant.from_utc(2027, 10, 29, 15)) == "cancelled"


def test_above_the_ceiling_is_refused_until_it_is_over(tmp_path: Path) -> None:
    event = "name: a, start: 2027-10-29 20:00, end: 2027-10-29 22:00, services: {support-bot: {rps: 100}}"
    loaded = stack(
        tmp_path,
        events=calendar(
            event, SALE.replace("name: a", "name: b").replace("SERVICES", "services: {support-bot: {rps: 200}}")
        ),
    )
    with pytest.raises(InputError) as raised:
        timetable(loaded)
    assert [fault.path for fault in raised.value.faults] == [f"events[{n}].services.support-bot" for n in (0, 1)]
    assert [fault.line for fault in raised.value.faults] == [4, 5]
    assert timetable(loaded, Instant.from_utc(2027, 10, 29, 16, 30)).windows


def test_the_services_duration_and_the_calendars_headroom_are_the_defaults(tmp_path: Path) -> None:
    window = of(tmp_path, SALE.replace("SERVICES", "services: {support-bot: {rps: 26.7}}")).windows[0]
    assert (window.load.request_duration_s, window.headroom_pct, window.floor) == (Decimal("7.8"), Decimal(30), 7)
    none = of(tmp_path, SALE.replace("SERVICES", "services: {support-bot: {rps: 26.7, headroom_pct: 0}}")).windows[0]
    assert none.floor == 6


def test_exact_ceil(tmp_path: Path) -> None:
    edit = all_of(swap("in_flight_per_replica: 40", "in_flight_per_replica: 0.7"))
    event = SALE.replace("SERVICES", "services: {support-bot: {rps: 2.1, request_duration_s: 1, headroom_pct: 0}}")
    assert timetable(stack(tmp_path, platform=edit, events=calendar(event))).windows[0].floor == 3


def test_lead_time_across_a_gap_is_real_time(tmp_path: Path) -> None:
    """03:15 less 45 min is 01:30 by real time, and no time at all by the wall clock."""
    event = "name: a, start: 2026-03-08 03:15, end: 2026-03-08 05:00, SERVICES"
    edit = calendar(event, timezone="America/New_York", margin_s=2400)
    window = timetable(stack(tmp_path, events=edit)).windows[0]
    assert window.raise_at.to_tz("America/New_York").format_iso().startswith("2026-03-08T01:30:00-05:00")


def test_nodes_come_first_where_they_take_time(tmp_path: Path) -> None:
    edit = swap("cold_start: {weights_s: 120", "cold_start: {node_s: 90, image_s: 138, weights_s: 120")
    window = timetable(stack(tmp_path, platform=edit)).windows[0]
    assert [step.name for step in window.steps] == ["nodes", "image", "weights", "engine start", "ready, with a margin"]
    assert window.lead_time_s == 528
    assert window.raise_at == window.start.to_instant().subtract(seconds=528 + 1500)


LINKS = st.lists(st.tuples(st.text(max_size=3), st.integers(0, 10**5)), max_size=8)


@given(LINKS)
def test_a_chain_has_no_holes_and_ends_at_t0(links: list[tuple[str, int]]) -> None:
    t0 = Instant.from_utc(2027, 10, 29, 14, 30)
    steps = chain(t0, links)
    ends = [step.starts_at.add(seconds=step.takes_s) for step in steps]
    assert [*[step.starts_at for step in steps[1:]], t0][: len(ends)] == ends
    assert [step.name for step in steps] == [name for name, takes_s in links if takes_s]
