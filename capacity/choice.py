"""Which of a pool's instance types to take: the cheapest whose price is known, over whole nodes, of those that fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from capacity.placement import NodeKind, Placement, Replicas, misfit, place


@dataclass(frozen=True)
class Candidate:
    """One instance type that fits, where the replicas are on it, and what that costs an hour; None if unknown."""

    placement: Placement
    usd_per_h: Fraction | None

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
    replicas: Sequence[Replicas], kinds: Sequence[NodeKind], usd_per_h: Mapping[str, Decimal | None], zones: int = 1
) -> Choice:
    """Place on every kind, and take the cheapest of known price.

    Among equals, and where no price is known: the fewest GPUs left over, then the fewest nodes, then the pool's order.
    Every kind must have the GPU that one replica was measured on: another GPU carries another load.
    """
    reasons = {kind.instance_type: misfit(replicas, kind) for kind in kinds}
    refused = {name: reason for name, reason in reasons.items() if reason}
    placements = [place(replicas, kind, zones) for kind in kinds if kind.instance_type not in refused]
    candidates = tuple(_priced(placement, usd_per_h) for placement in placements)
    if not candidates:
        return Choice(None, "; ".join(refused.values()), (), refused)
    chosen = min([one for one in candidates if one.usd_per_h is not None] or candidates, key=_rank)
    return Choice(chosen, _why(chosen, candidates), candidates, refused)


def _priced(placement: Placement, usd_per_h: Mapping[str, Decimal | None]) -> Candidate:
    price = usd_per_h.get(placement.kind.instance_type)
    return Candidate(placement, None if price is None else len(placement.nodes) * Fraction(price))


def _rank(one: Candidate) -> tuple[Fraction, int, int]:
    return one.usd_per_h or Fraction(0), one.placement.left_over_gpus, len(one.placement.nodes)


def _why(chosen: Candidate, candidates: Sequence[Candidate]) -> str:
    name = chosen.instance_type
    if len(candidates) == 1:
        return f"{name} is the only type of the pool that fits"
    unknown = [one.instance_type for one in candidates if one.usd_per_h is None]
    if len(unknown) == len(candidates):
        return f"no price is known; {name} leaves the fewest GPUs over"
    rest = f"; of {', '.join(unknown)} the price is unknown" if unknown else ""
    return f"{name} is the cheapest of {len(candidates) - len(unknown)} that fit at a known price{rest}"
