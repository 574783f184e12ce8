"""The program itself, started as Pulumi starts it: the folder as a script, its path at the head of `sys.path`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pulumi
import pytest

import infra.__main__ as program
from infra.render import PROJECT, render_stack

REPOSITORY = Path(__file__).parents[2]

AS_PULUMI_DOES = """
import json, runpy, sys
from dataclasses import asdict
from infra.recording_monitor import record
recorded = record(lambda: runpy.run_path("infra", run_name="__main__") and None, project="warmline", stack="local")
print(json.dumps({"objects": [asdict(item) for _, item in sorted(recorded.registrations.items())],
                  "outputs": recorded.outputs}))
"""


def _python(code: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *code],
        cwd=REPOSITORY,
        env={**os.environ, "PULUMI_ERROR_OUTPUT_STRING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_program_registers_what_a_render_shows() -> None:
    done = _python(["-c", AS_PULUMI_DOES])
    assert done.returncode == 0, done.stderr
    rendered = render_stack("local")
    data = json.loads(done.stdout)
    assert [item["urn"] for item in data["objects"]] == [item.urn for item in rendered.objects]
    assert [item["inputs"] for item in data["objects"]] == [item.inputs for item in rendered.objects]
    assert data["outputs"] == rendered.outputs
    assert data["outputs"]["services"]["support-bot"] == {"namespace": "serving", "baseline": 2, "ceiling": 16}


def test_faults_end_the_program_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pulumi prints a RunError's text alone."""
    monkeypatch.setattr(pulumi, "get_stack", lambda: "nowhere")
    with pytest.raises(pulumi.RunError, match="no stack 'nowhere'") as caught:
        program.program()
    assert caught.value.__suppress_context__


def test_the_projects_name_is_part_of_every_urn() -> None:
    assert f"name: {PROJECT}\n" in (REPOSITORY / "Pulumi.yaml").read_text(encoding="utf-8")


def test_render_prints_faults_and_ends_with_2() -> None:
    done = _python(["-m", "infra.render", "-s", "nowhere"])
    assert done.returncode == 2
    assert done.stdout == ""
    assert "no stack 'nowhere'" in done.stderr
    assert "Traceback" not in done.stderr


def test_render_without_a_stack_says_how() -> None:
    assert _python(["-m", "infra.render"]).stderr.startswith("usage:")
