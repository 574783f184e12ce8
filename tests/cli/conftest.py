"""For tests of commands: the shipped stacks, copied, as the ones that are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from prescale.briefs import keeping
from tests.cli.stack_folder import copied_stacks


@pytest.fixture
def stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of stack local."""
    root = copied_stacks(tmp_path)
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))
    monkeypatch.delenv("WARMLINE_STACK", raising=False)
    monkeypatch.setattr(keeping, "place", lambda: tmp_path / "briefs")
    return root / "local"
