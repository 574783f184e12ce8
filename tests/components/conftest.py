"""Pulumi's mistakes are errors here: an output used as text raises."""

from __future__ import annotations

import pytest

from tests.components.recorded import golden

__all__ = ["golden"]


@pytest.fixture(autouse=True)
def _outputs_are_not_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_ERROR_OUTPUT_STRING", "1")
