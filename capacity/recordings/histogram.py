"""A Prometheus histogram over a window: what it tells of a percentile and of a share, and how exactly.

Buckets count what was not above their bounds. A limit that is a bound has an exact share; of any other limit, and of
every percentile, only the two bounds around it are known. What is said here is never finer than the buckets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from capacity.sweeps.objective import Share


@dataclass(frozen=True, slots=True)
class Between:
    """Where a number lies: above `low` and not above `high` (None: beyond the last bound).

    `likely` is what a straight line through the bucket says, as Prometheus' histogram_quantile does; None beyond the
    last bound.
    """

    low: Fraction
    high: Fraction | None
    likely: Fraction | None


@dataclass(frozen=True, slots=True)
class Histogram:
    """`bounds` ascending, above 0; `at_most` is how many were not above each; `count` are all, above 0."""

    bounds: tuple[Fraction, ...]
    at_most: tuple[Fraction, ...]
    count: Fraction
    total: Fraction

    @property
    def mean(self) -> Fraction:
        """Exact, whatever the buckets are."""
        return self.total / self.count

    def share_within(self, limit: Fraction) -> Share:
        """The share that is not above `limit`."""
        below = [each for bound, each in zip(self.bounds, self.at_most, strict=True) if bound <= limit]
        low = below[-1] / self.count if below else Fraction(0)
        if limit in self.bounds:
            return Share(low, low)
        above = self.at_most[len(below)] / self.count if len(below) < len(self.bounds) else Fraction(1)
        return Share(low, above)

    def quantile(self, quantile: Fraction) -> Between:
        """The least value that at least a share of `quantile` does not exceed."""
        rank = quantile * self.count
        index = next((index for index, each in enumerate(self.at_most) if each >= rank), None)
        if index is None:
            return Between(self.bounds[-1] if self.bounds else Fraction(0), None, None)
        low = self.bounds[index - 1] if index else Fraction(0)
        before = self.at_most[index - 1] if index else Fraction(0)
        within = self.at_most[index] - before
        high = self.bounds[index]
        return Between(low, high, low + (high - low) * (rank - before) / within if within else high)

    def around(self, limit: Fraction) -> tuple[Fraction, Fraction | None]:
        """The bounds on both sides of a `limit` that is none itself."""
        low = max((bound for bound in self.bounds if bound < limit), default=Fraction(0))
        return low, min((bound for bound in self.bounds if bound > limit), default=None)


def histogram(buckets: Iterable[tuple[Fraction | None, Fraction]], total: Fraction) -> Histogram | None:
    """From `(bound, at most)` in any order, None being +Inf; None where nothing was counted.

    What Prometheus extrapolates may fall by a hair from one bucket to the next; it counts as the one before.
    """
    finite: list[tuple[Fraction, Fraction]] = []
    count = Fraction(0)
    for bound, at_most in buckets:
        if bound is None:
            count = at_most
        else:
            finite.append((bound, at_most))
    if count <= 0:
        return None
    finite.sort()
    rising = accumulate((min(at_most, count) for _, at_most in finite), max)
    return Histogram(tuple(bound for bound, _ in finite), tuple(rising), count, total)
