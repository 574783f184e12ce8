"""What `warmline review` says of events: each side's plan by the code it has."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infra.review.markdown import escaped
from tests.cli.review_repository import commit, make_repository, review
from tests.cli.stack_folder import edit

# No clock is doubled: these are over, running and still to come for as long as anybody runs the tests.
OVER = {"start": "2020-03-01 20:00", "end": "2020-03-02 00:30"}
RUNNING = {"start": "2020-03-01 20:00", "end": "2190-03-02 00:30"}
TO_COME = {"start": "2190-03-01 20:00", "end": "2190-03-02 00:30"}


def _calendar(root: Path, *events: dict[str, str], margin_s: int = 1500) -> None:
    lines = ["timezone: Asia/Kolkata", f"ready_margin_s: {margin_s}", f"events:{'' if events else ' []'}"]
    for event in events:
        fields = {"name": "sale", "rps": "26.7", **event}
        rps = fields.pop("rps")
        lines += [f"  - {{{', '.join(f'{name}: {text}' for name, text in fields.items())},"]
        lines += [f"     services: {{support-bot: {{rps: {rps}, request_duration_s: 7.8, headroom_pct: 30}}}}}}"]
    text = "\n".join([*lines, ""])
    (root / "stacks" / "local" / "events.yaml").write_text(text, encoding="utf-8")


def _platform(root: Path) -> Path:
    return root / "stacks" / "local" / "platform.yaml"


def _rows(text: str) -> list[list[str]]:
    """The cells of the events' table."""
    lines = text.splitlines()
    if not any(line.startswith("| Event |") for line in lines):
        return []
    begin = next(number for number, line in enumerate(lines) if line.startswith("| Event |")) + 2
    rows = lines[begin : lines.index("", begin)] if "" in lines[begin:] else lines[begin:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One event that is still to come, committed."""
    root = make_repository(tmp_path / "repository", monkeypatch)
    _commit(root, TO_COME)
    return root


def _commit(root: Path, *events: dict[str, str]) -> None:
    _calendar(root, *events)
    commit(root)


@dataclass(frozen=True)
class Told:
    """A review's end, its text, and the rows of its events by name."""

    exit_code: int
    text: str
    rows: dict[str, list[str]]
    data: dict[str, Any]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """One review of a calendar in which each event went another way."""
    with pytest.MonkeyPatch.context() as patch:
        root = make_repository(tmp_path_factory.mktemp("events") / "repository", patch)
        named = {
            "kept": (TO_COME, TO_COME),
            "added": (None, TO_COME),
            "removed-before": (TO_COME, None),
            "removed-while": (RUNNING, None),
            "removed-after": (OVER, None),
            "called-off": (TO_COME, {**TO_COME, "cancelled": "true"}),
            "called-off-and-removed": ({**TO_COME, "cancelled": "true"}, None),
            "earlier": (TO_COME, {**TO_COME, "start": "2190-03-01 18:00"}),
            "into-the-past": (TO_COME, OVER),
            "away": (RUNNING, TO_COME),
            "rewritten-after": (OVER, {**OVER, "rps": "10"}),
            "lower": (TO_COME, {**TO_COME, "rps": "15"}),
            "below-the-baseline": ({**TO_COME, "rps": "5.3"}, {**TO_COME, "rps": "1"}),
            "others": ({**TO_COME, "owner": "growth"}, {**TO_COME, "owner": "a|b", "priority": "10"}),
        }
        _commit(root, *({**was, "name": name} for name, (was, _) in named.items() if was))
        _calendar(root, *({**now, "name": name} for name, (_, now) in named.items() if now))
        result = review()
        data = json.loads(review(output="json").stdout)
    assert result.stdout, result.output
    return Told(result.exit_code, result.stdout, {row[0].strip("`"): row for row in _rows(result.stdout)}, data)


def test_events_are_counted_first_and_findings_end_with_1(told: Told) -> None:
    assert told.exit_code == 1
    first = told.text.splitlines()[2]
    assert first.startswith("**no object changes** · events: ")
    assert {*first.partition("events: ")[2].partition(" · ")[0].split(", ")} == {
        "1 added",
        "1 cancelled",
        "3 changed",
        "3 moved",
        "4 removed",
    }
    assert first.endswith(" · GPUs at baseline 2, at ceiling 16 · 5 findings")


def test_the_data_has_the_same_findings_and_rows(told: Told) -> None:
    assert told.data["safe"] is False
    assert [f"- {escaped(text)}" for text in told.data["findings"]] == [
        line for line in told.text.splitlines() if line.startswith("- ")
    ]
    assert [(item["event"], ", ".join(item["what"])) for item in told.data["events"]] == [
        (name, row[2]) for name, row in told.rows.items()
    ]


def test_an_event_as_data(told: Told) -> None:
    (lower,) = (item for item in told.data["events"] if item["event"] == "lower")
    before = {
        "cancelled": False,
        "floor": 7,
        "gpus_at_floor": 7,
        "raise_at": "2190-03-01T14:00:00Z",
        "start": "2190-03-01T14:30:00Z",
        "end": "2190-03-01T19:00:00Z",
        "timezone": "Asia/Kolkata",
    }
    assert lower == {
        "event": "lower",
        "service": "support-bot",
        "what": ["changed"],
        "before": before,
        "after": {**before, "floor": 4, "gpus_at_floor": 4},
        "because": [{"name": "rps", "before": 26.7, "after": 15}],
        "by_code": False,
    }
    (added,) = (item for item in told.data["events"] if item["event"] == "added")
    assert (added["before"], added["after"]["floor"]) == (None, 7)


def test_an_added_event_is_told_with_its_floor_gpus_and_times(told: Told) -> None:
    assert told.rows["added"] == [
        "`added`",
        "`support-bot`",
        "added",
        "none → 7",
        "none → 7",
        "none → 2190-03-01 19:30 Asia/Kolkata (14:00Z)",
        "none → 2190-03-01 20:00 Asia/Kolkata (14:30Z)",
        "none → 2190-03-02 00:30 Asia/Kolkata (2190-03-01 19:00Z)",
        "",
    ]


def test_events_that_stay_or_were_over_anyway_are_not_told(told: Told) -> None:
    assert not {"kept", "rewritten-after"} & told.rows.keys()


@pytest.mark.parametrize(("name", "when"), [("removed-before", "still to come"), ("removed-while", "active")])
def test_a_removed_event_is_a_finding(told: Told, name: str, when: str) -> None:
    held = "it is held to its recorded end if it is raised already: mark it `cancelled: true`."
    assert f"- {name}, support-bot: removed while it is {when}, with its floor of 7; {escaped(held)}" in told.text
    assert told.rows[name][2:5] == ["removed", "7 → none", "7 → none"]


@pytest.mark.parametrize(
    ("name", "what"), [("removed-after", "removed, over"), ("called-off-and-removed", "removed, cancelled")]
)
def test_an_event_removed_when_it_counts_no_more_is_no_finding(told: Told, name: str, what: str) -> None:
    assert told.rows[name][2] == what
    assert f"- {name}," not in told.text


def test_events_that_are_over_are_told_last(told: Told) -> None:
    assert [*told.rows][-1] == "removed-after"


def test_a_cancelled_event_is_told_and_is_no_finding(told: Told) -> None:
    assert told.rows["called-off"][2:5] == ["cancelled", "7 → none", "7 → none"]
    assert "- called-off," not in told.text


def test_a_moved_event_shows_both_times(told: Told) -> None:
    row = told.rows["earlier"]
    assert row[2:4] == ["moved", "7"]
    assert row[5] == "2190-03-01 19:30 Asia/Kolkata (14:00Z) → 2190-03-01 17:30 Asia/Kolkata (12:00Z)"
    assert row[7] == "2190-03-02 00:30 Asia/Kolkata (2190-03-01 19:00Z)"
    assert "- earlier," not in told.text


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("into-the-past", "moved into the past while it is still to come; its floor of 7 is not held."),
        ("away", "moved away while it is active; its floor of 7 is let go at the next"),
    ],
)
def test_an_event_moved_out_of_its_own_window_is_a_finding(told: Told, name: str, said: str) -> None:
    """`sync` lets go of it: a calendar that still has the event is certain."""
    assert f"- {name}, support-bot: {said}" in told.text


