"""iCalendar files: what the exports of calendar programs come to, and what is refused."""

from __future__ import annotations

import random
import shutil
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import icalendar
import pytest
import recurring_ical_events  # type: ignore[import-untyped]
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from whenever import Instant, ZonedDateTime

from prescale.windows.timetable import timetable
from stacks.calendar import Calendar
from stacks.faults import InputError
from stacks.loader import load_stack
from stacks.series import Event
from tests.core.stack_files import write_stack
from tests.core.test_series import FACES, RULES, ZONES, _exists_once, _is_of

EXPORTS = Path(__file__).parent / "ics"
ROWS = """    events:
      - {match: {summary: "* SALE"}, services: {support-bot: {rps: 26.7}}}
      - {match: {summary: friday peak}, services: {support-bot: {replicas: 5}}, priority: 3}
      - {match: {category: sale}, services: {support-bot: {replicas: 6}}}
      - {match: {summary: "*launch"}, services: {support-bot: {replicas: 4}}}
      - {match: {summary: Stocktaking}, services: {support-bot: {in_flight: 100}}}
"""
ALL = "    events: [{services: {support-bot: {replicas: 5}}}]\n"
WEEK_S = 7 * 86400


def loaded(root: Path, text: str | bytes | None, *, zone: str = "Asia/Kolkata", rows: str = ALL) -> Calendar:
    folder = write_stack(
        root, events=lambda _: f"timezone: {zone}\nevents: []\ncalendars:\n  - file: sales.ics\n{rows}"
    )
    if text is not None:
        (folder / "sales.ics").write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_stack("local", root).calendar


def export(root: Path, name: str, zone: str) -> Calendar:
    return loaded(root, (EXPORTS / f"{name}.ics").read_bytes(), zone=zone, rows=ROWS)


def around(calendar: Calendar, now: str, ahead_s: int = 5 * WEEK_S) -> list[Event]:
    return sorted(calendar.around(Instant.parse_iso(now), ahead_s), key=lambda event: event.start.to_instant())


def calendar_of(*lines: str, zones: str = "") -> str:
    inner = "\n".join(["BEGIN:VEVENT", "UID:one@example.com", "SUMMARY:Sale", *lines, "END:VEVENT"])
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//test//EN\n{zones}{inner}\nEND:VCALENDAR\n"


def faults(root: Path, text: str | bytes | None, rows: str = ALL) -> list[str]:
    with pytest.raises(InputError) as raised:
        loaded(root, text, rows=rows)
    return [str(fault).partition("local/")[2] for fault in raised.value.faults]


def utc(moment: ZonedDateTime) -> str:
    return str(moment.to_instant().format_iso())[:16]


