"""For tests of commands: the shipped stacks, copied, as the ones that are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from prescale import sync as syncing
from prescale.api import cluster as clustering
from prescale.briefs import keeping
from tests.cli.stack_folder import copied_stacks
from tests.core.api_double import ApiDouble
from tests.core.cluster_double import scaled_object


@pytest.fixture
def stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of stack local."""
    root = copied_stacks(tmp_path)
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))
    monkeypatch.delenv("WARMLINE_STACK", raising=False)
    monkeypatch.setattr(keeping, "place", lambda: tmp_path / "briefs")
    return root / "local"


@pytest.fixture
def api(stacks: Path, monkeypatch: pytest.MonkeyPatch) -> ApiDouble:
    """The cluster of that stack, with what `pulumi up` made; a floor is in force there at once, or never."""
    double = ApiDouble(scaled_object())
    monkeypatch.setattr(clustering.Cluster, "of", lambda *_: double.cluster())
    monkeypatch.setattr(syncing, "IN_FORCE_WITHIN_S", 0.02)
    return double
