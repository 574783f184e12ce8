from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cli.prescale.watch_table import drawn
from cli.prescale.watch_text import lines
from prescale import asking
from prescale.api import cluster as clustering
from prescale.clock import span
from prescale.lead_time.progress import Progress
from prescale.watching import loop
from stacks.reach import OutOfReach
from tests.cli.prescale_command import run
from tests.cli.stack_folder import copied_stacks, edit
from tests.core.api_double import ApiDouble
from tests.core.cluster_double import scaled_object
from tests.core.decision_cases import at
from tests.core.start_cases import a_day_ago, pod
from tests.core.test_watching import WARM, of, state, warmth

ZONE = "Asia/Kolkata"


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ApiDouble:
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(copied_stacks(tmp_path)))
    double = ApiDouble(scaled_object())
    monkeypatch.setattr(clustering.Cluster, "of", lambda *_: double.cluster())
    monkeypatch.setattr(asking, "asker", lambda *_: lambda pods: dict.fromkeys(state.name for state, _ in pods))
    monkeypatch.setattr("prescale.watching.eyes.asker", asking.asker)
    return double


def ready() -> list[dict[str, Any]]:
    """The baseline, started a day ago by this machine's clock."""
    return [pod(name, **a_day_ago()) for name in ("support-bot-5c9-aaaaa", "support-bot-5c9-bbbbb")]


def test_until_warm(api: ApiDouble) -> None:
    api.pods = ready()
    result = run("watch", "--until-warm")
    assert result.exit_code == 0
    (line,) = result.output.splitlines()
    assert "support-bot: warm; floor 2 (the baseline), HPA 2; 2 Ready, 2 answering; " in line
    assert line.endswith("T0 20:00:00, raised 19:29:55 on 2027-10-29"), "by the 305 s that these two took"


def test_the_timeout_and_one_line_for_each_change(api: ApiDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    api.pods = ready()[:1]
    result = run("watch", "--interval", "0.5s", "--timeout", "1s")
    assert result.exit_code == 1
    assert [line.split(" ", 1)[-1].strip() for line in result.output.splitlines()][1:] == ["missing: 1 of 2 Ready"]
    assert "support-bot: NOT warm; floor 2 (the baseline), HPA 2; 1 Ready, 1 answering; ready by" in result.output


def test_out_of_reach_from_the_start(api: ApiDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> Any:
        raise OutOfReach("https://api.example:6443", "no answer within 10 s", "Is it up?")

    monkeypatch.setattr(clustering.Cluster, "of", away)
    assert run("watch").exit_code == 3


def test_a_calendar_that_is_wrong_asks_no_cluster(api: ApiDouble, tmp_path: Path) -> None:
    edit(next(tmp_path.rglob("local/events.yaml")), "rps: 26.7", "rps: 267")
    assert (run("watch").exit_code, api.requests) == (2, [])


@pytest.mark.parametrize(("arguments", "code"), [((), 0), (("--until-warm",), 1)])
def test_ctrl_c_ends_it(api: ApiDouble, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int) -> None:
    def interrupted(_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "follow", interrupted)
    result = run("watch", *arguments)
    assert (result.exit_code, result.output) == (code, "")


@pytest.mark.parametrize("said", ["soon", "0s", "2", "200h"])
def test_a_duration_that_is_none(api: ApiDouble, said: str) -> None:
    assert run("watch", "--timeout", said).exit_code == 2


# --- what is told ---

PULLING = Progress("pulling", 1, at(-500), "ImagePullBackOff of container engine")


def test_a_line_says_where_the_replicas_are_and_by_when() -> None:
    frame = of(warmth(), state("a", PULLING), state("b", PULLING), seconds=-300)
    seen = "NOT warm; floor 7 (sale), HPA 7; 2 pulling, 5 Ready, 5 answering"
    assert lines(frame, ZONE, None) == [
        f"19:55:00 support-bot: {seen}; ready by 19:59:00; T0 20:00:00, in 5 min",
        "         missing: 5 of 7 Ready",
        "         ImagePullBackOff of container engine",
    ]
    assert lines(of(warmth(), state("a", PULLING), state("b", PULLING), seconds=-200), ZONE, frame) == []
    assert lines(of(WARM, seconds=-200), ZONE, frame) == [
        "19:56:40 support-bot: warm; floor 7 (sale), HPA 7; 7 Ready, 7 answering; T0 20:00:00, in 3 min"
    ]


def test_late_is_said() -> None:
    (line, _) = lines(of(warmth(ready_by=at(720)), seconds=420), ZONE, None)
    assert line.endswith("ready by 20:12:00, 12 min late; T0 20:00:00, 7 min ago")


def test_the_table_shows_the_same() -> None:
    console = Console(width=160)
    with console.capture() as captured:
        console.print(drawn(of(warmth(), state("a", PULLING), seconds=-300), ZONE))
    text = captured.get()
    for piece in ("unscheduled", "answering", "19:59:00", "20:00:00, in 5 min", "missing: 5 of 7 Ready", "━"):
        assert piece in text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7500, "2 h 05 min")]
)
def test_spans(seconds: float, text: str) -> None:
    assert span(seconds) == text


# --- lead times in the other commands ---


def test_status_remembers_what_it_saw_and_says_the_phases(api: ApiDouble) -> None:
    api.pods = ready()
    result = run("status")
    assert "support-bot: lead time 305 s by what the cluster did (nodes 1 s, image 2 s, " in result.output
    assert (
        "measured: p95 305 s of 2 starts, the longest 305 s; p95 of each phase: nodes 1 s, image 2 s" in result.output
    )
    assert "warning: 5 s longer than platform.yaml says; events are raised that much earlier." in result.output
    lead = json.loads(run("status", "-o", "json").output)["lead_times"]["support-bot"]
    assert (lead["lead_time_s"], lead["basis"], lead["measured"]["starts"]) == (305, "measured", 2)
    assert len(api.config_maps["warmline-starts-local"]["data"]["support-bot"].splitlines()) == 2
    assert json.loads(run("plan", "-o", "json").output)["events"][0]["raise_at"] == "2027-10-29T14:00:00Z"
    measured = json.loads(run("plan", "--measured", "-o", "json").output)
    assert measured["events"][0]["raise_at"] == "2027-10-29T13:59:55Z"


def test_without_starts_there_is_a_warning_and_plan_says_that_it_did_not_ask(api: ApiDouble) -> None:
    text = run("status").output
    assert "support-bot: lead time 300 s by platform.yaml (weights 120 s, engine start 180 s)" in text
    assert "warning: no start of this image, model and pool has been measured" in text
    api.requests.clear()
    assert "Lead times are platform.yaml's: the cluster was not asked." in run("plan").output
    assert api.requests == []
