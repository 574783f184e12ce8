"""A floor that rises in steps before T0: how high, by when, and when each is raised. Exact, and pure."""

from __future__ import annotations

import math
from fractions import Fraction

from msgspec import Struct
from whenever import Instant, ZonedDateTime

from capacity import replicas


class Ramp(Struct, frozen=True):
    """In how many steps, and over how many seconds before T0."""

    steps: int
    over_s: int


class Rise(Struct, frozen=True):
    """`floor` replicas, Ready by `at`; what leads there starts at `raise_at`."""

    floor: int
    at: ZonedDateTime
    raise_at: Instant


def rises(t0: ZonedDateTime, needed: Fraction, baseline: int, ramp: Ramp) -> tuple[Rise, ...]:
    """Each step that asks for more than the one before it; the first one asks for more than the baseline, if any does.

    Args:
        needed: replicas at T0, headroom included.

    Returns: rises that nothing has to lead to; `prescale.windows.timing.timed` raises each by a lead time before.
    """
    low = min(Fraction(baseline), needed)
    found: list[Rise] = []
    for step in range(1, ramp.steps + 1):
        floor = replicas.whole(low + (needed - low) * step / ramp.steps)
        # Where seconds do not divide, earlier.
        early_s = math.ceil(Fraction(ramp.over_s * (ramp.steps - step + 1), ramp.steps))
        if not found or floor > found[-1].floor:
            at = t0.subtract(seconds=early_s)
            found.append(Rise(floor, at, at.to_instant()))
    return tuple(found)