def test_a_lowered_floor_is_a_finding(told: Told) -> None:
    assert "- lower, support-bot: floor lowered from 7 to 4 while it is still to come." in told.text
    assert told.rows["lower"][3:5] == ["7 → 4", "7 → 4"]
    assert told.rows["lower"][8] == "rps 26.7 → 15"


def test_a_floor_that_the_baseline_covers_is_no_finding(told: Told) -> None:
    assert told.rows["below-the-baseline"][3] == "2 → 1"
    assert "- below-the-baseline," not in told.text


def test_whose_it_is_and_which_comes_first_are_told(told: Told) -> None:
    row = told.rows["others"]
    assert row[2:4] == ["changed", "7"]
    assert " ".join(row[8:]).startswith("owner growth → a\\ b; priority 0 → 10")
    (others,) = (item for item in told.data["events"] if item["event"] == "others")
    assert others["because"] == [
        {"name": "owner", "before": "growth", "after": "a|b"},
        {"name": "priority", "before": 0, "after": 10},
    ]
    assert "- others," not in told.text


def test_capacity_cold_start_and_margin_reach_events_nobody_touched(repository: Path) -> None:
    _calendar(repository, TO_COME, margin_s=1800)
    edit(_platform(repository), "in_flight_per_replica: 40", "in_flight_per_replica: 30")
    edit(_platform(repository), "weights_s: 120", "weights_s: 420")
    result = review()
    assert result.exit_code == 0, result.output
    (row,) = _rows(result.stdout)
    assert row[2:5] == ["changed", "7 → 10", "7 → 10"]
    assert row[5] == "2190-03-01 19:30 Asia/Kolkata (14:00Z) → 2190-03-01 19:20 Asia/Kolkata (13:50Z)"
    assert row[6] == "2190-03-01 20:00 Asia/Kolkata (14:30Z)"
    assert row[8] == "in\\_flight\\_per\\_replica 40 → 30; lead\\_time\\_s 300 → 600; margin\\_s 1500 → 1800"


