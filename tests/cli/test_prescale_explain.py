"""What a plan says of gaps between events, and of one time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.main import warmline
from tests.cli.stack_folder import copied_stacks
from tests.core.stack_files import calendar

# Lead time 300 s, margin 600 s: the second is raised at 22:45, 4 min after the first is over.
EVENTS = calendar(
    "name: first, start: 2027-10-29 20:00, end: 2027-10-29 22:41, services: {support-bot: {replicas: 5}}",
    "name: second, start: 2027-10-29 23:00, end: 2027-10-30 01:00, SERVICES",
    "name: off, start: 2027-10-29 23:00, end: 2027-10-30 02:00, cancelled: true, SERVICES",
    margin_s=600,
)


@pytest.fixture(autouse=True)
def stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = copied_stacks(tmp_path)
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))
    monkeypatch.delenv("WARMLINE_STACK", raising=False)
    (root / "local" / "events.yaml").write_text(EVENTS(""))
    return root / "local"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(warmline, ["prescale", "plan", "-s", "local", *arguments])


def test_a_plan_names_the_gap_that_is_held() -> None:
    result = run("--at", "2027-10-29 12:00")
    said = "support-bot: held at 5 from 2027-10-29 22:41 Asia/Kolkata (17:11Z) to 22:45, 240 s between first and second"
    assert f"{said}, less than a lead time of 300 s" in result.stdout
    assert "held at 5" not in run("--at", "2027-10-29 22:45").stdout
    data = json.loads(run("-o", "json").stdout)
    (second,) = [event for event in data["events"] if event["name"] == "second"]
    held = {"floor": 5, "since": "2027-10-29T17:11:00Z", "until": "2027-10-29T17:15:00Z", "after": "first"}
    assert second["holds"] == [held]


@pytest.mark.parametrize(
    ("time", "floor", "said"),
    [
        ("2027-10-29 12:00", 2, "-  first: not raised before 2027-10-29 19:45 Asia/Kolkata (14:15Z)"),
        ("2027-10-29 19:45", 5, "5  first: raised since 2027-10-29 19:45 Asia/Kolkata (14:15Z), until its end at"),
        ("2027-10-29 22:42", 5, "5  second: held after first until its own raise at 2027-10-29 22:45 Asia/Kolkata"),
        ("2027-10-29 22:45", 7, "7  second: raised since"),
        ("2027-10-29 23:00", 7, "-  off: cancelled"),
        ("2027-10-30 01:00", 2, "-  second: over since 2027-10-30 01:00 Asia/Kolkata (2027-10-29 19:30Z)"),
    ],
)
def test_every_floor_is_explained(time: str, floor: int, said: str) -> None:
    result = run("--explain", time)
    assert result.exit_code == 0
    assert f"support-bot: floor {floor}, the highest of\n  2  baseline (replicas.min)\n" in result.stdout
    assert f"  {said}" in result.stdout
    data = json.loads(run("--explain", time, "-o", "json").stdout)
    (service,) = data["services"]
    assert service["floor"] == floor == max([2, *(event["floor"] for event in service["events"])])


def test_what_counts_shows_its_arithmetic() -> None:
    assert "     26.7 rps x 7.8 s = 208.26 in flight; / 40 = 5.2065" in run("--explain", "2027-10-29 23:00").stdout


def test_one_time_at_once() -> None:
    assert run("--explain", "2027-10-29 20:00", "--at", "2027-10-29 20:00").exit_code == 2
    wrong = run("--explain", "tomorrow")
    assert wrong.exit_code == 2
    assert "Invalid value for --explain" in wrong.stderr