class TestExports:
    def test_google(self, tmp_path: Path) -> None:
        calendar = export(tmp_path, "google", "Asia/Kolkata")
        assert [
            (event.title, event.name[6:16] == event.name[6:], event.name[17:], utc(event.start), utc(event.end))
            for event in around(calendar, "2027-10-07T00:00:00Z")
            if not event.cancelled
        ] == [
            ("Friday peak", False, "2027-10-08", "2027-10-08T14:30", "2027-10-08T19:00"),
            ("Friday peak", False, "2027-10-15", "2027-10-16T13:30", "2027-10-16T16:30"),  # moved, and shorter
            ("Diwali sale", True, "", "2027-10-29T14:30", "2027-10-29T19:00"),
            ("Friday peak", False, "2027-10-29", "2027-10-29T14:30", "2027-10-29T19:00"),
            ("Stocktaking", True, "", "2027-11-07T18:30", "2027-11-09T18:30"),
        ]
        off = [event.name[17:] for event in around(calendar, "2027-10-07T00:00:00Z") if event.cancelled]
        assert off == ["2027-10-22", "2027-11-05"]
        assert "Team lunch" in calendar.notes[0]
        assert around(calendar, "2028-01-05T00:00:00Z") == []

    def test_outlook_names_zones_as_windows_does_or_defines_them(self, tmp_path: Path) -> None:
        black, tuesday = around(export(tmp_path, "outlook", "America/New_York"), "2026-11-20T00:00:00Z")
        assert (black.title, utc(black.start), utc(black.end)) == (
            "Black Friday",
            "2026-11-28T00:30",
            "2026-11-28T04:00",
        )
        # The definition is that of central Europe: on 2 March 09:00 is 08:00 in UTC.
        assert (tuesday.name[-10:], utc(tuesday.start)) == ("2027-03-02", "2027-03-02T08:00")
        april = around(export(tmp_path, "outlook", "America/New_York"), "2027-04-01T00:00:00Z", 3 * WEEK_S)
        assert [utc(event.start) for event in april] == ["2027-04-06T07:00"]

    def test_apple_and_the_night_of_the_clocks(self, tmp_path: Path) -> None:
        """02:30 does not exist on 28 March: the start counts at its earlier reading. UNTIL takes 11 April in."""
        found = around(export(tmp_path, "apple", "Europe/Berlin"), "2027-03-10T00:00:00Z")
        assert [(event.name[17:], event.cancelled, utc(event.start), utc(event.end)) for event in found] == [
            ("2027-03-14", False, "2027-03-14T01:30", "2027-03-14T03:00"),
            ("2027-03-21", True, "2027-03-21T01:30", "2027-03-21T03:00"),
            ("2027-03-28", False, "2027-03-28T00:30", "2027-03-28T03:00"),
            ("2027-04-04", False, "2027-04-04T00:30", "2027-04-04T02:00"),
            ("2027-04-11", False, "2027-04-11T00:30", "2027-04-11T02:00"),
            ("", False, "2027-06-01T07:00", "2027-06-01T09:30"),
        ]

    def test_floors_and_priorities_come_from_the_row(self, tmp_path: Path) -> None:
        export(tmp_path, "google", "Asia/Kolkata")
        windows = timetable(load_stack("local", tmp_path), Instant.from_utc(2027, 10, 7)).windows
        by_title = {window.title: (window.floor, window.priority) for window in windows}
        assert by_title == {"Friday peak": (5, 3), "Diwali sale": (7, 0), "Stocktaking": (4, 0)}

    def test_a_row_that_matches_nothing_is_a_finding(self, tmp_path: Path) -> None:
        findings = [text for _, text in export(tmp_path, "google", "Asia/Kolkata").findings]
        assert [text.partition(".events[")[2][0] for text in findings] == ["2", "3"]
        assert "no entry of sales.ics with category 'sale' comes to this row" in findings[0]


class TestNames:
    def test_stay_when_the_entry_is_renamed_or_moved(self, tmp_path: Path) -> None:
        times = ("DTSTART:20271029T143000Z", "DTEND:20271029T190000Z")
        (before,) = around(loaded(tmp_path, calendar_of(*times)), "2027-10-07T00:00:00Z")
        other = calendar_of(*times).replace("SUMMARY:Sale", "SUMMARY:Big sale").replace("20271029", "20271030")
        (after,) = around(loaded(tmp_path, other), "2027-10-07T00:00:00Z")
        assert before.name == after.name
        assert before.name.startswith("sales-")
        assert len(before.name) <= 40

    def test_the_same_uid_twice(self, tmp_path: Path) -> None:
        one = calendar_of("DTSTART:20271029T143000Z", "DTEND:20271029T190000Z")
        entry = one[one.index("BEGIN:VEVENT") : one.index("END:VCALENDAR")]
        twice = one.replace("END:VCALENDAR\n", f"{entry.replace('20271029', '20271101')}END:VCALENDAR\n")
        (fault,) = faults(tmp_path, twice)
        assert "VEVENT.UID: got the same UID with other content (Sale)" in fault
        newer = twice.replace("SUMMARY:Sale", "SUMMARY:Sale\nSEQUENCE:1", 1)
        (event,) = around(loaded(tmp_path, newer), "2027-10-07T00:00:00Z")
        assert utc(event.start) == "2027-10-29T14:30"


