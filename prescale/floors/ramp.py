"""A floor that rises in steps before T0: how high, by when, and when each is raised. Exact, and pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from whenever import Instant, ZonedDateTime

from capacity import replicas
from stacks.demand import Ramp


@dataclass(frozen=True)
class Rise:
    """`floor` replicas, Ready by `at`; what leads there starts at `raise_at`."""

    floor: int
    at: ZonedDateTime
    raise_at: Instant


def rises(t0: ZonedDateTime, needed: Fraction, baseline: int, ramp: Ramp, ahead_s: int) -> tuple[Rise, ...]:
    """Each step that asks for more than the one before it; the first one asks for more than the baseline, if any does.

    Args:
        needed: replicas at T0, headroom included.
        ahead_s: lead time and margin, which each step has before it.
    """
    low = min(Fraction(baseline), needed)
    found: list[Rise] = []
    for step in range(1, ramp.steps + 1):
        floor = replicas.whole(low + (needed - low) * step / ramp.steps)
        # Where seconds do not divide, earlier.
        early_s = math.ceil(Fraction(ramp.over_s * (ramp.steps - step + 1), ramp.steps))
        if not found or floor > found[-1].floor:
            at = t0.subtract(seconds=early_s)
            found.append(Rise(floor, at, at.to_instant().subtract(seconds=ahead_s)))
    return tuple(found)