def test_a_changed_reckoning_shows(repository: Path) -> None:
    """Files alike, code not: each side is planned by its own."""
    edit(repository / "capacity" / "replicas.py", "return math.ceil(Fraction(replicas))", "return 9")
    result = review()
    assert result.exit_code == 0, result.output
    (row,) = _rows(result.stdout)
    assert row[2:4] == ["changed", "7 → 9"]
    assert row[8] == "the code reckons it differently"


def test_more_gpus_a_replica_are_more_at_the_floor(repository: Path) -> None:
    edit(_platform(repository), "instance_types: [g6e.2xlarge]", "instance_types: [g6e.12xlarge]")
    edit(_platform(repository), "gpus_per_replica: 1", "gpus_per_replica: 2")
    result = review()
    (row,) = _rows(result.stdout)
    assert row[3:5] == ["7", "7 → 14"]
    assert row[8] == "gpus\\_per\\_replica 1 → 2"


SHORT = "- pool l40s: the floors of sale need 19 GPUs from 2190-03-01T14:00:00Z on, its nodes have at most 18."


def _second_service(root: Path) -> None:
    """A baseline of 4 beside the first one's, on the same pool of 18 GPUs."""
    text = _platform(root).read_text(encoding="utf-8")
    second = text[text.index("  support-bot:") :].replace("support-bot:", "fraud-bot:").replace("min: 2", "min: 4")
    _platform(root).write_text(text + second.replace("name: support-8b", "name: fraud-8b"), encoding="utf-8")


def test_floors_that_come_to_need_more_than_their_pool_has_are_a_finding(repository: Path) -> None:
    """15 of the event and the other's baseline of 4, on 18: no ceiling of the two is passed."""
    _second_service(repository)
    commit(repository)
    _calendar(repository, {**TO_COME, "rps": "57"})
    result = review()
    assert result.exit_code == 1
    assert SHORT in result.stdout
    assert "1 finding" in result.stdout.splitlines()[2]


