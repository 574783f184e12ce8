"""What a calendar brings to every command: days called off, holidays, .ics files, and what is wrong with it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.cli.prescale_command import run
from tests.cli.stack_folder import edit
from tests.core.api_double import ApiDouble


@pytest.mark.parametrize("command", [("plan",), ("sync",)])
def test_a_day_called_off_that_is_none_is_noted_with_its_line(
    api: ApiDouble, stacks: Path, command: tuple[str, ...]
) -> None:
    """It may be left over from an earlier rule, and then lets go of what that has raised: no finding."""
    more = "2027-10-30 00:30\n    repeat: {rule: FREQ=WEEKLY}\n    cancelled_on: [2027-11-05, 2027-11-06, 2025-11-07]"
    edit(stacks / "events.yaml", "2027-10-30 00:30", more)
    result = run(*command)
    assert result.exit_code == 0
    said = [line for line in result.stdout.splitlines() if "calls off none" in line]
    (line,) = said
    where, _, text = line.partition(": ")
    assert where.endswith("/local/events.yaml:9")
    assert text.startswith("events[0].cancelled_on[1]: diwali-sale has no occurrence on 2027-11-06, so this calls off ")
    notes = json.loads(run(*command, "-o", "json").stdout)["notes"]
    assert [note for note in notes if "calls off none" in note] == said


class TestHolidays:
    def test_the_end_of_what_is_known_is_a_finding(self, stacks: Path) -> None:
        text = "    holiday: {country: IN, name: Diwali, start: '20:00', end: '00:30'}\n"
        edit(stacks / "events.yaml", "    start: 2027-10-29 20:00\n    end: 2027-10-30 00:30\n", text)
        result = run("plan", "--at", "2027-10-01 12:00")
        assert result.exit_code == 0
        (event,) = json.loads(run("plan", "--at", "2027-10-01 12:00", "-o", "json").stdout)["events"]
        assert (event["name"], event["start"]) == ("diwali-sale@2027-10-29", "2027-10-29T14:30:00Z")
        result = run("plan", "--at", "2036-10-01 12:00")
        assert result.exit_code == 1
        assert "! diwali-sale: Diwali (IN) is known only until 2035-10-30, so nothing is raised" in result.stdout
        assert "warn" not in result.output.lower(), "the library's own warning is not shown"

    def test_a_run_says_it_too(self, api: ApiDouble, stacks: Path) -> None:
        text = "    holiday: {country: IN, name: Diwali}\n"
        edit(stacks / "events.yaml", "    start: 2027-10-29 20:00\n    end: 2027-10-30 00:30\n", text)
        assert run("sync", "--dry-run", "--at", "2027-10-01 12:00").exit_code == 0
        result = run("sync", "--dry-run", "--at", "2036-10-01 12:00")
        assert result.exit_code == 1
        assert "! diwali-sale: Diwali (IN) is known only until 2035-10-30" in result.output


class TestCalendarFiles:
    """Google's export of tests/core/ics, whose titles and times the tests there hold."""

    @pytest.fixture
    def with_file(self, stacks: Path) -> Path:
        shutil.copy(Path(__file__).parents[1] / "core" / "ics" / "google.ics", stacks / "sales.ics")
        rows = [f"{{match: {{summary: {title}}}, services: {{support-bot: {{replicas: 5}}}}}}" for title in ("D*", "X")]
        text = "timezone: UTC\nevents: []\ncalendars:\n  - file: sales.ics\n    events:"
        (stacks / "events.yaml").write_text("\n".join([text, *(f"      - {row}" for row in rows), ""]))
        return stacks / "sales.ics"

    def test_plan_shows_titles_and_what_is_left_out(self, with_file: Path) -> None:
        result = run("plan", "--at", "2027-10-01 12:00")
        assert re.search(r"sales-\w{10} +support-bot +planned +5 .*\n *Diwali sale ", result.stdout)
        assert re.search(r"sales-\w{10}, support-bot; Diwali sale\n  5 replicas, said as such", result.stdout)
        line = (
            with_file.with_name("events.yaml")
            .read_text()
            .splitlines()
            .index("      - {match: {summary: X}, services: {support-bot: {replicas: 5}}}")
        )
        said = (
            f"/local/events.yaml:{line + 1}: calendars[0].events[1]: no entry of sales.ics with summary 'X' comes to "
        )
        assert re.search(rf"^! \S*{re.escape(said)}", result.stdout, re.MULTILINE)
        assert "sales.ics: 5 entries match no row and are left out, among them 'Friday peak'," in result.stdout
        assert result.exit_code == 1
        data = json.loads(run("plan", "--at", "2027-10-01 12:00", "-o", "json").stdout)
        assert [event["title"] for event in data["events"]] == ["Diwali sale"]
        assert (len(data["findings"]), len(data["notes"])) == (1, 1)

    def test_a_row_that_nothing_comes_to_is_a_finding_of_every_run(self, api: ApiDouble, with_file: Path) -> None:
        result = run("sync")
        assert (result.exit_code, api.patches) == (1, [])
        assert "calendars[0].events[1]: no entry of sales.ics with summary 'X' comes to this row." in result.stdout
        edit(with_file.with_name("events.yaml"), "{summary: X}", "{summary: Friday*}")
        assert run("sync").exit_code == 0

    @pytest.mark.parametrize("command", [("plan",), ("sync",), ("sync", "--dry-run"), ("status",)])
    def test_a_file_cut_short_changes_nothing(self, api: ApiDouble, with_file: Path, command: tuple[str, ...]) -> None:
        with_file.write_bytes(with_file.read_bytes()[:-60])
        result = run(*command)
        assert (result.exit_code, api.requests) == (2, [])
        assert "sales.ics:" in result.output
        assert "It may be cut short" in result.output


