"""A git repository of its own with the program and the stacks in it, for `warmline review`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.main import warmline
from tests.cli.stack_folder import REPOSITORY

PACKAGES = ("stacks", "capacity", "infra", "prescale", "cli")


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message=x")


def make_repository(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program and the stacks as they are now, as the only commit; it becomes the working directory."""
    for name in PACKAGES:
        shutil.copytree(REPOSITORY / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "Pulumi.yaml", root)
    (root / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    git(root, "init", "--quiet", "--initial-branch=main")
    commit(root)
    monkeypatch.chdir(root)
    monkeypatch.delenv("WARMLINE_STACKS_DIR", raising=False)
    return root


def review(against: str = "main", stack: str = "local", output: str = "markdown") -> Result:
    return CliRunner().invoke(warmline, ["review", "-s", stack, "--against", against, "-o", output])