class TestOccurrences:
    def found(self, root: Path, *lines: str, now: str = "2027-10-07T00:00:00Z") -> list[tuple[str, bool, str, str]]:
        calendar = loaded(root, calendar_of(*lines), zone="UTC")
        return [(e.name[17:], e.cancelled, utc(e.start), utc(e.end)) for e in around(calendar, now, 3 * WEEK_S)]

    def test_extra_days_with_other_times_and_lengths(self, tmp_path: Path) -> None:
        found = self.found(
            tmp_path,
            "DTSTART:20271008T140000Z",
            "DURATION:PT2H",
            "RDATE:20271010T140000Z,20271012T180000Z",
            "RDATE;VALUE=PERIOD:20271014T100000Z/PT5H,20271015T100000Z/20271015T110000Z",
            "RDATE;VALUE=DATE:20271016",
            "EXDATE:20271010T140000Z,20271012T180000Z,20271016T150000Z",
        )
        assert found == [
            ("2027-10-08", False, "2027-10-08T14:00", "2027-10-08T16:00"),
            ("2027-10-10", True, "2027-10-10T14:00", "2027-10-10T16:00"),
            ("2027-10-12", True, "2027-10-12T18:00", "2027-10-12T20:00"),
            ("2027-10-14", False, "2027-10-14T10:00", "2027-10-14T15:00"),
            ("2027-10-15", False, "2027-10-15T10:00", "2027-10-15T11:00"),
            ("2027-10-16", False, "2027-10-16T14:00", "2027-10-16T16:00"),  # its EXDATE has another time
        ]

    def test_the_first_day_counts_though_the_rule_has_it_not(self, tmp_path: Path) -> None:
        found = self.found(
            tmp_path, "DTSTART:20271007T140000Z", "DTEND:20271007T150000Z", "RRULE:FREQ=WEEKLY;BYDAY=MO;COUNT=2"
        )
        assert [name for name, *_ in found] == ["2027-10-07", "2027-10-11", "2027-10-18"]

    def test_a_whole_series_that_is_cancelled(self, tmp_path: Path) -> None:
        lines = ("DTSTART:20271008T140000Z", "DURATION:PT2H", "RRULE:FREQ=DAILY;COUNT=2", "STATUS:CANCELLED")
        assert {cancelled for _, cancelled, *_ in self.found(tmp_path, *lines)} == {True}

    def test_an_invitation_to_one_occurrence(self, tmp_path: Path) -> None:
        lines = ("RECURRENCE-ID:20271008T140000Z", "DTSTART:20271009T140000Z", "DURATION:PT2H")
        assert self.found(tmp_path, *lines) == [("2027-10-08", False, "2027-10-09T14:00", "2027-10-09T16:00")]

    @pytest.mark.parametrize(
        ("lines", "end"),
        [
            pytest.param(("DTSTART:20270314T013000", "DURATION:PT2H"), "2027-03-14T08:30", id="a length"),
            pytest.param(("DTSTART:20270314T023000", "DURATION:PT2H"), "2027-03-14T09:30", id="from the skipped hour"),
            pytest.param(("DTSTART:20270313T120000", "DURATION:PT24H"), "2027-03-14T17:00", id="a day and a night"),
            pytest.param(("DTSTART:20270314T013000", "DTEND:20270314T033000"), "2027-03-14T07:30", id="an end"),
            pytest.param(
                ("DTSTART:20270312T013000", "DURATION:PT2H", "RRULE:FREQ=DAILY"), "2027-03-14T08:30", id="one of many"
            ),
            pytest.param(
                ("DTSTART:20270312T013000", "DTEND:20270312T033000", "RRULE:FREQ=DAILY"),
                "2027-03-14T08:30",
                id="one as long as the first",
            ),
            pytest.param(
                ("DTSTART:20270312T013000", "DTEND:20270312T033000", "RDATE:20270314T014500"),
                "2027-03-14T08:45",
                id="an extra day's, as long as the first",
            ),
            pytest.param(
                (
                    "DTSTART:20270312T013000",
                    "DTEND:20270312T033000",
                    "RDATE;VALUE=PERIOD:20270314T014500/PT3H",
                ),
                "2027-03-14T09:45",
                id="an extra day's own length",
            ),
            pytest.param(("DTSTART;VALUE=DATE:20270314", "DURATION:P1D"), "2027-03-15T04:00", id="a whole day"),
            pytest.param(
                ("DTSTART;VALUE=DATE:20270313", "DTEND;VALUE=DATE:20270314", "RRULE:FREQ=DAILY"),
                "2027-03-15T04:00",
                id="one of many whole days",
            ),
        ],
    )
    def test_a_length_is_not_cut_by_the_hour_that_clocks_skip(
        self, tmp_path: Path, lines: tuple[str, ...], end: str
    ) -> None:
        calendar = loaded(tmp_path, calendar_of(*lines), zone="America/New_York")
        ends = [utc(event.end) for event in around(calendar, "2027-03-13T16:00:00Z", 2 * 86400)]
        assert end in ends

    def test_whole_days_are_in_the_calendars_zone(self, tmp_path: Path) -> None:
        text = calendar_of("DTSTART;VALUE=DATE:20271029", "RRULE:FREQ=YEARLY")
        rows = f"    timezone: America/New_York\n{ALL}"
        (event,) = around(loaded(tmp_path, text, rows=rows), "2027-10-07T00:00:00Z")
        assert (utc(event.start), utc(event.end)) == ("2027-10-29T04:00", "2027-10-30T04:00")

    def test_an_entrys_own_word(self, tmp_path: Path) -> None:
        word = "X-WARMLINE-EVENT:{services: {support-bot: {rps: 26.7\\, headroom_pct: 0}}\\, owner: growth}"
        text = calendar_of("DTSTART:20271029T143000Z", "DTEND:20271029T190000Z", word)
        loaded(tmp_path, text, rows="")
        (window,) = timetable(load_stack("local", tmp_path), Instant.from_utc(2027, 10, 7)).windows
        assert (window.floor, window.owner, window.title) == (6, "growth", "Sale")


