"""For tests of runs."""

from __future__ import annotations

import pytest

from prescale import sync as syncing


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A floor is in force at once, or never: the doubles have no loop that takes a second."""
    monkeypatch.setattr(syncing, "IN_FORCE_WITHIN_S", 0.02)
    monkeypatch.setattr(syncing, "POLL_S", 0.005)
