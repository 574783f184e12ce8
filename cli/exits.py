"""Exit codes, and the one error that means "out of reach"."""

from __future__ import annotations

DONE = 0
FINDING = 1
BAD_INPUT = 2
OUT_OF_REACH = 3
