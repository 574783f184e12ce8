"""The plan says what is to be tried before it is believed, in every form it is printed in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.sizing import NOTHING_MORE, change_service, run, write_request
from tests.cli.stack_folder import copied_stacks


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = copied_stacks(tmp_path)
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))
    monkeypatch.delenv("WARMLINE_STACK", raising=False)
    return root / "local"


def tables(text: str) -> str:
    """Without the tables' spaces."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def test_the_worked_example(stack: Path) -> None:
    text = tables(run("plan", "-s", "local").stdout)
    assert "5.128 requests/s 3 chat 100 % of its number, which is illustrative evidence" in text
    assert "at least 1000 requests a run" in text
    assert "3 15.38 120 N, each with all that it is to carry\n6 30.77 240 2N, with twice as much\n" in text
    assert "at 90 % of twice as much the plan is 8 replicas instead of 7" in text
    assert "node 1 6 86.78 % of its number (34.71 in flight) the SLO holds, although nobody asked for it" in text


def test_a_loss_that_is_not_planned_for(stack: Path) -> None:
    """4 replicas of 40 for 160: two that are left have 80 each, and 64 sequences at once."""
    change_service(stack, replicas={"max": 8})
    write_request(stack, {"in_flight": 80, "largest_minute_jump_pct": 0}, reliability=NOTHING_MORE)
    text = tables(run("plan", "-s", "local").stdout)
    assert "pod 1 1 200 % of its number (80 in flight) not planned for: no SLO until replicas are Ready again" in text
    assert "300 s or more; beyond 64 at once requests wait" in text


def test_what_was_assumed_is_looked_up_first(stack: Path) -> None:
    work = {"rps": 20, "growth_pct": 0, "exact_cache_hit_pct": 0}
    (stack / "workloads.yaml").write_text(
        json.dumps({"workloads": {"bot": {"service": "support-bot", "profile": {"classes": {"chat": work}}}}})
    )
    assert (
        "class chat: assumed, and to be looked up first: output_tokens.mean, request_duration_s; the runs are to have "
        "what is seen"
    ) in run("plan", "-s", "local").stdout


def test_as_data_and_in_a_pull_request(stack: Path) -> None:
    found = json.loads(run("plan", "-s", "local", "-o", "json").stdout)["workloads"][0]["validation"]
    assert [round(each["load"], 3) for each in found["runs"]] == [3.846, 5.128, 6.41, 7.692]
    assert found["linearity"] == {
        "replicas": 3,
        "twice": 6,
        "rps_each": pytest.approx(40 / 7.8),
        "in_flight_each": 40,
        "planned": 7,
        "replicas_if_short": 8,
        "short_pct": 90,
    }
    assert [(loss["domain"], loss["gone"], loss["remain"]) for loss in found["losses"]] == [
        ("pod", 1, 6),
        ("node", 1, 6),
    ]
    assert "### To lose at the peak" in run("plan", "-s", "local", "-o", "markdown").stdout
    assert "To run with N and with 2N replicas" in run("plan", "-s", "local", "-o", "html").stdout
