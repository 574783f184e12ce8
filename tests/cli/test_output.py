"""What the commands have in common: tables on narrow terminals, and completion."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.main import warmline
from cli.output import table, wrapped


def test_a_narrow_terminal_cuts_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "30")
    path = "/home/somebody/.local/state/warmline/sandbox/logs/etcd.log"
    table(["part", "log"], [["kube-controller-manager", path]])
    _, *lines = re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= 30
    assert "".join(line[16:].strip() for line in lines) == path


def test_lines_break_between_words_on_a_terminal_and_in_no_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "2.24208 is of 2026-07-20: https://github.com/aws/karpenter-provider-aws/blob/6fc13b5 as it was read"
    assert wrapped(text, "  ") == f"  {text}"
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert wrapped(text, "  ").splitlines() == [
        "  2.24208 is of 2026-07-20:",
        "    https://github.com/aws/karpenter-provider-aws/blob/6fc13b5",
        "    as it was read",
    ]


@pytest.mark.parametrize("words", ["preview -s ", "prescale sync -s ", "sandbox up -s "])
def test_stacks_are_completed(words: str) -> None:
    line = f"warmline {words}"
    asked = {"_WARMLINE_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    result = CliRunner().invoke(warmline, prog_name="warmline", env=asked)
    assert "plain,local" in result.stdout.splitlines()


def test_an_exact_number_becomes_a_plain_one_in_one_place() -> None:
    cli = Path(__file__).parents[2] / "cli"
    assert [path.name for path in cli.rglob("*.py") if ".numerator" in path.read_text(encoding="utf-8")] == [
        "output.py"
    ]
