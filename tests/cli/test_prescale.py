from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from whenever import ZonedDateTime

from cli.main import warmline
from prescale import clock
from prescale import cluster as clustering
from prescale import sync as syncing
from tests.cli.stack_folder import edit
from tests.core.api_double import ApiDouble
from tests.core.cluster_double import scaled_object
from tests.core.test_warmth import pod

RAISED = "2027-10-29T14:00:00Z"


def test_plan_says_which_pool_is_too_small_for_its_floors(stacks: Path) -> None:
    edit(stacks / "platform.yaml", "max_nodes: 18", "max_nodes: 16")
    text = (stacks / "platform.yaml").read_text()
    second = text[text.index("  support-bot:") :].replace("support-bot:", "fraud-bot:")
    (stacks / "platform.yaml").write_text(text + second.replace("name: support-8b", "name: fraud-8b"))
    edit(stacks / "events.yaml", "rps: 26.7", "rps: 58")
    said = "! pool l40s: the floors of diwali-sale need 17 GPUs from 2027-10-29 19:30 Asia/Kolkata (14:00Z) on, "
    result = run("plan", "--at", "2027-10-01 12:00")
    assert f"{said}its nodes have at most 16" in result.stdout
    assert result.exit_code == 1
    result = run("plan", "--at", "2027-10-01 12:00", "-o", "json")
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    assert data["node_pools"] == [{"name": "l40s", "gpus": 16}]
    assert data["gpu_shortages"] == [
        {"pool": "l40s", "since": RAISED, "events": ["diwali-sale"], "needed": 17, "available": 16, "at_risk": []}
    ]
    assert run("plan", "--at", "2027-10-30 00:30").exit_code == 0, "it is over"


def test_plan_says_which_pool_is_too_small_for_its_baselines(stacks: Path) -> None:
    edit(stacks / "platform.yaml", "max_nodes: 18", "max_nodes: 16")
    edit(stacks / "platform.yaml", "{min: 2, max: 16}", "{min: 9, max: 16}")
    text = (stacks / "platform.yaml").read_text()
    second = text[text.index("  support-bot:") :].replace("support-bot:", "fraud-bot:")
    (stacks / "platform.yaml").write_text(text + second.replace("name: support-8b", "name: fraud-8b"))
    (stacks / "events.yaml").write_text("timezone: UTC\nevents: []\n")
    result = run("plan", "--at", "2027-10-01 12:00")
    assert "! pool l40s: the baselines need 18 GPUs from 2027-10-01 12:00 UTC (12:00Z) on" in result.stdout
    assert result.exit_code == 1


def test_plan_shows_the_next_five_of_what_repeats_and_says_how_many_more(stacks: Path) -> None:
    edit(stacks / "events.yaml", "2027-10-30 00:30", "2027-10-30 00:30\n    repeat: {rule: FREQ=DAILY}")
    printed = run("plan", "--at", "2027-11-01 12:00")
    assert re.findall(r"diwali-sale@2027-(\S+) +\S+ +(\w+)", printed.stdout) == [
        ("10-30", "over"),
        ("10-31", "over"),
        *[(f"11-0{day}", "planned") for day in range(1, 6)],
    ]
    assert "diwali-sale, support-bot: 23 more until 2027-11-28; -o json has them all" in printed.stdout
    assert printed.stdout.count("208.26 in flight") == 1
    data = json.loads(run("plan", "--at", "2027-11-01 12:00", "-o", "json").stdout)
    assert len(data["events"]) == 2 + 5 + 23


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(warmline, ["prescale", *arguments, "-s", "local"])
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@pytest.fixture
def api(stacks: Path, monkeypatch: pytest.MonkeyPatch) -> ApiDouble:
    double = ApiDouble(scaled_object())
    monkeypatch.setattr(clustering.Cluster, "of", lambda *_: double.cluster())
    monkeypatch.setattr(syncing, "IN_FORCE_WITHIN_S", 0.02)
    return double


