"""Events that repeat: their days, their names, and their instants where clocks change."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import icalendar
import pytest
import recurring_ical_events  # type: ignore[import-untyped]
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from whenever import Instant, ZonedDateTime

from prescale.clock import Clock
from prescale.decision import decide
from prescale.windows.timetable import timetable
from prescale.windows.window import Timetable
from stacks.faults import InputError
from stacks.loader import load_stack
from stacks.series import Event
from tests.core.cluster_double import patched, scaled_object, seen
from tests.core.decision_cases import minimum
from tests.core.stack_files import calendar, stack, write_stack

FRIDAYS = "name: peak, start: 2027-10-01 20:00, end: 2027-10-02 00:30, repeat: {rule: FREQ=WEEKLY;BYDAY=FR}, SERVICES"
WEEK_S = 7 * 86400


def around(root: Path, event: str, zone: str, now: str, ahead_s: int = WEEK_S) -> dict[str, Event]:
    loaded = stack(root, events=calendar(event, timezone=zone))
    return {event.name: event for event in loaded.calendar.around(Instant.parse_iso(now), ahead_s)}


def faults(root: Path, event: str) -> list[str]:
    with pytest.raises(InputError) as raised:
        stack(root, events=calendar(event))
    return [str(fault).partition("events.yaml:")[2] for fault in raised.value.faults]


def utc(moment: ZonedDateTime) -> str:
    return str(moment.to_instant().format_iso())[:16]


def table(root: Path, event: str, now: str, timezone: str = "Asia/Kolkata") -> Timetable:
    return timetable(stack(root, events=calendar(event, timezone=timezone)), Instant.parse_iso(now))


class TestNames:
    def test_by_the_local_day_of_the_rule(self, tmp_path: Path) -> None:
        # 02:00 on Saturday in Kolkata is Friday in UTC.
        event = "name: a, start: 2027-10-02 02:00, end: 2027-10-02 03:00, repeat: {rule: FREQ=WEEKLY}, SERVICES"
        found = around(tmp_path, event, "Asia/Kolkata", "2027-10-06T00:00:00Z")
        assert {name: utc(event.start) for name, event in found.items()} == {"a@2027-10-09": "2027-10-08T20:30"}

    def test_the_same_when_moved_or_cancelled(self, tmp_path: Path) -> None:
        event = f"{FRIDAYS}, cancelled_on: [2027-10-08], moved: {{2027-10-15: 2027-10-16 19:00}}"
        found = around(tmp_path, event, "Asia/Kolkata", "2027-10-06T00:00:00Z", 3 * WEEK_S)
        assert {name: (event.cancelled, utc(event.start)) for name, event in found.items()} == {
            "peak@2027-10-08": (True, "2027-10-08T14:30"),
            "peak@2027-10-15": (False, "2027-10-16T13:30"),
            "peak@2027-10-22": (False, "2027-10-22T14:30"),
        }
        assert utc(found["peak@2027-10-15"].end) == "2027-10-16T18:00"


class TestHorizon:
    def test_over_for_two_days_then_unknown(self, tmp_path: Path) -> None:
        # It ends on Friday at 19:00 UTC.
        before, after = ("2027-10-10T18:59:59Z", "2027-10-10T19:00:00Z")
        assert "peak@2027-10-08" in around(tmp_path, FRIDAYS, "Asia/Kolkata", before)
        assert "peak@2027-10-08" not in around(tmp_path, FRIDAYS, "Asia/Kolkata", after)

    def test_the_next_however_far(self, tmp_path: Path) -> None:
        event = "name: a, start: 2028-02-29 20:00, end: 2028-02-29 22:00, repeat: {rule: FREQ=YEARLY}, SERVICES"
        assert [*around(tmp_path, event, "Asia/Kolkata", "2028-06-01T00:00:00Z")] == ["a@2032-02-29"]

    def test_the_next_that_begins_hours_after_what_is_asked_for(self, tmp_path: Path) -> None:
        event = "name: a, start: 2027-10-29 20:00, end: 2027-10-29 22:00, repeat: {rule: FREQ=YEARLY}, SERVICES"
        for hour in (6, 15, 23):
            found = around(tmp_path, event, "Asia/Kolkata", f"2028-10-21T{hour:02}:00:00Z")
            assert [*found] == ["a@2028-10-29"]

    def test_the_next_that_is_not_cancelled(self, tmp_path: Path) -> None:
        event = f"{FRIDAYS}, cancelled_on: [2027-10-08, 2027-10-15, 2027-10-22]"
        found = around(tmp_path, event, "Asia/Kolkata", "2027-10-06T00:00:00Z", WEEK_S)
        assert [*found] == ["peak@2027-10-08", "peak@2027-10-29"]

    @pytest.mark.parametrize(
        ("moved", "following"),
        [
            ("2027-12-20 20:00", "y@2027-12-24"),
            ("2029-01-05 20:00", "y@2028-12-24"),
            ("2027-05-01 20:00", "y@2028-12-24"),
        ],
    )
    def test_the_next_that_was_moved(self, tmp_path: Path, moved: str, following: str) -> None:
        """In June the one of December is the next, wherever it was moved to, unless another comes before it."""
        yearly = "name: y, start: 2026-12-24 20:00, end: 2026-12-24 23:00, repeat: {rule: FREQ=YEARLY}"
        loaded = stack(tmp_path, events=calendar(f"{yearly}, moved: {{2027-12-24: '{moved}'}}, SERVICES"))
        (event,) = loaded.calendar.around(Instant.from_utc(2027, 6, 1), 28 * 86400)
        assert event.name == following

    def test_of_all_cancelled_the_next_too(self, tmp_path: Path) -> None:
        found = around(tmp_path, f"{FRIDAYS}, cancelled: true", "Asia/Kolkata", "2027-10-06T00:00:00Z", 3600)
        assert [(name, event.cancelled) for name, event in found.items()] == [("peak@2027-10-08", True)]

    def test_until_is_the_last_day(self, tmp_path: Path) -> None:
        event = FRIDAYS.replace("BYDAY=FR}", "BYDAY=FR, until: 2027-10-08}")
        assert [*around(tmp_path, event, "Asia/Kolkata", "2027-10-06T00:00:00Z", 3 * WEEK_S)] == ["peak@2027-10-08"]

    def test_moved_far_away_is_still_known_where_it_was(self, tmp_path: Path) -> None:
        """That it is no longer there is a certain answer; gone from the calendar would be none."""
        event = f"{FRIDAYS}, moved: {{2027-10-08: 2028-03-01 19:00}}"
        found = around(tmp_path, event, "Asia/Kolkata", "2027-10-08T15:00:00Z", WEEK_S)
        assert utc(found["peak@2027-10-08"].start) == "2028-03-01T13:30"

    def test_the_lead_time_is_ahead_of_it(self, tmp_path: Path) -> None:
        """Three weeks for the nodes: raised before the four weeks that a plan shows would begin."""
        loaded = stack(
            tmp_path,
            platform=lambda text: text.replace("cold_start: {", f"cold_start: {{node_s: {30 * 86400}, "),
            events=calendar(FRIDAYS),
        )
        now = Instant.from_utc(2027, 10, 1)
        windows = timetable(loaded, now).windows
        assert max(w.raise_at for w in windows) > now.add(seconds=26 * 86400)
        assert sum(w.active(now) for w in windows) >= 4

    def test_endless_since_long_ago_and_bounded(self, tmp_path: Path) -> None:
        event = "name: a, start: 2000-01-01 20:00, end: 2000-01-01 22:00, repeat: {rule: FREQ=DAILY}, SERVICES"
        assert len(table(tmp_path, event, "2199-06-01T00:00:00Z").windows) <= 32


@pytest.mark.parametrize(
    ("zone", "day", "start", "end", "utc_start", "utc_end"),
    [
        # The gap: an hour at 02:00, in Lord Howe half an hour.
        ("America/New_York", "2026-03-08", "02:30", "04:00", "2026-03-08T06:30", "2026-03-08T08:00"),
        ("America/New_York", "2026-03-08", "00:30", "02:30", "2026-03-08T05:30", "2026-03-08T07:30"),
        ("America/New_York", "2026-03-08", "02:15", "02:30", "2026-03-08T06:15", "2026-03-08T07:30"),
        ("Europe/Berlin", "2027-03-28", "02:30", "03:00", "2027-03-28T00:30", "2027-03-28T01:00"),
        ("Australia/Lord_Howe", "2027-10-03", "02:15", "03:00", "2027-10-02T15:15", "2027-10-02T16:00"),
        ("Australia/Lord_Howe", "2027-10-03", "01:00", "02:15", "2027-10-02T14:30", "2027-10-02T15:45"),
        # Repeated: the first for a start, the second for an end.
        ("America/New_York", "2026-11-01", "01:30", "03:00", "2026-11-01T05:30", "2026-11-01T08:00"),
        ("America/New_York", "2026-11-01", "00:30", "01:30", "2026-11-01T04:30", "2026-11-01T06:30"),
        ("Europe/Berlin", "2027-10-31", "02:15", "02:30", "2027-10-31T00:15", "2027-10-31T01:30"),
        ("Australia/Lord_Howe", "2027-04-04", "01:45", "03:00", "2027-04-03T14:45", "2027-04-03T16:30"),
        # Neither: the face of the clock stays, through the night of the change as well.
        ("America/New_York", "2026-03-07", "22:00", "06:00", "2026-03-08T03:00", "2026-03-08T10:00"),
        ("America/New_York", "2026-03-09", "02:30", "04:00", "2026-03-09T06:30", "2026-03-09T08:00"),
        ("Asia/Kolkata", "2027-03-28", "02:30", "04:00", "2027-03-27T21:00", "2027-03-27T22:30"),
    ],
)
def test_the_clocks_face_stays_and_a_window_is_as_wide_as_it_can_be_read(
    tmp_path: Path, *, zone: str, day: str, start: str, end: str, utc_start: str, utc_end: str
) -> None:
    first = date.fromisoformat(day) - timedelta(days=70)
    last = first + timedelta(days=int(end < start))
    event = f"name: a, start: {first} {start}, end: {last} {end}, repeat: {{rule: FREQ=DAILY}}, SERVICES"
    found = around(tmp_path, event, zone, f"{day}T00:00:00Z")[f"a@{day}"]
    assert (utc(found.start), utc(found.end)) == (utc_start, utc_end)


class TestWholeDays:
    def test_from_midnight_to_midnight_over_a_change(self, tmp_path: Path) -> None:
        (event,) = around(
            tmp_path, "name: a, day: 2026-03-08, SERVICES", "America/New_York", "2026-03-01T00:00Z"
        ).values()
        assert (event.name, utc(event.start), utc(event.end)) == ("a", "2026-03-08T05:00", "2026-03-09T04:00")

    def test_the_last_day_belongs_to_it(self, tmp_path: Path) -> None:
        event = "name: a, day: 2027-10-29, last_day: 2027-10-31, repeat: {rule: FREQ=YEARLY}, SERVICES"
        found = around(tmp_path, event, "Asia/Kolkata", "2028-10-28T00:00:00Z")["a@2028-10-29"]
        assert (utc(found.start), utc(found.end)) == ("2028-10-28T18:30", "2028-10-31T18:30")

    def test_a_midnight_that_does_not_exist(self, tmp_path: Path) -> None:
        """In Cairo the clock goes from 00:00 to 01:00 on 2027-04-30."""
        (event,) = around(tmp_path, "name: a, day: 2027-04-30, SERVICES", "Africa/Cairo", "2027-04-01T00:00Z").values()
        assert (utc(event.start), utc(event.end)) == ("2027-04-29T21:00", "2027-04-30T21:00")


REPEAT = "name: a, start: 2027-10-01 20:00, end: 2027-10-01 22:00, repeat: {rule: RULE}, SERVICES"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("FREQ=SECONDLY", "repeat.rule: got FREQ=SECONDLY, expected at most one occurrence a day. Write one event"),
        ("FREQ=DAILY;BYHOUR=8,20", "got BYHOUR=8,20, expected at most one occurrence a day"),
        ("FREQ=DAILY;UNTIL=20271231T000000Z", "got UNTIL=20271231T000000Z, expected the last day beside the rule"),
        ("FREQ=DAILY;INTERVAL=0", "got INTERVAL=0, expected INTERVAL as in RFC 5545"),
        ("FREQ=DAILY;COUNT=99999999999", "expected COUNT as in RFC 5545"),
        ("FREQ=WEEKLY;BYDAY=MON", "got BYDAY=MON, expected BYDAY as in RFC 5545"),
        ("FREQ=WEEKLY;BYDAY=2FR", "got BYDAY=2FR in a WEEKLY rule"),
        ("FREQ=WEEKLY;BYMONTHDAY=1", "got BYMONTHDAY in a WEEKLY rule"),
        ("FREQ=DAILY;BYSETPOS=1", "got BYSETPOS alone"),
        ("FREQ=DAILY;FREQ=DAILY", "got FREQ=DAILY, expected each of FREQ"),
        ("BYDAY=FR", "got no FREQ"),
        ("every friday", "got every friday, expected each of FREQ"),
        ("FREQ=WEEKLY;BYDAY=MO", "start: got 2027-10-01, a Friday, expected a start on a day of the rule"),
        ("FREQ=WEEKLY;BYDAY=MO", "Write 2027-10-04, or correct the rule."),
        ("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", "no day ever fulfils it"),
    ],
)
def test_a_rule_that_is_none(tmp_path: Path, rule: str, said: str) -> None:
    (fault,) = faults(tmp_path, REPEAT.replace("RULE", f'"{rule}"'))
    assert fault.startswith("4: events[0].")
    assert said in fault


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("name: a, start: 2027-10-01 20:00, SERVICES", "events[0].end: got nothing"),
        ("name: a, SERVICES", "events[0].start: got nothing"),
        (
            "name: a, day: 2027-10-01, start: 2027-10-01 20:00, SERVICES",
            "events[0]: got start and day, expected either",
        ),
        ("name: a, last_day: 2027-10-01, SERVICES", "events[0]: got last_day, expected either"),
        ("name: a, day: 2027-02-29, SERVICES", "events[0].day: got 2027-02-29, expected a date"),
        ("name: a, day: 2027-10-02, last_day: 2027-10-01, SERVICES", "last_day: got 2027-10-01, expected a day from"),
        (
            "name: a, day: 2027-10-02, cancelled_on: [2027-10-02], SERVICES",
            "cancelled_on: got cancelled_on of one event",
        ),
        (
            f"{FRIDAYS}, moved: {{2027-10-09: 2027-10-09 20:00}}",
            "moved.2027-10-09: got 2027-10-09, expected a day on which",
        ),
        (
            f"{FRIDAYS}, moved: {{2027-10-08: 2027-10-09}}",
            "moved.2027-10-08: got '2027-10-09', expected a date and time",
        ),
        (f"{FRIDAYS}, moved: {{2027-10-08: 2027-10-09 20:00}}, cancelled_on: [2027-10-08]", "moved and cancelled"),
        (f"{FRIDAYS}, cancelled_on: [2027-13-08]", "cancelled_on[0]: got 2027-13-08, expected a date"),
        (f"{FRIDAYS}, cancelled_on: [friday]", "cancelled_on[0]: got 'friday', expected a date"),
        (
            FRIDAYS.replace("=FR}", "=FR, until: 2027-09-01}"),
            "repeat.until: got 2027-09-01, expected a day from the start",
        ),
        (FRIDAYS.replace("=FR}", "=FR;COUNT=3, until: 2027-12-01}"), "expected either COUNT or until"),
        (FRIDAYS.replace("2027-10-02 00:30", "2027-12-02 00:30"), "end: got 62 days, expected at most 31 days"),
        (FRIDAYS.replace("2027-10-02 00:30", "2027-10-01 20:00"), "end: got 2027-10-01 20:00, expected a time after"),
        (
            FRIDAYS.replace("start: 2027-10-01 20:00", "start: '2027-10-01 20:00+05:30'"),
            "a local time without an offset",
        ),
        (FRIDAYS.replace("start: 2027-10-01 20:00", "start: 1999-10-01 20:00"), "expected a year from 2000 to 2199"),
    ],
)
def test_what_does_not_fit(tmp_path: Path, event: str, said: str) -> None:
    (fault,) = faults(tmp_path, event)
    assert said in fault


def test_a_floor_above_the_ceiling_is_one_fault_for_all_occurrences(tmp_path: Path) -> None:
    loaded = stack(tmp_path, events=calendar(FRIDAYS.replace("SERVICES", "services: {support-bot: {rps: 200}}")))
    with pytest.raises(InputError, match=r"events\[0\].services.support-bot: got a floor of 51") as raised:
        timetable(loaded, Instant.from_utc(2027, 10, 1))
    assert len(raised.value.faults) == 1


class TestInTheCluster:
    """T0 on Friday is 14:30 UTC, the raise 14:00, the end 19:00."""

    def raised(self, root: Path) -> dict[str, object]:
        target = scaled_object(minimum=2, maximum=16, baseline="2")
        target = self.run(root, target, FRIDAYS, "2027-10-08T15:00:00Z")
        assert minimum(target) == 7
        return target

    def run(self, root: Path, target: dict[str, object], event: str, now: str, *, skew_s: int = 0) -> dict[str, object]:
        planned = table(root, event, now)
        moment = Instant.parse_iso(now)
        decision = decide(seen(target), planned.windows, planned.calendar, Clock(moment, moment.add(seconds=-skew_s)))
        return patched(target, decision.patch)

    @pytest.mark.parametrize(
        ("event", "floor"),
        [
            (FRIDAYS, 7),
            (f"{FRIDAYS}, cancelled_on: [2027-10-08]", 2),
            (f"{FRIDAYS}, cancelled: true", 2),
            (f"{FRIDAYS}, moved: {{2027-10-08: 2028-02-11 20:00}}", 2),
            (f"{FRIDAYS}, cancelled_on: [2027-10-15]", 7),
            # The rule has no Friday any more: vanished, so held; and the certain word for it can be said.
            (
                FRIDAYS.replace("=FR", "=SA")
                .replace("2027-10-01 ", "2027-10-02 ")
                .replace("2027-10-02 00", "2027-10-03 00"),
                7,
            ),
            (FRIDAYS.replace("=FR}", "=FR, until: 2027-10-07}"), 7),
            (FRIDAYS.replace("=FR}", "=FR, until: 2027-10-07}") + ", cancelled_on: [2027-10-08]", 2),
            (FRIDAYS.replace("name: peak", "name: other"), 7),
            ("name: peak, start: 2028-10-08 20:00, end: 2028-10-09 00:30, SERVICES", 7),
        ],
    )
    def test_only_a_certain_word_lets_go(self, tmp_path: Path, event: str, floor: int) -> None:
        target = self.raised(tmp_path)
        assert minimum(self.run(tmp_path, target, event, "2027-10-08T16:00:00Z")) == floor

    def test_the_next_run_after_days_lets_go_of_what_is_over(self, tmp_path: Path) -> None:
        target = self.raised(tmp_path)
        assert minimum(self.run(tmp_path, target, FRIDAYS, "2027-10-13T00:00:00Z")) == 2

    @pytest.mark.parametrize("skew_s", [2 * 3600, -2 * 3600, 40 * 3600, -40 * 3600])
    def test_a_clock_that_is_wrong_raises_and_does_not_lower(self, tmp_path: Path, skew_s: int) -> None:
        target = scaled_object(minimum=2, maximum=16, baseline="2")
        here = Instant.from_utc(2027, 10, 8, 15).add(seconds=skew_s)
        target = self.run(tmp_path, target, FRIDAYS, here.format_iso(), skew_s=skew_s)
        assert minimum(target) == 7
        assert minimum(self.run(tmp_path, target, FRIDAYS, "2027-10-20T15:00:00Z", skew_s=12 * 86400)) == 7


WEEKDAYS = st.lists(st.sampled_from(["MO", "TU", "WE", "TH", "FR", "SA", "SU"]), min_size=1, max_size=3, unique=True)
RULES = st.one_of(
    st.builds("FREQ=DAILY;INTERVAL={}".format, st.integers(1, 9)),
    st.builds("FREQ=WEEKLY;INTERVAL={};BYDAY={}".format, st.integers(1, 3), WEEKDAYS.map(",".join)),
    st.builds("FREQ=MONTHLY;BYMONTHDAY={}".format, st.integers(1, 31) | st.integers(-5, -1)),
    st.builds("FREQ=MONTHLY;BYDAY={}{}".format, st.sampled_from([1, 2, -1]), st.sampled_from(["MO", "TU", "FR", "SU"])),
    st.builds("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS={}".format, st.sampled_from([1, -1])),
    st.builds("FREQ=YEARLY;BYMONTH={};BYDAY=4TH".format, st.integers(1, 12)),
    st.builds("FREQ=WEEKLY;COUNT={};BYDAY=SU".format, st.integers(1, 60)),
)
ZONES = st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"])
FACES = st.times(min_value=time(0, 0), max_value=time(23, 59)).map(lambda t: t.replace(second=0, microsecond=0))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.data(),
    rule=RULES,
    zone=ZONES,
    face=FACES,
    minutes=st.integers(1, 30 * 60),
    later_days=st.integers(0, 700),
)
def test_the_same_occurrences_as_the_library_has(
    tmp_path: Path, *, data: st.DataObject, rule: str, zone: str, face: time, minutes: int, later_days: int
) -> None:
    first = next(day for day in (date(2026, 1, 1) + timedelta(days=n) for n in range(400)) if _is_of(rule, day))
    start = datetime.combine(first, face)
    end = start + timedelta(minutes=minutes)
    theirs = _theirs(rule, start, end, zone, ())
    dates = [moment.date() for moment, _ in theirs]
    cancelled = set(data.draw(st.lists(st.sampled_from(dates), max_size=4)))
    left = set(_theirs(rule, start, end, zone, cancelled))
    # Where clocks are put back or forward over it, ours is the widest that may be meant.
    odd = {s.date() for s, e in theirs if not (_exists_once(s, zone) and _exists_once(e, zone))}
    event = (
        f"name: a, start: '{start}', end: '{end}', repeat: {{rule: \"{rule}\"}}, "
        f"cancelled_on: [{', '.join(map(str, cancelled))}], SERVICES"
    )
    write_stack(tmp_path, events=calendar(event, timezone=zone))
    now = Instant.from_utc(2026, 1, 5).add(hours=24 * later_days)
    found = load_stack("local", tmp_path).calendar.around(now, 30 * 86400)
    since, until = now.subtract(hours=48), now.add(hours=30 * 24)
    ours = {
        (event.start.to_plain().to_stdlib(), event.end.to_plain().to_stdlib())
        for event in found
        if not event.cancelled and event.end.to_instant() > since and event.start.to_instant() < until
        if date.fromisoformat(event.name.removeprefix("a@")) not in odd
    }
    plain = {(s, e) for s, e in left if s.date() not in odd}
    assert ours == {(s, e) for s, e in plain if _instant(e, zone) > since and _instant(s, zone) < until}
    assert {event.name for event in found if event.cancelled} <= {f"a@{day}" for day in cancelled}


WRITTEN = """timezone: America/New_York
events:
  - name: peak
    start: 2027-10-01 20:00
    end: 2027-10-02 00:30
    repeat: {rule: "FREQ=MONTHLY;BYDAY=1FR;INTERVAL=2", until: 2029-10-02}
    cancelled_on: [2028-02-04]
    moved: {2027-12-03: 2027-12-04 19:00}
    services: {support-bot: {rps: 26.7}}
