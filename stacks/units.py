"""What the load of an event is said in."""

from __future__ import annotations

from typing import Literal, get_args

Unit = Literal["rps", "multiplier", "in_flight", "tokens_per_s", "replicas"]
UNITS: tuple[Unit, ...] = get_args(Unit)
OF_REQUESTS = frozenset({"rps", "multiplier"})
"""Units of arrivals: how long one request takes says how many are in flight."""
