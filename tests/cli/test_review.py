"""`warmline review` in a repository of its own: each side rendered by the code it has."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from unittest.mock import ANY

import pytest
import yaml

from infra.review.redaction import MASK
from tests.cli.review_repository import commit, git, make_repository, review
from tests.cli.stack_folder import edit


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program and the stacks as they are now, as the only commit."""
    return make_repository(tmp_path / "repository", monkeypatch)


def _platform(root: Path) -> Path:
    return root / "stacks" / "local" / "platform.yaml"


def test_a_safe_change_is_told_and_ends_with_0(repository: Path) -> None:
    """One of the stack, and one of the code: each side is rendered by its own."""
    edit(_platform(repository), "max: 16}", "max: 18}")
    edit(repository / "infra" / "scaled_object.py", "POLLING_S = 5", "POLLING_S = 7")
    result = review()
    assert result.exit_code == 0, result.output
    assert "GPUs at baseline 2, at ceiling 16 → 18 · no findings" in result.stdout
    assert "| `spec.maxReplicaCount` | `16` | `18` |" in result.stdout
    assert "| `spec.pollingInterval` | `5` | `7` |" in result.stdout
    assert "vent" not in result.stdout, "no event changed"
    assert git(repository, "worktree", "list").count("\n") == 1


def test_a_lowered_ceiling_ends_with_1(repository: Path) -> None:
    edit(_platform(repository), "max: 16}", "max: 8}")
    result = review()
    assert result.exit_code == 1
    assert "- serving/support-bot: ceiling lowered from 16 to 8, at once." in result.stdout


def test_the_same_as_data(repository: Path) -> None:
    edit(_platform(repository), "{min: 2, max: 16}", "{min: 1, max: 8}")
    edit(_platform(repository), "max_num_seqs: 64", "max_num_seqs: 64\n      args: {some-flag: hunter2}")
    result = review(output="json")
    assert result.exit_code == 1
    assert "hunter2" not in result.stdout
    data = json.loads(result.stdout)
    assert (data["stack"], data["against"], data["safe"], data["missing"]) == ("local", "main", False, [])
    assert data["findings"] == [
        "serving/support-bot: baseline lowered from 2 to 1, at the next `prescale sync`.",
        "serving/support-bot: ceiling lowered from 16 to 8, at once.",
    ]
    assert data["services"] == [
        {
            "service": "serving/support-bot",
            "before": {"baseline": 2, "ceiling": 16, "gpus_at_baseline": 2, "gpus_at_ceiling": 16},
            "after": {"baseline": 1, "ceiling": 8, "gpus_at_baseline": 1, "gpus_at_ceiling": 8},
        }
    ]
    fields = {
        (item["object"], field["path"]): (field["what"], field["before"], field["after"])
        for item in data["objects"]["changed"]
        for field in item["fields"]
    }
    assert fields["ScaledObject serving/support-bot", "spec.maxReplicaCount"] == ("changed", "16", "8")
    assert fields["ScaledObject serving/support-bot", "spec.minReplicaCount"] == ("ignored", "2", "1")
    key = "Deployment serving/support-bot", "spec.template.spec.containers[engine].args[--some-flag]"
    assert fields[key] == ("changed", "absent", MASK)
    assert (data["objects"]["added"], data["objects"]["removed"], data["events"]) == ([], [], [])
    assert yaml.safe_load(review(output="yaml").stdout) == {**data, "at": ANY}


def test_settings_that_reach_no_object_and_no_floor_are_told(repository: Path) -> None:
    """Who reviews a change sees an SLO that is let go, and passwords are not shown to everybody."""
    file = _platform(repository)
    edit(file, "ttft_p95_ms: 600", "ttft_p95_ms: 900")
    edit(file, "kind: illustrative", "kind: sandbox")
    edit(file, "    usual_load: {rps: 5.3, request_duration_s: 7.8}\n", "")
    edit(file, "url: http://127.0.0.1:9090", "url: http://me:hunter2@127.0.0.1:9090")
    text = file.read_text(encoding="utf-8")
    second = text[text.index("  support-bot:") :].replace("support-bot:", "fraud-bot:")
    file.write_text(text + second.replace("name: support-8b", "name: fraud-8b"), encoding="utf-8")
    edit(repository / "stacks" / "local" / "events.yaml", "    services:", "    owner: growth\n    services:")
    result = review()
    assert result.exit_code == 0, result.output
    assert " · 7 settings · GPUs at baseline 2 → 4" in result.stdout.splitlines()[2]
    for row in (
        "| Setting | Before | After |",
        "| `services.support-bot.slo.ttft_p95_ms` | `600` | `900` |",
        "| `services.support-bot.usual_load.rps` | `5.3` | `absent` |",
        "| `prometheus.url` | `(masked)` | `(masked)` |",
        "| `services.fraud-bot` | `absent` | `new` |",
        "| `events[diwali-sale].owner` | `absent` | `growth` |",
    ):
        assert row in result.stdout
    assert "hunter2" not in result.stdout
    settings = json.loads(review(output="json").stdout)["settings"]
    assert [(one["before"], one["after"]) for one in settings if one["path"].endswith("capacity.kind")] == [
        ("illustrative", "sandbox")
    ]
    assert len(settings) == 7


