"""The lead time of a service: what its measured starts say, held against what platform.yaml says. Pure.

A p95 is the nearest rank's: the smallest start that at least 95 % of them do not exceed, so one of those seen. Of fewer
than 20 that is the largest, and the largest of n is below the true p95 with a probability of 0.95^n: 36 % of 20. So
measured starts raise a floor earlier at once, and later only on the word of so many that a start seen lies at or above
the true p95 with 95 % certainty, whatever the distribution: 59 starts for the largest, 93 for the second largest.
Source: order statistics as bounds of a quantile (Wilks 1941; Hahn and Meeker, Statistical Intervals, chapter 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb
from typing import Literal, Protocol

from prescale.lead_time.start import PHASES, Start

FEW = 20
OUTAGE_S = 3600
OUTAGE_FACTOR = 4


class ColdStart(Protocol):
    """What platform.yaml says of a start: `stacks.spec.ColdStart`, or what is kept of it."""

    @property
    def node_s(self) -> int: ...
    @property
    def image_s(self) -> int: ...
    @property
    def weights_s(self) -> int: ...
    @property
    def engine_start_s(self) -> int: ...
    @property
    def measured(self) -> Literal["if_longer", "replaces", "ignored"]: ...


Basis = Literal["platform.yaml", "measured"]


@dataclass(frozen=True)
class Measured:
    """What `starts` starts took, in seconds.

    `p95_s` and `longest_s` are of the whole, `phases_s` the p95 of each of `PHASES` by itself (None: not known of any):
    they add up to more than the whole's, since not all phases are slow at once. `sure_s` is the bound that the true p95
    does not pass with 95 % certainty, None of too few.
    """

    starts: int
    p95_s: int
    longest_s: int
    phases_s: tuple[int | None, ...]
    sure_s: int | None


@dataclass(frozen=True)
class LeadTime:
    """From a pod's creation to Ready at p95. `links` are (phase, seconds) in the order of `PHASES`; they add up to it.

    `outages` are the starts that took too long to be one.
    """

    basis: Basis
    links: tuple[tuple[str, int], ...]
    spec_s: int
    measured: Measured | None = None
    outages: int = 0

    @property
    def total_s(self) -> int:
        return sum(takes_s for _, takes_s in self.links)

    def remaining_s(self, phase: int) -> int:
        """Seconds to Ready from the begin of a phase (its place in `PHASES`) on."""
        return sum(takes_s for _, takes_s in self.links[phase:])


def of_spec(cold_start: ColdStart) -> LeadTime:
    """As platform.yaml says."""
    seconds = (cold_start.node_s, cold_start.image_s, cold_start.weights_s, cold_start.engine_start_s, 0)
    return LeadTime("platform.yaml", tuple(zip(PHASES, seconds, strict=True)), sum(seconds))


def longest_s(cold_start_s: int) -> int:
    """The longest that counts as a start: what takes longer waited for something that was not there, such as a node.

    So no measured start moves a raise by more than this, less what platform.yaml says.
    """
    return max(OUTAGE_S, OUTAGE_FACTOR * cold_start_s)


def lead_time(cold_start: ColdStart, starts: Sequence[Start]) -> LeadTime:
    """The lead time to plan with.

    Args:
        starts: those that count (see `History.of`).
    """
    said = of_spec(cold_start)
    if not starts:
        return said
    counted = [one for one in starts if one.total_s <= longest_s(said.total_s)]
    outages = len(starts) - len(counted)
    if not counted or cold_start.measured == "ignored":
        return LeadTime("platform.yaml", said.links, said.spec_s, None, outages)
    rank, sure = p95_rank(len(counted)), sure_rank(len(counted))
    totals = sorted(one.total_s for one in counted)
    measured = Measured(
        starts=len(counted),
        p95_s=totals[rank - 1],
        longest_s=totals[-1],
        phases_s=tuple(_p95_known(counted, index) for index in range(len(PHASES))),
        sure_s=totals[sure - 1] if sure else None,
    )
    if measured.p95_s > said.total_s:
        return LeadTime("measured", _links(counted, rank), said.spec_s, measured, outages)
    if cold_start.measured == "replaces" and sure and totals[sure - 1] < said.total_s:
        return LeadTime("measured", _links(counted, sure), said.spec_s, measured, outages)
    return LeadTime("platform.yaml", said.links, said.spec_s, measured, outages)


def p95_rank(starts: int) -> int:
    """The nearest rank of the p95 among so many, counted from 1: ceil(0.95 n)."""
    return -(-19 * starts // 20)


@cache
def sure_rank(starts: int) -> int | None:
    """The smallest rank whose start is at or above the true p95 with at least 95 % certainty; None of fewer than 59.

    The rank-th of n lies below the p95 if at least that many of n do, each with a chance of 95 %: exact, in integers.
    """
    everything = 20**starts
    below = 0
    ranks = [rank for rank in range(starts, 0, -1) if (below := below + _exactly(rank, starts)) * 20 <= everything]
    return ranks[-1] if ranks else None


def _exactly(count: int, starts: int) -> int:
    """Of the 20^n equally likely outcomes, those in which just so many of n starts are below the p95."""
    return comb(starts, count) * int(19**count)


def _p95_known(starts: Sequence[Start], phase: int) -> int | None:
    known = sorted(one for start in starts if (one := start.phases.in_order[phase]) is not None)
    return known[p95_rank(len(known)) - 1] if known else None


def _links(starts: Sequence[Start], rank: int) -> tuple[tuple[str, int], ...]:
    """Each phase begins as long before Ready as the rank-th of all starts needed from there on.

    Of every start less is left at a later phase, so the same holds of every rank, and no link is negative.
    """
    left_s = [sorted(one.remaining_s[index] for one in starts)[rank - 1] for index in range(len(PHASES))]
    return tuple((name, left_s[i] - (left_s[i + 1 : i + 2] or [0])[0]) for i, name in enumerate(PHASES))
