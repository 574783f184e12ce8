"""From plans to what they take to buy: each pool's purchase, and what a request's tokens cost on it.

Reckoned at the end of a plan's range that needs the most; of a pool the other end too, where the plans have one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from capacity.purchase.money import (
    HOURS_PER_MONTH,
    SECONDS_PER_HOUR,
    ApiPrice,
    Comparison,
    compared,
    usd_per_million_tokens,
)
from capacity.purchase.pool import Held, Purchase, purchase
from capacity.sizing.offered import Dimension
from capacity.sizing.plan import Plan
from capacity.sizing.shared import Shared, shared
from stacks.prices import PriceTable
from stacks.spec import NodePool, Platform

PEAK_TO_AVERAGE = "peak_to_average"


End = Literal["fewest", "most"]
NO_PRICES = PriceTable()


@dataclass(frozen=True)
class Terms:
    """What is bought by: prices, the pods of daemonsets that take an address on every node (None: nobody said), a
    managed API beside it.
    """

    prices: PriceTable = NO_PRICES
    daemonset_pods: int | None = None
    api: ApiPrice | None = None


@dataclass(frozen=True)
class TokenCost:
    """Dollars per million output tokens of one plan's replicas, all of them paid for all month: month_usd.

    measured_usd: each carries what was measured. at_peak_usd: they carry the projected peak. on_average_usd: what is
    left of it on average. peak_pct and average_pct: the shares of the measured tokens that these are. None where a
    number is missing.
    """

    month_usd: Fraction | None
    measured_usd: Fraction | None
    at_peak_usd: Fraction | None
    on_average_usd: Fraction | None
    peak_pct: Fraction | None
    average_pct: Fraction | None


@dataclass(frozen=True)
class Bill:
    """All that plans take to buy, and what it makes of a token.

    pools: those that a plan is for. at_least: the same at the other end of the plans' ranges, on the same type.
    tokens, months: by request; a month is compared with an API only where one's price was given, and is None where it
    cannot be told.
    """

    pools: tuple[Purchase, ...]
    at_least: tuple[Purchase, ...]
    tokens: Mapping[str, TokenCost]
    months: Mapping[str, Comparison | None]
    shared: tuple[Shared, ...]

    @property
    def findings(self) -> tuple[str, ...]:
        """What needs a person."""
        return tuple(text for one in self.pools if (text := one.finding))


def bill(plans: Sequence[Plan], platform: Platform, terms: Terms, baselines: Mapping[str, int]) -> Bill:
    """Reckon all of it.

    Args:
        baselines: of services whose plan has one; the others keep theirs, and at the other end of a range all do.
    """
    now = {name: service.replicas.min for name, service in platform.services.items()}
    ranges = {plan.workload.service for plan in plans if plan.is_preliminary}
    sure = {name: count for name, count in baselines.items() if name not in ranges}
    pools, at_least = [], []
    for name, pool in platform.node_pools.items():
        asking = [plan for plan in plans if plan.service.node_pool == name]
        if asking:
            most = _purchase(name, pool, asking, platform, {**now, **baselines}, terms=terms, end="most")
            kinds = [most.bought.peak.kind.instance_type] if most.bought else pool.instance_types
            of_its_type = pool.model_copy(update={"instance_types": kinds})
            pools.append(most)
            at_least.append(_purchase(name, of_its_type, asking, platform, {**now, **sure}, terms=terms, end="fewest"))
    usd_per_gpu_h = {one.pool: one.bought.usd_per_gpu_h if one.bought else None for one in pools}
    tokens = {plan.name: token_cost(plan, usd_per_gpu_h[plan.service.node_pool]) for plan in plans}
    api = terms.api
    months = {plan.name: api_month(plan, tokens[plan.name].month_usd, api) for plan in plans} if api else {}
    return Bill(tuple(pools), tuple(at_least), tokens, months, shared(plans))


def _purchase(
    name: str,
    pool: NodePool,
    plans: Sequence[Plan],
    platform: Platform,
    baselines: Mapping[str, int],
    *,
    terms: Terms,
    end: End,
) -> Purchase:
    """Services of a pool without a plan hold their baseline."""
    asked = [getattr(plan, end).reliability.zones or 1 for plan in plans]
    kept = [service.zones or 1 for service in platform.services.values() if service.node_pool == name]
    zones = max(*asked, *kept)
    held = _held(plans, platform, baselines, name, end)
    return purchase(name, pool, held, terms.prices, zones=zones, daemonset_pods=terms.daemonset_pods)


def _held(plans: Sequence[Plan], platform: Platform, baselines: Mapping[str, int], pool: str, end: End) -> list[Held]:
    reserves: dict[str, list[tuple[int, int]]] = {}
    for plan in plans:
        reserve = getattr(plan, end).reserve
        reserves.setdefault(plan.workload.service, []).append((reserve.running, reserve.surge))
    held = []
    for name, service in platform.services.items():
        if service.node_pool != pool:
            continue
        base = baselines[name]
        asked = reserves.get(name, [(base, 0)])
        peak = max(base, sum(running for running, _ in asked))
        held.append(Held(name, service, base, peak, max(surge for _, surge in asked)))
    return held


def token_cost(plan: Plan, usd_per_gpu_h: Fraction | None) -> TokenCost:
    """At `usd_per_gpu_h` of the pool's nodes."""
    replicas = plan.most.reserve.running * plan.service.gpus_per_replica
    usd_per_h = None if usd_per_gpu_h is None else usd_per_gpu_h * replicas
    peak, average = tokens_per_s(plan, "output_tokens_per_s")
    each = _measured(plan)
    measured = None if each is None else each * plan.most.reserve.running

    def cost(rate: Fraction | None) -> Fraction | None:
        return usd_per_million_tokens(usd_per_h, rate) if rate else None

    def share(rate: Fraction | None) -> Fraction | None:
        return 100 * rate / measured if rate is not None and measured else None

    month = None if usd_per_h is None else usd_per_h * HOURS_PER_MONTH
    return TokenCost(month, cost(measured), cost(peak), cost(average), share(peak), share(average))