class TestPlan:
    def test_the_numbers(self, stacks: Path) -> None:
        event = json.loads(run("plan", "-o", "json").output)["events"][0]
        assert {
            key: event[key] for key in ("name", "floor", "raise_at", "start", "end", "in_flight", "lead_time_s")
        } == {
            "name": "diwali-sale",
            "floor": 7,
            "raise_at": "2027-10-29T14:00:00Z",
            "start": "2027-10-29T14:30:00Z",
            "end": "2027-10-29T19:00:00Z",
            "in_flight": 208.26,
            "lead_time_s": 300,
        }
        assert (event["replicas"], event["replicas_with_headroom"], event["ceiling"]) == (5.2065, 6.76845, 16)

    def test_the_arithmetic_in_local_time_and_utc(self, stacks: Path) -> None:
        text = run("plan").output
        for piece in (
            "26.7 rps x 7.8 s = 208.26 in flight; / 40 = 5.2065 replicas of load",
            "x 1.3 (30 % headroom) = 6.76845 -> floor 7 (baseline 2, ceiling 16)",
            "5.3 rps x 7.8 s = 41.34 in flight; / 40 = 1.0335 replicas of load; baseline 2",
            "2027-10-29 19:30",
            "2027-10-29 14:00Z",
            "2027-10-30 00:30",
            "Asia/Kolkata",
            "19:30 weights 120 s -> 19:32 engine start 180 s -> 19:35 ready, with a margin 1500 s -> 20:00 start",
        ):
            assert piece in text

    @pytest.mark.parametrize(
        ("demand", "lines", "numbers"),
        [
            (
                "multiplier: 5",
                ["5 x 5.3 rps = 26.5 rps x 7.8 s = 206.7 in flight; / 40 = 5.1675 replicas of load", "-> floor 7 "],
                ("multiplier", 26.5, 206.7),
            ),
            (
                "in_flight: 200",
                ["  200 in flight; / 40 = 5 replicas of load", "= 6.5 -> floor 7 "],
                ("in_flight", None, 200),
            ),
            (
                "tokens_per_s: 9500",
                ["  9500 output tokens/s; / 1900 = 5 replicas of load", "x 1.3 (30 % headroom) = 6.5 -> floor 7 "],
                ("tokens_per_s", None, None),
            ),
            (
                "replicas: 7",
                ["  7 replicas, said as such", "  x 1 (0 % headroom) = 7 -> floor 7 (baseline 2, ceiling 16)"],
                ("replicas", None, None),
            ),
        ],
    )
    def test_the_arithmetic_of_each_unit(
        self, stacks: Path, demand: str, lines: list[str], numbers: tuple[str, float | None, float | None]
    ) -> None:
        each = "in_flight_per_replica: 40"
        edit(stacks / "platform.yaml", each, f"tokens_per_s_per_replica: 1900\n      {each}")
        edit(stacks / "events.yaml", "{rps: 26.7, request_duration_s: 7.8, headroom_pct: 30}", f"{{{demand}}}")
        text = run("plan").output
        assert [line for line in lines if line not in text] == []
        event = json.loads(run("plan", "-o", "json").output)["events"][0]
        assert (event["unit"], event["rps"], event["in_flight"], event["floor"]) == (*numbers, 7)

    def test_owner_priority_and_ramp(self, stacks: Path) -> None:
        more = "    owner: growth\n    priority: 10\n    ramp: {steps: 4, over_s: 3600}\n    services:"
        edit(stacks / "events.yaml", "    services:", more)
        text = run("plan").output
        for line in (
            "diwali-sale, support-bot; owner growth; priority 10\n",
            "18:30 weights 120 s -> 18:32 engine start 180 s -> 18:35 ready, with a margin 1500 s -> 19:00 first step;",
            "  from 2 in 4 steps over 3600 s: 4 at 19:00, 5 at 19:15, 6 at 19:30, 7 at 19:45, each raised 1800 s",
            " before; start 20:00\n",
        ):
            assert line in text
        data = json.loads(run("plan", "-o", "json", "--at", "2027-10-29 18:50").output)
        event = data["events"][0]
        assert (event["owner"], event["priority"], event["floor"], data["services"][0]["floor"]) == ("growth", 10, 7, 5)
        assert event["ramp"]["rises"][1] == {
            "floor": 5,
            "at": "2027-10-29T13:45:00Z",
            "raise_at": "2027-10-29T13:15:00Z",
        }

    def test_yaml_is_the_same_data(self, stacks: Path) -> None:
        at = ("--at", RAISED)
        assert yaml.safe_load(run("plan", "-o", "yaml", *at).output) == json.loads(
            run("plan", "-o", "json", *at).output
        )

    @pytest.mark.parametrize(
        ("at", "state", "floor"),
        [
            ("2027-10-29 19:29", "planned", 2),
            ("2027-10-29 19:30", "raised", 7),
            ("2027-10-29T14:30:00Z", "running", 7),
            ("2027-10-29T20:00:00+05:30", "running", 7),
            ("2027-10-30 00:30", "over", 2),
        ],
    )
    def test_at_another_time(self, stacks: Path, at: str, state: str, floor: int) -> None:
        data = json.loads(run("plan", "-o", "json", "--at", at).output)
        assert (data["events"][0]["state"], data["services"][0]["floor"]) == (state, floor)

    def test_cancelled_is_shown_as_such(self, stacks: Path) -> None:
        edit(stacks / "events.yaml", "    start:", "    cancelled: true\n    start:")
        assert "cancelled" in run("plan").output
        assert json.loads(run("plan", "-o", "json", "--at", RAISED).output)["services"][0]["floor"] == 2

    def test_no_events(self, stacks: Path) -> None:
        (stacks / "events.yaml").write_text("timezone: UTC\nevents: []\n")
        result = run("plan")
        assert (result.exit_code, "No events." in result.output) == (0, True)

    @pytest.mark.parametrize(
        "at",
        [
            "tomorrow",
            "2027-02-30 10:00",
            "20:00",
            "2027-10-29T14:30:00ZZ",
            "9999-12-31T23:59:59Z",
            "0001-01-01T00:00:00Z",
        ],
    )
    def test_a_time_that_is_none(self, stacks: Path, at: str) -> None:
        result = run("plan", "--at", at)
        assert result.exit_code == 2
        assert "Write 2027-10-29T14:30:00Z" in result.output

    def test_a_time_in_a_gap(self, stacks: Path) -> None:
        (stacks / "events.yaml").write_text("timezone: America/New_York\nevents: []\n")
        assert "does not exist in America/New_York" in run("plan", "--at", "2026-03-08 02:30").output
        assert "exists twice" in run("plan", "--at", "2026-11-01 01:30").output


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
        assert "warn" not in result.output.lower().replace("warmline", "")

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