ZONE = """BEGIN:VTIMEZONE
TZID:{tzid}
BEGIN:STANDARD
DTSTART:19700101T000000
TZOFFSETFROM:{offset}
TZOFFSETTO:{offset}
END:STANDARD
END:VTIMEZONE
"""


@pytest.mark.parametrize(
    ("tzid", "zones", "start"),
    [
        ("Asia/Kolkata", "", "2027-10-29T14:30"),
        ("India Standard Time", "", "2027-10-29T14:30"),
        ('"(UTC+05:30) Kolkata"', ZONE.format(tzid="(UTC+05:30) Kolkata", offset="+0530"), "2027-10-29T14:30"),
        ("/freeassociation.sourceforge.net/Europe/Berlin", "", "2027-10-29T18:00"),
        ("IST", ZONE.format(tzid="IST", offset="+0530"), "2027-10-29T14:30"),
        ('"tzone://Microsoft/Utc"', "", "2027-10-29T20:00"),
        # A name that is known counts before the file's own definition of it.
        ("Europe/Berlin", ZONE.format(tzid="Europe/Berlin", offset="+0000"), "2027-10-29T18:00"),
        ("IST", "", None),
        ("Nowhere/City", "", None),
        ("../../etc/passwd", "", None),
        ("Local", ZONE.format(tzid="Local", offset="+0217"), None),
    ],
)
def test_zones(tmp_path: Path, tzid: str, zones: str, start: str | None) -> None:
    text = calendar_of(f"DTSTART;TZID={tzid}:20271029T200000", "DURATION:PT1H", zones=zones)
    if start is None:
        (fault,) = faults(tmp_path, text)
        assert f"VEVENT.DTSTART: got the zone {tzid} (Sale), expected an IANA zone" in fault
        return
    (event,) = around(loaded(tmp_path, text), "2027-10-07T00:00:00Z")
    assert utc(event.start) == start


