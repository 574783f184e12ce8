"""The sample of the matrix of `make bench-reliability`: the real engine beside `prescale sync`, on a real cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.reliability import matrix
from sandbox.reliability.bench import SAMPLE
from sandbox.reliability.operations import BASELINE, FLOOR

pytestmark = pytest.mark.sandbox


def test_floors_and_baselines_are_right_whatever_the_engine_does(tmp_path: Path) -> None:
    found = matrix.measure(tmp_path, SAMPLE.operations, print)
    assert found.failures == []
    assert len(found.cells) == sum(len(operation.times) for operation in SAMPLE.operations)
    (refused,) = (cell for cell in found.cells if cell.exit_code)
    assert "warmline-prescale" in refused.said
    assert (refused.was, refused.left, refused.then) == (BASELINE, FLOOR, FLOOR)