class TestSync:
    def test_before_the_raise_it_does_nothing(self, api: ApiDouble) -> None:
        result = run("sync")
        assert (result.exit_code, api.patches) == (0, [])
        assert result.output == (
            "support-bot: minReplicaCount stays 2 (the baseline); next 7 for diwali-sale at 2027-10-29 19:30 "
            "Asia/Kolkata (14:00Z)\n"
        )

    def test_dry_run_shows_the_patch_and_sends_none(self, api: ApiDouble) -> None:
        result = run("sync", "--dry-run", "--at", "2027-10-29 19:30")
        assert (result.exit_code, api.patches) == (0, [])
        assert "would be patched: 2 -> 7 (diwali-sale)" in result.output
        assert '"spec": {"minReplicaCount": 7}' in result.output

    def test_at_needs_dry_run(self, api: ApiDouble) -> None:
        result = run("sync", "--at", RAISED)
        assert (result.exit_code, api.requests) == (2, [])
        assert "--dry-run" in result.output

    def test_raises_an_event_that_is_on_and_says_how_late(self, api: ApiDouble, stacks: Path) -> None:
        starts = self.now(stacks, since_min=5.5)
        ready = [clock.now().add(seconds=300 + off_s).to_tz("Asia/Kolkata") for off_s in (-2, 2)]
        result = run("sync", "-o", "json")
        (service,) = json.loads(result.output)["services"]
        assert (result.exit_code, api.minimum()) == (1, 7)
        assert (service["was"], service["target"], service["patched"], service["events"]) == (
            2,
            7,
            True,
            ["diwali-sale"],
        )
        assert service["in_force_s"] is not None
        (finding,) = service["findings"]
        told = re.fullmatch(
            r"diwali-sale: ready about (?:\S+ )?(\d\d:\d\d), 10 min late for (\d\d:\d\d) Asia/Kolkata: 0 of 7 Ready, "
            r"a start takes 300 s by platform.yaml. `warmline prescale watch` shows how far they are.",
            finding,
        )
        assert told, finding
        assert told[2] == starts.format_iso()[11:16]
        assert told[1] in {moment.format_iso()[11:16] for moment in ready}

    def test_late_until_it_is_ready_and_then_not_looked_at_any_more(self, api: ApiDouble, stacks: Path) -> None:
        self.now(stacks)
        api.pods = [pod(f"p{n}", ready=n < 6) for n in range(7)]
        assert [run("sync").exit_code for _ in range(2)] == [1, 1]
        api.pods = [pod(f"p{n}") for n in range(7)]
        assert run("sync").exit_code == 0
        api.requests.clear()
        api.pods = []
        assert run("sync").exit_code == 0, "what came in time and is gone is another matter: status and alerts tell it"
        assert len(api.requests) == 3

    def test_raised_in_time_is_no_finding(self, api: ApiDouble, stacks: Path) -> None:
        self.now(stacks, since_min=-15)
        result = run("sync")
        assert (result.exit_code, api.minimum()) == (0, 7)
        assert "!" not in result.output

    def test_a_finding_exits_1(self, api: ApiDouble, stacks: Path) -> None:
        self.now(stacks)
        api.keda_works = False
        result = run("sync")
        assert result.exit_code == 1
        assert "! the floor is not in force" in result.output

    @staticmethod
    def now(stacks: Path, since_min: float = 9999) -> ZonedDateTime:
        """The sale is on since so many minutes ago, and until long after: its start."""
        start = clock.now().subtract(minutes=since_min).to_tz("Asia/Kolkata")
        edit(stacks / "events.yaml", "2027-10-29 20:00", start.to_fixed_offset().format_iso())
        edit(stacks / "events.yaml", "2027-10-30 00:30", "2190-10-30 00:30")
        return start


