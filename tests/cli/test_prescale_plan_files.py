"""A plan as a picture, as a page, and as a calendar file."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import icalendar
import pytest
from click.testing import CliRunner, Result

from cli.main import warmline
from tests.cli.stack_folder import copied_stacks
from tests.core.stack_files import calendar

EVENTS = calendar(
    "name: first, start: 2027-10-29 20:00, end: 2027-10-29 22:41, services: {support-bot: {replicas: 5}}",
    "name: second, start: 2027-10-29 23:00, end: 2027-10-30 01:00, SERVICES",
    "name: off, start: 2027-10-29 23:00, end: 2027-10-30 02:00, cancelled: true, SERVICES",
    margin_s=600,
)
AT = ("--at", "2027-10-29 12:00")


@pytest.fixture(autouse=True)
def stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = copied_stacks(tmp_path)
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))
    monkeypatch.delenv("WARMLINE_STACK", raising=False)
    (root / "local" / "events.yaml").write_text(EVENTS(""))
    return root / "local"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(warmline, ["prescale", "plan", "-s", "local", *AT, *arguments])


def test_the_picture_says_what_it_shows(tmp_path: Path) -> None:
    drawn = tmp_path / "plan.svg"
    result = run("--out", str(drawn))
    assert result.exit_code == 0
    assert result.stderr == f"written: {drawn}\n"
    root = ET.fromstring(drawn.read_text())  # noqa: S314 - we wrote it
    told = {item.tag.rpartition("}")[2]: item.text for item in root[:2]}
    assert told["title"] == "Stack local: what is raised, and when"
    second = "second, support-bot: floor 7 from 2027-10-29T17:15:00Z to 2027-10-29T19:30:00Z"
    assert second in (told["desc"] or "")
    assert "to 2027-10-29T20:30:00Z, cancelled" in (told["desc"] or "")
    before = drawn.read_bytes()
    run("--out", str(drawn))
    assert drawn.read_bytes() == before


def test_the_page_has_picture_table_and_arithmetic(tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    run("--out", str(page))
    text = page.read_text()
    assert text.count("<svg") == 1
    assert "<td>second<br>Asia/Kolkata</td><td>support-bot</td><td>planned</td><td>7</td>" in text
    assert "26.7 rps x 7.8 s = 208.26 in flight" in text
    assert "held at 5 from 2027-10-29 22:41" in text
    assert "<script" not in text


def test_an_empty_calendar_is_drawn_empty(stacks: Path, tmp_path: Path) -> None:
    (stacks / "events.yaml").write_text("timezone: UTC\nevents: []\n")
    assert run("--out", str(tmp_path / "p.svg"), "--ics", str(tmp_path / "p.ics")).exit_code == 0
    assert not icalendar.Calendar.from_ical((tmp_path / "p.ics").read_bytes()).events


def test_the_calendar_file_has_every_event_once(tmp_path: Path) -> None:
    file = tmp_path / "plan.ics"
    assert run("--ics", str(file)).exit_code == 0
    entries = {str(one["UID"]): one for one in icalendar.Calendar.from_ical(file.read_bytes()).events}
    assert set(entries) == {"first.local@warmline", "second.local@warmline", "off.local@warmline"}
    second = entries["second.local@warmline"]
    assert second["SUMMARY"] == "second: support-bot 7"
    assert second.decoded("DTSTART").isoformat() == "2027-10-29T23:00:00+05:30"
    assert second.decoded("DTEND").isoformat() == "2027-10-30T01:00:00+05:30"
    assert "raised at 2027-10-29 22:45 Asia/Kolkata (17:15Z)" in str(second["DESCRIPTION"])
    assert entries["off.local@warmline"]["STATUS"] == "CANCELLED"


def test_what_it_writes_it_reads_as_the_same_events(stacks: Path) -> None:
    before = json.loads(run("-o", "json").stdout)["events"]
    run("--ics", str(stacks / "plan.ics"))
    row = "{services: {support-bot: {rps: 26.7, request_duration_s: 7.8}}}"
    (stacks / "events.yaml").write_text(
        f"timezone: Asia/Kolkata\nready_margin_s: 600\nevents: []\ncalendars: [{{file: plan.ics, events: [{row}]}}]\n"
    )
    after = json.loads(run("-o", "json").stdout)["events"]
    times = ("raise_at", "start", "end", "timezone", "state")
    assert sorted([one[key] for key in times] for one in after) == sorted([one[key] for key in times] for one in before)
    assert len(after) == 3


@pytest.mark.parametrize(
    ("option", "file", "said"),
    [
        ("--out", "plan.png", "ends neither with .svg nor with .html"),
        ("--out", "nowhere/plan.svg", "cannot be written: No such file or directory"),
        ("--ics", "nowhere/plan.ics", "cannot be written: No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_written_is_named(option: str, file: str, said: str, tmp_path: Path) -> None:
    result = run(option, str(tmp_path / file))
    assert result.exit_code == 2
    assert said in result.stderr
    assert option in result.stderr