BAD = [
    ("platform.yaml", "    gpus_per_replica: 1", "    gpus_per_replica: 1\n    colour: red", "colour", "Remove"),
    ("platform.yaml", "    gpus_per_replica: 1", "    gpus_per_replica: 3", "gpus_per_replica", "Set 1"),
    ("platform.yaml", "{min: 2, max: 16}", "{min: 17, max: 16}", "replicas.min", "Raise max"),
    ("platform.yaml", '"3f2c9e1"', "3190217", "model.revision", "in quotes"),
    ("events.yaml", "rps: 26.7", "rps: 267", "events[0].services.support-bot", "Raise replicas.max to 68"),
    ("events.yaml", "end: 2027-10-30 00:30", "end: 2027-10-29 19:00", "events[0].end", "next date"),
    ("events.yaml", "Asia/Kolkata", "IST", "timezone", "not the abbreviation"),
    ("events.yaml", "ready_margin_s: 1500", "ready_margin_s: 1500\nready_margin_s: 60", "ready_margin_s", "Keep one"),
]


@pytest.mark.parametrize("command", [("plan",), ("sync",), ("sync", "--dry-run"), ("status",)])
class TestBadInput:
    @pytest.mark.parametrize("row", BAD, ids=[row[3] for row in BAD])
    def test_says_where_and_what_to_do(
        self, stacks: Path, command: tuple[str, ...], row: tuple[str, str, str, str, str]
    ) -> None:
        file, before, after, path, fix = row
        edit(stacks / file, before, after)
        result = run(*command)
        assert result.exit_code == 2
        fault = rf"{re.escape(file)}:\d+: \S*{re.escape(path)}: got .+, expected .+\. .*{re.escape(fix)}"
        assert re.search(fault, result.output)

    @pytest.mark.parametrize(
        ("start", "word"), [("2026-03-08 02:30", "that exists in"), ("2026-11-01 01:30", "that exists once in")]
    )
    def test_daylight_saving(self, stacks: Path, command: tuple[str, ...], start: str, word: str) -> None:
        edit(stacks / "events.yaml", "Asia/Kolkata", "America/New_York")
        edit(stacks / "events.yaml", "2027-10-29 20:00", start)
        result = run(*command)
        assert result.exit_code == 2
        assert f"events[0].start: got {start}, expected a time {word} America/New_York" in result.output

    @pytest.mark.parametrize("text", [None, "", "# nothing\n", "timezone: Asia/Kolkata\nevents:\n  - name: a\n    st"])
    def test_a_calendar_that_is_missing_empty_or_cut_short(
        self, stacks: Path, command: tuple[str, ...], text: str | None
    ) -> None:
        (stacks / "events.yaml").unlink()
        if text is not None:
            (stacks / "events.yaml").write_text(text)
        result = run(*command)
        assert result.exit_code == 2
        assert "events.yaml" in result.output

    def test_asks_no_cluster(self, api: ApiDouble, stacks: Path, command: tuple[str, ...]) -> None:
        edit(stacks / "events.yaml", "Asia/Kolkata", "IST")
        assert run(*command).exit_code == 2
        assert api.requests == []
