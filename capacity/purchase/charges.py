"""Who pays: a pool's money by the GPUs each service holds, so that owners and cost centres add up to the bill."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from capacity.purchase.money import times, total
from capacity.replicas import Exact


@dataclass(frozen=True)
class Use:
    """GPUs of a pool that one service holds. `cost_center` is None where the service names none."""

    service: str
    owner: str
    cost_center: str | None
    gpus: int


@dataclass(frozen=True)
class Charge:
    """One service's part of a pool's month. `service` is None for GPUs that are paid for and hold no replica."""

    pool: str
    service: str | None
    owner: str | None
    cost_center: str | None
    gpus: int
    usd: Fraction | None


def charges(pool: str, month_usd: Exact | None, gpus: int, uses: Iterable[Use]) -> tuple[Charge, ...]:
    """A pool's money by the GPUs that are held; what nobody holds is a charge of its own, so that the sum is the bill.

    Raises:
        ValueError: services hold more GPUs than the pool's nodes have.
    """
    used = tuple(uses)
    idle = gpus - sum(use.gpus for use in used)
    if idle < 0:
        raise ValueError(f"pool {pool}: services hold {gpus - idle} GPUs of {gpus}")
    each = None if month_usd is None or not gpus else Fraction(month_usd) / gpus
    held = [Charge(pool, use.service, use.owner, use.cost_center, use.gpus, times(use.gpus, each)) for use in used]
    return (*held, *([Charge(pool, None, None, None, idle, times(idle, each))] if idle else []))


def by(charged: Iterable[Charge], key: Callable[[Charge], Hashable]) -> dict[Hashable, Fraction | None]:
    """Sums by owner, cost centre or pool; None where a part is unknown."""
    parts: dict[Hashable, list[Fraction | None]] = {}
    for charge in charged:
        parts.setdefault(key(charge), []).append(charge.usd)
    return {name: total(inside) for name, inside in parts.items()}


def in_cents(parts: Sequence[Exact]) -> tuple[Decimal, ...]:
    """`parts` rounded to cents so that they add up to the rounded total: those cut the most get the missing cents."""
    exact = [Fraction(part) * 100 for part in parts]
    cents = [math.floor(part) for part in exact]
    missing = math.floor(sum(exact, Fraction(1, 2))) - sum(cents)
    order = sorted(range(len(exact)), key=lambda place: (cents[place] - exact[place], place))
    for place in order[:missing]:
        cents[place] += 1
    return tuple(Decimal(cent).scaleb(-2) for cent in cents)