TIMES = ("DTSTART:20271029T143000Z", "DTEND:20271029T190000Z")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("DTEND:20271029T190000Z",), "VEVENT.DTSTART: got no DTSTART"),
        (("DTSTART:20271301T143000Z", "DURATION:PT1H"), "VEVENT.DTSTART: got Wrong datetime format"),
        (("DTSTART:20271029T143000Z",), "VEVENT.DTEND: got no end"),
        (("DTSTART:20271029T143000Z", "DURATION:-PT1H"), "expected an end after its start (2027-10-29 14:30:00)"),
        (("DTSTART:20271029T143000Z", "DTEND:20271029T133000Z"), "expected an end after its start"),
        (("DTSTART:20271029T143000Z", "DURATION:P99999999999D"), "VEVENT.DURATION: got"),
        (("DTSTART:99991231T143000Z", "DURATION:P9D"), "expected a year from 2000 to 2199"),
        (("DTSTART:19990101T143000Z", "DURATION:P9D"), "expected a year from 2000 to 2199"),
        ((*TIMES, "RRULE:FREQ=SECONDLY"), "VEVENT.RRULE: got FREQ=SECONDLY (Sale), expected at most one occurrence"),
        ((*TIMES, "RRULE:FREQ=DAILY;BYHOUR=8,20"), "at most one occurrence a day"),
        ((*TIMES, "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"), "expected a rule that some day fulfils"),
        ((*TIMES, "RRULE:FREQ=DAILY;COUNT=3;UNTIL=20280101"), "expected either COUNT or UNTIL"),
        ((*TIMES, "RRULE:FREQ=FORTNIGHTLY"), "VEVENT.RRULE: got Expected frequency, got: FORTNIGHTLY"),
        ((*TIMES, "RRULE:FREQ=DAILY", "RRULE:FREQ=WEEKLY"), "VEVENT.RRULE: got it is there more than once"),
        (
            (*TIMES, "RRULE:FREQ=DAILY", "RDATE:20271101T100000Z"),
            "VEVENT.RDATE: got 2027-11-01 10:00:00 beside another",
        ),
        (("DTSTART:20271029T143000Z", "DURATION:P40D", "RRULE:FREQ=YEARLY"), "got 40 days (Sale), expected at most 31"),
        ((*TIMES, "RECURRENCE-ID;RANGE=THISANDFUTURE:20271029T143000Z"), "got RANGE=THISANDFUTURE"),
        ((*TIMES, "X-WARMLINE-EVENT:{services: {support-bot: {rps: much}}}"), "support-bot.rps: got 'much'"),
        ((*TIMES, "X-WARMLINE-EVENT:{services: {support-bot"), "X-WARMLINE-EVENT: got"),
        ((*TIMES, "X-WARMLINE-EVENT:{services: {sales-bot: {rps: 1}}}"), "services.sales-bot: got sales-bot"),
    ],
)
def test_what_is_refused(tmp_path: Path, lines: tuple[str, ...], said: str) -> None:
    (fault,) = faults(tmp_path, calendar_of(*lines))
    assert said in fault


def test_all_faults_at_once_and_only_of_what_is_meant(tmp_path: Path) -> None:
    one = calendar_of("DTSTART:20271029T143000Z")
    entries = [
        one[one.index("BEGIN:VEVENT") : one.index("END:VCALENDAR")].replace("one@", f"{name}@").replace("Sale", name)
        for name in ("a sale", "b sale", "lunch")
    ]
    rows = '    events: [{match: {summary: "*sale"}, services: {support-bot: {replicas: 5}, sales-bot: {rps: 1}}}]\n'
    text = f"BEGIN:VCALENDAR\n{''.join(entries)}END:VCALENDAR\n"
    assert [fault.partition(" got")[0] for fault in faults(tmp_path, text, rows)] == [
        "events.yaml:5: calendars[0].events[0].services.sales-bot:",
        "sales.ics:2: VEVENT.DTEND:",
        "sales.ics:7: VEVENT.DTEND:",
    ]


def test_a_faulty_calendar_row_hides_no_fault_of_the_next(tmp_path: Path) -> None:
    rows = (
        "    zone: UTC\n    events: [{services: {}}]\n  - file: none.ics\n    events: [{services: {other: {rps: 1}}}]\n"
    )
    assert [fault.partition(" got")[0] for fault in faults(tmp_path, None, rows)] == [
        "events.yaml:5: calendars[0].zone:",
        "events.yaml:6: calendars[0].events[0].services:",
        "events.yaml:8: calendars[1].events[0].services.other:",
        "none.ics:",
    ]