class TestStatus:
    def test_not_warm_says_what_is_missing_and_by_when(self, api: ApiDouble) -> None:
        result = run("status", "--at", RAISED)
        assert result.exit_code == 1
        assert result.output.splitlines()[:2] == [
            "support-bot: NOT warm; floor 7 (diwali-sale); HPA minReplicas 2, 0 Ready, 0 answering",
            (
                "! missing: HPA minReplicas is 2 of 7; 0 of 7 Ready; "
                "ready by 2027-10-29 19:35 Asia/Kolkata (14:05Z), 25 min early for 20:00"
            ),
        ]

    def test_warm(self, api: ApiDouble, monkeypatch: pytest.MonkeyPatch) -> None:
        from prescale import asking

        api.pods = [pod(f"p{n}") for n in range(2)]
        monkeypatch.setattr(asking, "asker", lambda *_: lambda pods: dict.fromkeys(state.name for state, _ in pods))
        result = run("status", "-o", "json")
        assert result.exit_code == 0
        data: dict[str, Any] = json.loads(result.output)
        assert (data["warm"], data["services"][0]["answering"]) == (True, 2)


@pytest.mark.parametrize("command", [("sync",), ("status",), ("sync", "--dry-run")])
def test_before_the_first_pulumi_up(api: ApiDouble, command: tuple[str, ...]) -> None:
    api.objects.clear()
    result = run(*command)
    assert result.exit_code == 1
    assert "nothing of stack local is in namespace serving of https://api.example:6443" in result.stdout
    assert "Run `pulumi up -s local`, or name another context" in result.stdout
    (service,) = json.loads(run(*command, "-o", "json").stdout)["services"]
    said = service["notes"] if command == ("status",) else service["findings"]
    assert "Run `pulumi up -s local`" in said[0]


@pytest.mark.parametrize("command", [("sync",), ("status",), ("sync", "--dry-run")])
class TestOutOfReach:
    def test_nobody_at_the_address(
        self, stacks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
    ) -> None:
        config = tmp_path / "config"
        config.write_text(
            "current-context: warmline-sandbox\n"
            "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
            "contexts: [{name: warmline-sandbox, context: {cluster: c, user: u}}]\n"
            "users: [{name: u, user: {token: t}}]\n"
        )
        monkeypatch.setenv("KUBECONFIG", str(config))
        result = run(*command)
        assert result.exit_code == 3
        assert "https://127.0.0.1:1: out of reach:" in result.output
        assert "Nothing was changed." in result.output

    def test_a_kubeconfig_that_cannot_be_used_is_bad_input(
        self, stacks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
    ) -> None:
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
        (tmp_path / "config").write_text("contexts: [{name: other}]\n")
        result = run(*command)
        assert result.exit_code == 2
        assert "config:1: contexts: got no context 'warmline-sandbox', expected one of the contexts" in result.stderr

    def test_a_credential_plugin_that_fails(
        self, stacks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
    ) -> None:
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
        (tmp_path / "config").write_text(
            "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
            "contexts: [{name: warmline-sandbox, context: {cluster: c, user: u}}]\n"
            "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: 'false'}}}]\n"
        )
        result = run(*command)
        assert result.exit_code == 3
        assert "https://127.0.0.1:1: out of reach: the kubeconfig's credential plugin false ended" in result.stderr

    def test_no_kubeconfig(self, stacks: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> None:
        monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
        result = run(*command)
        assert result.exit_code == 3
        assert "/nowhere/config: out of reach" in result.output


@pytest.mark.parametrize(
    ("arguments", "kept_out"),
    [
        (
            ["prescale", "plan", "-s", "local", "-o", "json"],
            {"lightkube", "rich", "pulumi", "httpx2", "icalendar", "holidays"},
        ),
        (["prescale", "-h"], {"lightkube", "rich", "pulumi", "pydantic", "whenever"}),
        (["prescale", "sync", "-s", "local"], {"rich", "pulumi", "jinja2", "jsonschema"}),
    ],
)
def test_nothing_is_imported_before_it_is_needed(stacks: Path, arguments: list[str], kept_out: set[str]) -> None:
    program = (
        f"import sys; from cli.main import main; sys.argv[1:] = {arguments}\ntry: main()\nexcept SystemExit: pass\n"
    )
    program += "print('\\n' + ' '.join(sorted({name.split('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert kept_out & set(done.stdout.splitlines()[-1].split()) == set()


@pytest.mark.parametrize("command", ["plan", "sync", "status"])
def test_help_has_an_example_on_lines_of_its_own(command: str) -> None:
    text = CliRunner().invoke(warmline, ["prescale", command, "--help"]).output
    assert f"\n    warmline prescale {command} -s prod\n" in text