def tokens_per_s(plan: Plan, name: Dimension) -> tuple[Fraction | None, Fraction | None]:
    """Tokens per second of all classes at the peak and on average; None where a class does not tell."""
    peaks = [offered.load.get(name) for offered in plan.most.offered.values()]
    shares = [_average(plan, kind) for kind in plan.most.offered]
    averages = [
        None if peak is None or share is None else peak * share for peak, share in zip(peaks, shares, strict=True)
    ]
    return _sum(peaks), _sum(averages)


def api_month(plan: Plan, own_usd: Fraction | None, price: ApiPrice) -> Comparison | None:
    """A month of the plan's average tokens at a managed API; None where they are not known.

    Cached prefixes are left out of the input: whether the API charges for them is the API's own.
    """
    _, output = tokens_per_s(plan, "output_tokens_per_s")
    _, prefill = tokens_per_s(plan, "prefill_tokens_per_s")
    if output is None or prefill is None:
        return None
    seconds = HOURS_PER_MONTH * SECONDS_PER_HOUR
    each = _measured(plan)
    carried = None if each is None else each * plan.most.reserve.running * seconds
    return compared(own_usd, prefill * seconds, output * seconds, price, carried=carried)


def _measured(plan: Plan) -> Fraction | None:
    """Output tokens per second of one replica at the planned mix: classes weigh by the replicas their tokens fill."""
    rates = [plan.carries[kind].load.get("output_tokens_per_s") for kind in plan.most.offered]
    peaks = [offered.load.get("output_tokens_per_s") for offered in plan.most.offered.values()]
    tokens = _sum(peaks)
    filled = _sum([peak / rate if peak is not None and rate else None for peak, rate in zip(peaks, rates, strict=True)])
    return tokens / filled if tokens and filled else None


def _average(plan: Plan, kind: str) -> Fraction | None:
    """Mean of a month as a share of the peak; None where the class does not tell."""
    said = plan.workload.profile.classes[kind]
    if said.average_pct is not None:
        return Fraction(said.average_pct) / 100
    field = f"profile.classes.{kind}.{PEAK_TO_AVERAGE}"
    assumed = (one.most for one in plan.assumptions if one.field == field)
    ratio = said.peak_to_average or next(assumed, None)
    return None if ratio is None else 1 / Fraction(ratio)


def _sum(parts: Sequence[Fraction | None]) -> Fraction | None:
    known = [part for part in parts if part is not None]
    return sum(known, Fraction(0)) if known and len(known) == len(parts) else None