def test_a_revision_that_does_not_render_is_incomplete(repository: Path) -> None:
    text = _platform(repository).read_text(encoding="utf-8")
    edit(_platform(repository), "owner:", "ownr:")
    commit(repository)
    _platform(repository).write_text(text, encoding="utf-8")
    result = review("HEAD")
    assert result.exit_code == 1
    assert "**INCOMPLETE**" in result.stdout
    assert "stacks/local/platform.yaml:" in result.stdout
    assert "services.support-bot.ownr" in result.stdout
    data = json.loads(review("HEAD", output="json").stdout)
    assert [data[part] for part in ("safe", "objects", "services", "settings", "events")] == [False, *[None] * 4]
    assert "services.support-bot.ownr" in data["missing"][0]["reason"]
    assert "Traceback" not in result.output


def test_code_that_fails_is_incomplete_and_gets_no_credentials(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_ACCESS_TOKEN", "hunter2")
    code = 'POLLING_S = __import__("os").environ["PULUMI_ACCESS_TOKEN"]'
    edit(repository / "infra" / "scaled_object.py", "POLLING_S = 5", code)
    result = review()
    assert result.exit_code == 1
    assert "`working tree` did not render" in result.stdout
    assert "KeyError: 'PULUMI_ACCESS_TOKEN'" in result.stdout
    assert "Traceback" not in result.output


def test_a_new_stack_is_all_added(repository: Path) -> None:
    shutil.copytree(repository / "stacks" / "local", repository / "stacks" / "dev")
    result = review(stack="dev")
    assert result.exit_code == 0, result.output
    assert "8 added" in result.stdout
    assert "GPUs at baseline 0 → 2, at ceiling 0 → 16" in result.stdout
    assert "setting" not in result.stdout, "all of it is new"


def test_a_revision_without_the_program_is_incomplete(repository: Path) -> None:
    shutil.move(repository / "infra" / "render.py", repository / "render.py")
    commit(repository)
    shutil.move(repository / "render.py", repository / "infra" / "render.py")
    result = review("HEAD")
    assert result.exit_code == 1
    assert "this revision has no infra/render.py" in result.stdout


@pytest.mark.parametrize("ref", ["nowhere", "--help", "", "main~99"])
def test_a_revision_nobody_knows_ends_with_2(repository: Path, ref: str) -> None:
    result = review(ref)
    assert result.exit_code == 2
    assert "--against: got" in result.stderr
    assert result.stdout == ""


def test_a_stack_nobody_has_ends_with_2(repository: Path) -> None:
    result = review(stack="nowhere")
    assert result.exit_code == 2
    assert "no stack 'nowhere'" in result.stderr


def test_a_revisions_hooks_do_not_run(repository: Path) -> None:
    hook = repository / ".hooks" / "post-checkout"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\nenv > {repository}/stolen\n")
    hook.chmod(0o755)
    commit(repository)
    git(repository, "config", "core.hooksPath", ".hooks")
    assert review().exit_code == 0
    assert not (repository / "stolen").exists()


def test_inside_of_another_repositorys_hook(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, "/nonexistent")
    assert review().exit_code == 0


def test_without_git_ends_with_2(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    result = review()
    assert result.exit_code == 2
    assert "git: got no such program" in result.stderr


def test_code_that_prints_no_text_is_incomplete(repository: Path) -> None:
    (repository / "infra" / "render.py").write_text("import sys\nsys.stdout.buffer.write(bytes([255]))\n")
    result = review()
    assert result.exit_code == 1
    assert "INCOMPLETE" in result.stdout


def test_stacks_outside_of_git_end_with_2(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(tmp_path))
    result = review()
    assert result.exit_code == 2
    assert "WARMLINE_STACKS_DIR" in result.stderr


def test_outside_of_git_ends_with_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    result = review()
    assert result.exit_code == 2
    assert "no git checkout" in result.stderr
