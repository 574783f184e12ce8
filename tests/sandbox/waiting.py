"""Wait for what a real cluster does in its own time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(patience_s: float, what: Callable[[], T | None]) -> T:
    """The first thing `what` gives that is true; fails after `patience_s`."""
    until = time.monotonic() + patience_s
    while not (found := what()):
        assert time.monotonic() < until, f"not within {patience_s} s"
        time.sleep(0.1)
    return found
