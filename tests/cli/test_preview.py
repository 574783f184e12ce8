"""`warmline preview`: the same objects in three forms, and clear words for bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from cli.main import warmline
from infra.manifests import manifests
from infra.render import render_stack
from tests.cli.stack_folder import copied_stacks, edit


def _preview(*arguments: str) -> Result:
    return CliRunner().invoke(warmline, ["preview", *arguments])


def test_table_tells_what_a_person_asks_first() -> None:
    result = _preview("-s", "local")
    assert result.exit_code == 0, result.output
    for text in (
        "Deployment serving/support-bot",
        "grace 225 s, of it preStop 15 s",
        "min 2, max 16",
        'sum(vllm:num_requests_running{namespace="serving",model_name="support-8b"})',
        "ignored after creation: spec.minReplicaCount",
        "A changed baseline takes effect at its next run.",
    ):
        assert text in result.stdout
    assert result.stderr == ""


def test_yaml_is_what_the_program_registers() -> None:
    result = _preview("-s", "local", "-o", "yaml")
    assert result.exit_code == 0
    assert list(yaml.safe_load_all(result.stdout)) == manifests(render_stack("local").objects)


def test_json_has_numbers_and_defaults() -> None:
    result = _preview("-s", "local", "-o", "json")
    data = json.loads(result.stdout)
    (numbers,) = data["services"]
    assert numbers["service"] == "support-bot"
    assert (numbers["baseline"], numbers["ceiling"]) == (2, 16)
    assert (numbers["gpus_at_baseline"], numbers["gpus_at_ceiling"]) == (2, 16)
    assert numbers["cold_start_s"] == 300
    assert numbers["await_update_s"] > numbers["rollout_waves"] * numbers["cold_start_s"]
    assert data["platform"]["services"]["support-bot"]["scale_down"]["window_s"] == 600
    assert data["faults"] == []
    assert len(data["objects"]) == 7


def test_a_schema_fault_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infra.scaled_object.POLLING_S", "5")
    result = _preview("-s", "local", "-o", "yaml")
    assert result.exit_code == 1
    assert result.stderr == "ScaledObject serving/support-bot: spec.pollingInterval: got str, expected integer\n"


BAD = {
    "unknown field": ("owner:", "ownr:", "services.support-bot.ownr"),
    "GPUs no node can hold": ("gpus_per_replica: 1", "gpus_per_replica: 3", "services.support-bot.gpus_per_replica"),
    "min above max": ("{min: 2, max: 16}", "{min: 17, max: 16}", "services.support-bot.replicas.min"),
    "duplicate key": ("owner:", "owner: twice\n    owner:", "services.support-bot.owner"),
    "revision that is a number": ('revision: "3f2c9e1"', "revision: 1", "services.support-bot.model.revision"),
    "flag of ours": (
        "max_num_seqs: 64",
        "max_num_seqs: 64\n      args: {port: '1'}",
        "services.support-bot.engine.args.port",
    ),
    "no YAML": ("services:", "services: [", ""),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_ends_with_2_and_a_way_out(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after, place = BAD[name]
    stacks = copied_stacks(tmp_path)
    edit(stacks / "local" / "platform.yaml", before, after)
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(stacks))
    result = _preview("-s", "local")
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert f"{stacks / 'local' / 'platform.yaml'}:" in result.stderr
    assert not place or f" {place}:" in result.stderr
    assert "Traceback" not in result.output


def test_a_stack_that_is_not_there() -> None:
    result = _preview("-s", "nowhere")
    assert result.exit_code == 2
    assert "no stack 'nowhere', expected one of" in result.stderr


def test_no_stack_at_all() -> None:
    result = CliRunner().invoke(warmline, ["preview"], env={"WARMLINE_STACK": None})
    assert result.exit_code == 2
    assert "--stack" in result.stderr
