"""`warmline prescale plan`: the numbers, the arithmetic, and which pool is too small."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.cli.prescale_command import RAISED, run
from tests.cli.stack_folder import edit


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