"""
MUTATIONS = st.lists(
    st.tuples(
        st.integers(0, len(WRITTEN)), st.integers(0, 8), st.text(st.sampled_from(' \n:{}[]-,;="0129DFMRY'), max_size=6)
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(MUTATIONS, st.integers(2026, 2199))
def test_a_mutated_rule_is_read_or_refused(tmp_path: Path, mutations: list[tuple[int, int, str]], year: int) -> None:
    text = WRITTEN
    for place, length, new in mutations:
        text = text[:place] + new + text[place + length :]
    write_stack(tmp_path, events=lambda _: text)
    with suppress(InputError):
        timetable(load_stack("local", tmp_path), Instant.from_utc(year, 6, 1))


def _is_of(rule: str, day: date) -> bool:
    from dateutil.rrule import rrulestr

    return next(iter(rrulestr(rule, dtstart=datetime.combine(day, time()))), None) == datetime.combine(day, time())


def _theirs(
    rule: str, start: datetime, end: datetime, zone: str, cancelled: set[date] | tuple[()]
) -> list[tuple[datetime, datetime]]:
    """Faces of the clock, by recurring-ical-events, of three years."""
    event = icalendar.Event()
    event.add("uid", "a")
    event.add("dtstart", start.replace(tzinfo=ZoneInfo(zone)))
    event.add("dtend", end.replace(tzinfo=ZoneInfo(zone)))
    event.add("rrule", icalendar.vRecur.from_ical(rule))
    for day in cancelled:
        event.add("exdate", datetime.combine(day, start.time(), ZoneInfo(zone)))
    whole = icalendar.Calendar()
    whole.add_component(event)
    found = recurring_ical_events.of(whole).between(date(2025, 12, 1), date(2028, 12, 31))
    return sorted((item.start.replace(tzinfo=None), item.end.replace(tzinfo=None)) for item in found)


def _exists_once(face: datetime, zone: str) -> bool:
    both = [face.replace(tzinfo=ZoneInfo(zone), fold=fold).utcoffset() for fold in (0, 1)]
    return both[0] == both[1]


def _instant(face: datetime, zone: str) -> Instant:
    return Instant(face.replace(tzinfo=ZoneInfo(zone)))
