"""Which of a pool's instance types to take: the cheapest whose price is known, over whole nodes, of those that fit.

A type of which the pool may not have as many nodes does not fit, as long as another one does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from capacity.purchase.placement import NodeKind, Placement, Replicas, misfit, place


@dataclass(frozen=True)
class Candidate:
    """One instance type that fits, where the replicas are on it, and what that costs an hour; None if unknown.

    nodes: at most, while every service rolls out.
    """

    placement: Placement
    usd_per_h: Fraction | None
    nodes: int

    @property
    def instance_type(self) -> str:
        return self.placement.kind.instance_type


@dataclass(frozen=True)
class Choice:
    """`chosen` is None if nothing fits; `why` says what decided. `refused` maps instance types to their reasons."""

    chosen: Candidate | None
    why: str
    candidates: tuple[Candidate, ...]
    refused: Mapping[str, str]

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Types that fit and might be cheaper: their price is unknown."""
        return tuple(one.instance_type for one in self.candidates if one.usd_per_h is None)


def choose(
    replicas: Sequence[Replicas],
    kinds: Sequence[NodeKind],
    usd_per_h: Mapping[str, Decimal | None],
    zones: int = 1,
    *,
    at_most: Sequence[Replicas] = (),
    max_nodes: int | None = None,
) -> Choice:
    """Place on every kind, and take the cheapest of known price.

    Args:
        at_most: what there is of them while every service rolls out; `replicas`, if it is left out.
        max_nodes: of one kind. Where no kind manages with as many, each counts, and the caller says so.

    Among equals, and where no price is known: the fewest GPUs left over, then the fewest nodes, then the pool's order.
    Every kind must have the GPU that one replica was measured on: another GPU carries another load.
    """
    reasons = {kind.instance_type: misfit(replicas, kind) for kind in kinds}
    refused = {name: reason for name, reason in reasons.items() if reason}
    fitting = [kind for kind in kinds if kind.instance_type not in refused]
    if not fitting:
        return Choice(None, "; ".join(refused.values()), (), refused)
    found = [_candidate(replicas, at_most or replicas, kind, usd_per_h, zones) for kind in fitting]
    within = [one for one in found if max_nodes is None or one.nodes <= max_nodes]
    if within:
        refused |= {
            one.instance_type: f"{one.nodes} nodes of it, rollouts included, and max_nodes is {max_nodes}"
            for one in found
            if one not in within
        }
    candidates = tuple(within or found)
    chosen = min([one for one in candidates if one.usd_per_h is not None] or candidates, key=_rank)
    return Choice(chosen, _why(chosen, candidates), candidates, refused)


def _candidate(
    replicas: Sequence[Replicas],
    at_most: Sequence[Replicas],
    kind: NodeKind,
    usd_per_h: Mapping[str, Decimal | None],
    zones: int,
) -> Candidate:
    placement, price = place(replicas, kind, zones), usd_per_h.get(kind.instance_type)
    usd = None if price is None else placement.nodes * Fraction(price)
    return Candidate(placement, usd, place(at_most, kind, zones).nodes)


def _rank(one: Candidate) -> tuple[Fraction, int, int]:
    return one.usd_per_h or Fraction(0), one.placement.left_over_gpus, one.placement.nodes


def _why(chosen: Candidate, candidates: Sequence[Candidate]) -> str:
    name = chosen.instance_type
    if len(candidates) == 1:
        return f"{name} is the only type of the pool that fits"
    unknown = [one.instance_type for one in candidates if one.usd_per_h is None]
    if len(unknown) == len(candidates):
        return f"no price is known; {name} leaves the fewest GPUs over"
    rest = f"; of {', '.join(unknown)} the price is unknown" if unknown else ""
    return f"{name} is the cheapest of {len(candidates) - len(unknown)} that fit at a known price{rest}"
