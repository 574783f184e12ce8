"""Events on named holidays: their day of each year, and where nobody knows it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from whenever import Instant

from stacks.calendar import Calendar
from stacks.events import Holiday
from stacks.faults import InputError
from stacks.holiday import HolidayDays, holiday_findings, holiday_notes
from tests.core.stack_files import calendar, stack


def loaded(root: Path, holiday: str, more: str = "") -> Calendar:
    return stack(root, events=calendar(f"name: sale, holiday: {{{holiday}}}{more}, SERVICES")).calendar


def found(root: Path, holiday: str, now: str, more: str = "") -> list[tuple[str, str, str]]:
    events = loaded(root, holiday, more).around(Instant.parse_iso(now), 40 * 86400)
    return [
        (event.name, event.start.to_instant().format_iso()[:16], event.end.to_instant().format_iso()[:16])
        for event in events
        if not event.cancelled
    ]


@pytest.mark.parametrize(
    ("holiday", "now", "event"),
    [
        # Source of the days: the Government of India's lists of holidays; 2026 has it joined with another name.
        ("country: IN, name: Diwali", "2026-10-15", ("sale@2026-11-08", "2026-11-07T18:30", "2026-11-08T18:30")),
        ("country: IN, name: diwali", "2027-10-15", ("sale@2027-10-29", "2027-10-28T18:30", "2027-10-29T18:30")),
        (
            'country: IN, name: Diwali, start: "20:00", end: "00:30"',
            "2027-10-15",
            ("sale@2027-10-29", "2027-10-29T14:30", "2027-10-29T19:00"),
        ),
        (
            'country: IN, name: Diwali, offset_days: -1, start: "18:00", end: "22:00"',
            "2027-10-15",
            ("sale@2027-10-28", "2027-10-28T12:30", "2027-10-28T16:30"),
        ),
        # The day before the new year's first, and one day after the old year's last.
        ("country: US, name: New Year's Day, offset_days: -1", "2027-12-15", ("sale@2027-12-31",) * 1),
        ("country: US, name: New Year's Eve, offset_days: 1", "2027-12-15", ("sale@2028-01-01",) * 1),
        # In the country's own language, and with a part of the country.
        ("country: DE, name: Heilige Drei Könige, subdiv: BY", "2027-12-15", ("sale@2028-01-06",) * 1),
        ("country: DE, name: Epiphany, subdiv: BY", "2027-12-15", ("sale@2028-01-06",) * 1),
    ],
)
def test_the_day_of_each_year(tmp_path: Path, holiday: str, now: str, event: tuple[str, ...]) -> None:
    first = found(tmp_path, holiday, f"{now}T00:00:00Z")[0]
    assert first[: len(event)] == event


def test_twice_in_one_year_has_two_names() -> None:
    """The moon's year is eleven days shorter: 2033 begins and ends with it."""
    days = HolidayDays(Holiday(country="IN", name="Eid al-Fitr"))
    assert [str(day) for day in days.between(date(2033, 1, 1), date(2033, 12, 31))] == ["2033-01-03", "2033-12-24"]


def test_moved_and_cancelled_like_what_repeats(tmp_path: Path) -> None:
    more = ", moved: {2027-10-29: 2027-10-30 19:00}, cancelled_on: [2028-10-17]"
    diwali = 'country: IN, name: Diwali, start: "20:00", end: "22:00"'
    assert found(tmp_path, diwali, "2027-10-15T00:00:00Z", more) == [
        ("sale@2027-10-29", "2027-10-30T13:30", "2027-10-30T15:30")
    ]
    assert found(tmp_path, diwali, "2028-10-15T00:00:00Z", more) == [
        ("sale@2029-11-05", "2029-11-05T14:30", "2029-11-05T16:30")
    ]


def test_beyond_what_is_known_is_a_finding(tmp_path: Path) -> None:
    series = loaded(tmp_path, "country: IN, name: Diwali").series
    assert list(holiday_findings(series, date(2035, 10, 29))) == []
    ((_, said),) = holiday_findings(series, date(2035, 10, 30))
    assert "sale: Diwali (IN) is known only until 2035-10-30, so nothing is raised after." in said
    assert "Write an event with its `day`" in said


def test_an_estimated_day_is_told(tmp_path: Path) -> None:
    series = loaded(tmp_path, "country: AE, name: Eid al-Fitr").series
    (said,) = holiday_notes(series, date(2028, 2, 1))
    assert said.startswith("sale@2028-02-26: the day is estimated")
    assert list(holiday_notes(loaded(tmp_path, "country: US, name: Christmas Day").series, date(2028, 2, 1))) == []


@pytest.mark.parametrize(
    ("holiday", "said"),
    [
        ("country: IN, name: Diwalli", "holiday.name: got Diwalli, expected a holiday of IN (near it: Diwali"),
        ("country: IN, name: Naraka", "(near it: Naraka Chaturdashi"),
        ("country: IN, name: qqq", "(near it: none). Write it as it stands there, say the subdiv that has it"),
        ("country: XX, name: Diwali", "holiday.country: got XX, expected a country's code of two letters"),
        ("country: in, name: Diwali", "holiday.country: got 'in', expected a code of two capital letters"),
        ("country: DE, subdiv: XX, name: Epiphany", "holiday.subdiv: got XX, expected one of BB, BE,"),
        ("country: IN, name: Diwali, start: '25:00', end: '26:00'", "a time of day, as 20:00"),
        ("country: IN, name: Diwali, start: '20:00'", "holiday.end: got nothing, expected start and end, or neither"),
        ("country: IN, name: Diwali}, repeat: {rule: FREQ=DAILY", "got repeat beside holiday, expected one of the two"),
        ("country: IN, name: Diwali}, day: 2027-10-29, moved: {", "got day beside holiday"),
        ("country: IN, name: Diwali}, moved: {2027-10-28: 2027-10-29 20:00", "expected a day on which the rule has it"),
    ],
)
def test_what_is_refused(tmp_path: Path, holiday: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        loaded(tmp_path, holiday)
    assert said in "\n".join(str(fault) for fault in raised.value.faults)
