"""A copy of the shipped stacks to spoil."""

from __future__ import annotations

import shutil
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def copied_stacks(to: Path) -> Path:
    """The stacks without their Python: what WARMLINE_STACKS_DIR may point at."""
    ignored = shutil.ignore_patterns("*.py", "__pycache__")
    return Path(shutil.copytree(REPOSITORY / "stacks", to / "stacks", ignore=ignored))


def edit(path: Path, before: str, after: str) -> None:
    """Replace text that must be there once."""
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{before!r} is {text.count(before)} times in {path}"
    path.write_text(text.replace(before, after), encoding="utf-8")
