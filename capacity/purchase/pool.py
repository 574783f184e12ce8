"""What to buy for a node pool: instance type and nodes, quota and subnets, money by way of paying, and who pays it.

The base is what runs all month; whatever runs beyond it costs between nothing and the whole month, and both ends are
said. One instance type is taken for the whole pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from capacity.purchase.addresses import Subnet, subnet
from capacity.purchase.charges import Charge, Use, charges
from capacity.purchase.choice import Choice, choose
from capacity.purchase.money import HOURS_PER_MONTH, Rates, Spend, break_even_hours, spend
from capacity.purchase.placement import NodeKind, Placement, QuotaNeed, Replicas, place, quota_needs
from capacity.spread import Spread, over_zones
from stacks.instance_types import INSTANCE_TYPES
from stacks.prices import TERMS, Price, PriceTable, Term
from stacks.spec import NodePool, Service


@dataclass(frozen=True)
class Held:
    """One service of the pool: `base` replicas all month, `peak` at the peak, `surge` more while it rolls out."""

    name: str
    service: Service
    base: int
    peak: int
    surge: int = 0

    def replicas(self, count: int) -> Replicas:
        return Replicas(self.name, count, self.service.gpus_per_replica)

    def use(self, count: int) -> Use:
        return Use(self.name, self.service.owner, self.service.cost_center, count * self.service.gpus_per_replica)


@dataclass(frozen=True)
class Way:
    """A month under one term for the base, all else on demand; `on_demand` is without any commitment.

    least: nothing beyond the base ever runs; most: it always does. break_even_hours: a node that runs longer in a month
    is cheaper committed; None on demand, or where the on-demand price is unknown.
    """

    term: Term
    price: Price | None
    least: Spend
    most: Spend
    break_even_hours: Fraction | None


@dataclass(frozen=True)
class Bought:
    """The pool on the chosen type.

    with_surge: the peak and every service's rollout at once, which quota and subnets must allow. subnet: what the
    fullest zone needs, None where the type's interfaces are not known. spread: None in one zone; only_wished:
    services whose platform.yaml does not hold them to it. charges_at_base and
    _at_peak: who pays for the least and the most of an on-demand month.
    """

    base: Placement
    peak: Placement
    with_surge: Placement
    quotas: tuple[QuotaNeed, ...]
    subnet: Subnet | None
    spread: Spread | None
    only_wished: tuple[str, ...]
    ways: tuple[Way, ...]
    charges_at_base: tuple[Charge, ...]
    charges_at_peak: tuple[Charge, ...]

    @property
    def usd_per_gpu_h(self) -> Fraction | None:
        """One GPU's part of a node on demand."""
        price = self.ways[0].price
        return Fraction(price.usd_per_h) / self.peak.kind.gpus if price else None


@dataclass(frozen=True)
class Purchase:
    """`bought` is None where no instance type of the pool holds whole replicas of all services; `choice` says why.

    region: of the prices, None where the stack does not say it.
    """

    pool: str
    region: str | None
    max_nodes: int
    choice: Choice
    bought: Bought | None

    @property
    def finding(self) -> str | None:
        """What the pool cannot have, None if it can have all of it."""
        if self.bought is None:
            return f"pool {self.pool}: none of its instance types holds them: {self.choice.why}"
        needed = self.bought.with_surge.nodes
        if needed <= self.max_nodes:
            return None
        return f"pool {self.pool}: {needed} nodes are needed, rollouts included; its max_nodes is {self.max_nodes}"


def kinds_of(pool: NodePool) -> tuple[NodeKind, ...]:
    """The pool's instance types, in its order."""
    known = {name: INSTANCE_TYPES.get(name) for name in pool.instance_types}
    return tuple(NodeKind(name, pool.gpus(name), found.vcpus if found else None) for name, found in known.items())


def purchase(
    name: str, pool: NodePool, held: Sequence[Held], prices: PriceTable, *, zones: int, daemonset_pods: int | None
) -> Purchase:
    """What `held` needs of the pool `name`.

    Args:
        zones: spread over as many.
        daemonset_pods: pods of daemonsets on each node that have an address of their own; None where nobody said.
    """
    kinds = kinds_of(pool)
    usd_per_h = {kind.instance_type: prices.usd_per_h(kind.instance_type) for kind in kinds}
    at_most = [one.replicas(one.peak + one.surge) for one in held]
    peak = [one.replicas(one.peak) for one in held]
    choice = choose(peak, kinds, usd_per_h, zones, at_most=at_most, max_nodes=pool.max_nodes)
    if choice.chosen is None:
        return Purchase(name, prices.region, pool.max_nodes, choice, None)
    placement = choice.chosen.placement
    base = place([one.replicas(one.base) for one in held], placement.kind, zones)
    with_surge = place(at_most, placement.kind, zones)
    ways = _ways(base, placement, prices)
    bought = Bought(
        base=base,
        peak=placement,
        with_surge=with_surge,
        quotas=quota_needs([with_surge]),
        subnet=_subnet(held, placement.kind, zones, daemonset_pods),
        spread=over_zones(zones) if zones > 1 else None,
        only_wished=tuple(one.name for one in held if one.service.zones is None and one.peak),
        ways=ways,
        charges_at_base=charges(name, ways[0].least.usd, base.gpus, [one.use(one.base) for one in held]),
        charges_at_peak=charges(name, ways[0].most.usd, placement.gpus, [one.use(one.peak) for one in held]),
    )
    return Purchase(name, prices.region, pool.max_nodes, choice, bought)


def _ways(base: Placement, peak: Placement, prices: PriceTable) -> tuple[Way, ...]:
    """On demand first, then every commitment whose price is known."""
    kind = peak.kind.instance_type
    terms = [term for term in TERMS if term == "on_demand" or prices.price(kind, term)]
    return tuple(_way(term, prices, kind, min(base.nodes, peak.nodes), peak.nodes) for term in terms)


def _way(term: Term, prices: PriceTable, kind: str, base: int, peak: int) -> Way:
    commits = term != "on_demand"
    rates = Rates(prices.usd_per_h(kind), prices.usd_per_h(kind, term) if commits else None)
    committed, always = (base, 0) if commits else (0, base * HOURS_PER_MONTH)
    rest = (peak - base) * HOURS_PER_MONTH
    least, most = (spend(committed, peak, always + hours, rates) for hours in (0, rest))
    return Way(term, prices.price(kind, term), least, most, break_even_hours(rates) if commits else None)


def _subnet(held: Sequence[Held], kind: NodeKind, zones: int, daemonset_pods: int | None) -> Subnet | None:
    known = INSTANCE_TYPES.get(kind.instance_type)
    if known is None:
        return None
    # Any zone may get the odd replica of every service.
    counts = [one.replicas(-(-(one.peak + one.surge) // zones)) for one in held]
    fullest = place(counts, kind)
    replicas = max((sum(group.replicas.values()) for group in fullest.groups), default=0)
    return subnet(fullest.nodes, replicas, known.enis, known.ipv4_per_eni, daemonset_pods=daemonset_pods)