def test_a_pool_that_is_lowered_is_a_finding_and_what_it_is_short_of_another(repository: Path) -> None:
    _second_service(repository)
    _calendar(repository, {**TO_COME, "rps": "50"})
    commit(repository)
    edit(_platform(repository), "max_nodes: 18", "max_nodes: 17")
    assert [line for line in review().stdout.splitlines() if line.startswith("- ")] == [
        "- pool l40s: at most 17 GPUs instead of 18."
    ]
    edit(_platform(repository), "max_nodes: 17", "max_nodes: 16")
    result = review()
    assert result.exit_code == 1
    assert [line for line in result.stdout.splitlines() if line.startswith("- ")] == [
        "- pool l40s: at most 16 GPUs instead of 18.",
        SHORT.replace("19", "17", 1).replace("at most 18", "at most 16"),
    ]


def test_a_shortage_that_was_there_before_is_not_this_changes(repository: Path) -> None:
    """And a plan that ends with 1 for it is a plan."""
    _second_service(repository)
    _calendar(repository, {**TO_COME, "rps": "57"})
    commit(repository)
    result = review()
    assert result.exit_code == 0, result.output
    assert "INCOMPLETE" not in result.stdout


@pytest.mark.parametrize("side", ["working tree", "main"])
def test_a_plan_that_is_refused_is_incomplete_and_the_objects_are_told(repository: Path, side: str) -> None:
    _calendar(repository, {**TO_COME, "rps": "267"})
    if side == "main":
        commit(repository)
        _calendar(repository, TO_COME)
    edit(_platform(repository), "longest_stream_s: 180", "longest_stream_s: 240")
    result = review()
    assert result.exit_code == 1
    assert result.stdout.splitlines()[2].startswith("**INCOMPLETE**: the events were not compared · **1 changed** ·")
    assert f"`{side}` did not plan its events:" in result.stdout
    assert "a floor of 68 replicas" in result.stdout
    assert "stacks/local/events.yaml:" in result.stdout
    data = json.loads(review(output="json").stdout)
    assert (data["safe"], data["events"], data["findings"]) == (False, None, [])
    assert [(item["side"], item["failure"]) for item in data["missing"]] == [(side, "did not plan its events")]
    assert "| changed | `Deployment serving/support-bot` |" in result.stdout
    assert "Traceback" not in result.output


def test_a_fault_of_the_platform_is_told_once(repository: Path) -> None:
    edit(_platform(repository), "owner:", "ownr:")
    result = review()
    assert result.exit_code == 1
    assert result.stdout.count("services.support-bot.ownr") == 1


def test_a_plan_gets_no_credentials(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    code = 'return __import__("os").environ["AWS_SECRET_ACCESS_KEY"]'
    edit(repository / "capacity" / "replicas.py", "return math.ceil(Fraction(replicas))", code)
    result = review()
    assert result.exit_code == 1
    assert "KeyError: 'AWS_SECRET_ACCESS_KEY'" in result.stdout
    assert "hunter2" not in result.output
    assert "Traceback" not in result.output


def test_a_revision_that_prints_no_plan_is_incomplete(repository: Path) -> None:
    said = "return {**planned, **shortage_text.data(self.stack, self.shortages)}"
    edit(repository / "cli" / "prescale" / "plan_answer.py", said, "return {}")
    result = review()
    assert result.exit_code == 1
    assert "`working tree` did not plan its events:" in result.stdout
    assert "prescale plan printed not a plan" in result.stdout


def test_a_revision_without_the_command_is_incomplete(repository: Path) -> None:
    """Python would go on to the installed one, which is another revision's."""
    (repository / "cli" / "main.py").unlink()
    result = review()
    assert result.exit_code == 1
    assert "this revision has no cli/main.py" in result.stdout


def test_many_events_leave_room_for_the_objects(repository: Path) -> None:
    edit(_platform(repository), "longest_stream_s: 180", "longest_stream_s: 240")
    _calendar(repository, TO_COME, *({**TO_COME, "name": f"sale-{number}"} for number in range(300)))
    result = review()
    assert result.exit_code == 0, result.output
    assert len(result.stdout) < 65_000
    assert "events: 300 added" in result.stdout
    assert "more events are not shown." in result.stdout
    assert "| changed | `Deployment serving/support-bot` |" in result.stdout


def test_the_command_runs_as_a_module(repository: Path) -> None:
    command = [sys.executable, "-m", "cli.main", "prescale", "plan", "-s", "local", "-o", "json"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True)
    assert '"name": "sale"' in done.stdout