def test_a_floor_above_the_ceiling_says_whose(tmp_path: Path) -> None:
    loaded(tmp_path, calendar_of(*TIMES), rows="    events: [{services: {support-bot: {replicas: 17}}}]\n")
    with pytest.raises(InputError, match=r"calendars\[0\].events\[0\].services.support-bot: got Sale: a floor of 17"):
        timetable(load_stack("local", tmp_path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "sales.ics: got no such file"),
        ("", "sales.ics:1: got an empty file"),
        ("\n\n", "sales.ics:1: got an empty file"),
        ("<!DOCTYPE html>\n<html>Sign in</html>\n", "sales.ics:1: got '<!DOCTYPE html>' outside of a calendar"),
        ("BEGIN:VEVENT\nEND:VEVENT\n", "sales.ics:1: got BEGIN:VEVENT"),
        ("BEGIN:VCALENDAR\nEND:VEVENT\nEND:VCALENDAR\n", "sales.ics:2: got END:VEVENT where nothing of it is open"),
        (b"BEGIN:VCALENDAR\n\xff\xfe\nEND:VCALENDAR\n", "bytes that are not UTF-8"),
        ("BEGIN:VCALENDAR\n" + "BEGIN:VEVENT\n" * 5000, "sales.ics:22: got BEGIN:VEVENT"),
        ("BEGIN:VCALENDAR\n" + "X" * 3 * 2**20 + "\nEND:VCALENDAR\n", "got more than 2 MiB"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, text: str | bytes | None, said: str) -> None:
    (fault,) = faults(tmp_path, text)
    assert said in fault


def test_a_file_cut_mid_write_is_refused_wherever_it_is_cut(tmp_path: Path) -> None:
    whole = (EXPORTS / "google.ics").read_bytes()
    last = whole.rindex(b"END:VCALENDAR")
    for cut in [*range(0, last, last // 60), last, last + 12]:
        assert "sales.ics" in faults(tmp_path, whole[:cut])[0]


@pytest.mark.parametrize(
    ("line", "times"), [("RRULE:FREQ=DAILY", 501), ("TRANSP:OPAQUE", 2001), ("RDATE;VALUE=PERIOD:%s", 1)]
)
def test_more_than_a_plan_can_be_made_of(tmp_path: Path, line: str, times: int) -> None:
    periods = [f"{date(2027, 1, 1) + timedelta(days=n):%Y%m%d}T100000Z/PT1H" for n in range(2100)]
    one = calendar_of("DTSTART:20271029T143000Z", "DURATION:PT1H", line.replace("%s", ",".join(periods)))
    entry = one[one.index("BEGIN:VEVENT") : one.index("END:VCALENDAR")]
    entries = "".join(entry.replace("one@", f"{n}@") for n in range(times))
    (fault,) = faults(tmp_path, f"BEGIN:VCALENDAR\n{entries}END:VCALENDAR\n")
    assert "expected at most 2000 and 500. Match less" in fault


def test_a_calendar_without_entries_is_one(tmp_path: Path) -> None:
    assert loaded(tmp_path, "BEGIN:VCALENDAR\nVERSION:2.0\nEND:VCALENDAR\n").listed == ()


@pytest.mark.parametrize("export_name", ["google", "outlook", "apple"])
def test_a_mutated_file_is_read_or_refused(tmp_path: Path, export_name: str) -> None:
    """40 of each: pieces replaced, lines lost, doubled or swapped."""
    whole = (EXPORTS / f"{export_name}.ics").read_text(encoding="utf-8")
    chance = random.Random(export_name)  # noqa: S311 - the same ones every time
    for _ in range(40):
        lines = whole.splitlines(keepends=True)
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(lines))
            change = chance.choice(["drop", "double", "swap", "piece"])
            if change == "drop":
                del lines[place]
            elif change == "double":
                lines.insert(place, lines[place])
            elif change == "swap":
                other = chance.randrange(len(lines))
                lines[place], lines[other] = lines[other], lines[place]
            else:
                at = chance.randrange(len(lines[place]))
                junk = "".join(chance.choices(':;,="\\\n0129TZ-+MOFR', k=chance.randint(0, 5)))
                lines[place] = lines[place][:at] + junk + lines[place][at + chance.randint(0, 6) :]
        with suppress(InputError):
            calendar = loaded(tmp_path, "".join(lines), rows=ROWS)
            names = [event.name for event in calendar.around(Instant.from_utc(2027, 10, 7), 5 * WEEK_S)]
            assert len(names) == len(set(names))


# Each example reads files, so none is shrunk: it would take minutes.
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(
    data=st.data(),
    rule=RULES,
    zone=ZONES,
    face=FACES,
    minutes=st.integers(1, 30 * 60),
    later_days=st.integers(0, 700),
)
def test_the_same_as_in_events_yaml_and_as_the_library_has_it(
    tmp_path: Path, *, data: st.DataObject, rule: str, zone: str, face: time, minutes: int, later_days: int
) -> None:
    first = next(day for day in (date(2026, 1, 1) + timedelta(days=n) for n in range(400)) if _is_of(rule, day))
    start = datetime.combine(first, face)
    end = start + timedelta(minutes=minutes)
    entry = icalendar.Event()
    entry.add("uid", "a")
    entry.add("dtstart", start.replace(tzinfo=ZoneInfo(zone)))
    entry.add("dtend", end.replace(tzinfo=ZoneInfo(zone)))
    entry.add("rrule", icalendar.vRecur.from_ical(rule))
    days = [item.start.date() for item in _occurrences(entry)]
    cancelled = data.draw(st.lists(st.sampled_from(days), max_size=4, unique=True))
    for day in cancelled:
        entry.add("exdate", datetime.combine(day, face, ZoneInfo(zone)))
    whole = icalendar.Calendar()
    whole.add_component(entry)

    now = Instant.from_utc(2026, 1, 5).add(hours=24 * later_days)
    from_file = loaded(tmp_path, whole.to_ical(), zone=zone).around(now, 30 * 86400)
    off = f"cancelled_on: [{', '.join(map(str, cancelled))}], "
    event = f"name: a, start: '{start}', end: '{end}', repeat: {{rule: \"{rule}\"}}, {off}"
    written = f"timezone: {zone}\nevents:\n  - {{{event}services: {{support-bot: {{replicas: 5}}}}}}\n"
    write_stack(tmp_path, events=lambda _: written)
    from_yaml = load_stack("local", tmp_path).calendar.around(now, 30 * 86400)
    assert [_seen(event) for event in from_file] == [_seen(event) for event in from_yaml]
    for filed, typed in zip(from_file, from_yaml, strict=True):
        # Here the clock's face alone says how long it is; a file's entry is never shorter by a stopwatch, either.
        assert filed.end >= typed.end
        assert (filed.end - filed.start).total("minutes") >= minutes
        is_skipped = typed.start.to_plain().to_stdlib().time() != face
        is_on_one_clock = not is_skipped and (typed.end - typed.start).total("minutes") == minutes
        assert not is_on_one_clock or filed.end == typed.end
    assert len({event.name for event in from_file}) == len(from_file)

    since, until = now.subtract(hours=48), now.add(hours=30 * 24)
    theirs = {
        (item.start.replace(tzinfo=None), item.end.replace(tzinfo=None))
        for item in _occurrences(entry)
        if Instant(item.end) > since and Instant(item.start) < until
    }
    ours = {
        (event.start.to_plain().to_stdlib(), event.end.to_plain().to_stdlib())
        for event in from_file
        if not event.cancelled and event.end.to_instant() > since and event.start.to_instant() < until
    }
    plain = {item for item in theirs if all(_exists_once(moment, zone) for moment in item)}
    assert {item for item in ours if all(_exists_once(moment, zone) for moment in item)} == plain


def _seen(event: Event) -> tuple[str, str, bool]:
    return event.name.partition("@")[2], str(event.start), event.cancelled


def _occurrences(entry: icalendar.Event) -> list[Any]:
    whole = icalendar.Calendar()
    whole.add_component(entry)
    found: list[Any] = recurring_ical_events.of(whole).between(date(2025, 12, 1), date(2028, 12, 31))
    return found


def test_the_file_lies_where_it_is_named(tmp_path: Path) -> None:
    folder = write_stack(tmp_path)
    (tmp_path / "calendars").mkdir()
    shutil.copy(EXPORTS / "google.ics", tmp_path / "calendars" / "Sales Events 2027.ics")
    text = "timezone: UTC\nevents: []\ncalendars:\n  - file: ../calendars/Sales Events 2027.ics\n" + ROWS
    (folder / "events.yaml").write_text(text)
    names = {event.name for event in load_stack("local", tmp_path).calendar.listed}
    assert all(name.startswith("sales-events-2027-") for name in names)


def test_one_file_twice_is_a_fault(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, calendar_of(*TIMES), f"{ALL}  - file: ./sales.ics\n{ALL}")
    assert "calendars[1].file: got ./sales.ics a second time" in fault
