"""Wait for what a real cluster does in its own time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 180.0
"""For whatever a test waits for. Most of it is there within seconds; two slow cores that others share take longer."""


def eventually(what: Callable[[], T | None]) -> T:
    """The first thing `what` gives that is true."""
    until = time.monotonic() + PATIENCE_S
    while not (found := what()):
        assert time.monotonic() < until, f"not within {PATIENCE_S:.0f} s"
        time.sleep(0.1)
    return found
