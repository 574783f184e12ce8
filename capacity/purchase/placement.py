"""Whole replicas on whole nodes in zones: how many nodes, what is left over, what remains when a node or zone is lost.

A replica lives on one node: `gpus_each` divides the node's GPUs, as `stacks.fit` demands of every service. Sizes that
do so on real nodes (1, 2, 4, 8) divide each other, and then filling node after node, largest replicas first, needs
the fewest nodes there can be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stacks.quotas import Market, Quota, quota_of


@dataclass(frozen=True)
class Replicas:
    """`count` replicas of a service with `gpus_each` GPUs."""

    service: str
    count: int
    gpus_each: int

    @property
    def gpus(self) -> int:
        return self.count * self.gpus_each


@dataclass(frozen=True)
class NodeKind:
    """What one node of an instance type offers; `vcpus` is None for a type that is not in the table."""

    instance_type: str
    gpus: int
    vcpus: int | None = None


@dataclass(frozen=True)
class Nodes:
    """`count` nodes that are alike: their zone (counted from 0), how many replicas of which service are on each."""

    zone: int
    count: int
    replicas: Mapping[str, int]
    free_gpus: int


@dataclass(frozen=True)
class Placement:
    """Where replicas are on nodes of one kind."""

    kind: NodeKind
    zones: int
    placed: tuple[Replicas, ...]
    groups: tuple[Nodes, ...] = field(repr=False)

    @property
    def nodes(self) -> int:
        return sum(group.count for group in self.groups)

    @property
    def gpus(self) -> int:
        """GPUs of all nodes, used or not."""
        return self.nodes * self.kind.gpus

    @property
    def left_over_gpus(self) -> int:
        """GPUs that are paid for and hold no replica."""
        return sum(group.count * group.free_gpus for group in self.groups)

    @property
    def vcpus(self) -> int | None:
        return None if self.kind.vcpus is None else self.nodes * self.kind.vcpus

    @property
    def nodes_by_zone(self) -> tuple[int, ...]:
        found: Counter[int] = Counter()
        for group in self.groups:
            found[group.zone] += group.count
        return tuple(found[zone] for zone in range(self.zones))

    def by_zone(self, service: str) -> tuple[int, ...]:
        """Replicas of `service` in each zone."""
        found: Counter[int] = Counter()
        for group in self.groups:
            found[group.zone] += group.count * group.replicas.get(service, 0)
        return tuple(found[zone] for zone in range(self.zones))

    def after_a_zone(self, service: str) -> int:
        """Replicas of `service` that still run when the zone with most of them is lost."""
        zones = self.by_zone(service)
        return sum(zones) - max(zones, default=0)

    def after_a_node(self, service: str) -> int:
        """Replicas of `service` that still run when the node with most of them is lost."""
        counts = [(group.count, group.replicas.get(service, 0)) for group in self.groups]
        return sum(count * each for count, each in counts) - max((each for _, each in counts), default=0)


@dataclass(frozen=True)
class QuotaNeed:
    """What running nodes count against one quota.

    `quota` is None where the family's is not known, `vcpus` where a node's are not: neither is then guessed.
    """

    quota: Quota | None
    families: tuple[str, ...]
    vcpus: int | None


def even(count: int, zones: int, first: int = 0) -> tuple[int, ...]:
    """`count` over `zones` within one of each other, those with one more from zone `first` on: 11 over 3 is 4, 4, 3."""
    each, more = divmod(count, zones)
    return tuple(each + ((zone - first) % zones < more) for zone in range(zones))


def misfit(replicas: Iterable[Replicas], kind: NodeKind) -> str | None:
    """Why whole replicas do not fill a node of `kind`, None if they do."""
    for one in replicas:
        if one.gpus_each > kind.gpus:
            return f"a replica of {one.service} needs {one.gpus_each} GPUs, {kind.instance_type} has {kind.gpus}"
        if kind.gpus % one.gpus_each:
            left = kind.gpus % one.gpus_each
            return f"replicas of {one.service} ({one.gpus_each} GPUs) leave {left} of {kind.instance_type}'s over"
    return None


def place(replicas: Sequence[Replicas], kind: NodeKind, zones: int = 1) -> Placement:
    """Each service evenly over `zones`, each zone on as few nodes as hold it, so that a lost node takes the most along.

    Raises:
        ValueError: replicas that do not fit (`misfit` says why).
    """
    if (reason := misfit(replicas, kind)) is not None:
        raise ValueError(reason)
    by_zone: list[list[Replicas]] = [[] for _ in range(zones)]
    first = 0
    for one in replicas:
        for zone, count in enumerate(even(one.count, zones, first)):
            by_zone[zone].append(Replicas(one.service, count, one.gpus_each))
        first = (first + one.count) % zones
    groups = [group for zone, inside in enumerate(by_zone) for group in _packed(zone, inside, kind.gpus)]
    return Placement(kind, zones, tuple(replicas), tuple(groups))


def _packed(zone: int, replicas: Iterable[Replicas], gpus: int) -> Iterator[Nodes]:
    """Node after node, largest replicas first; reckoned by groups, so that any number of replicas takes no longer."""
    content: Counter[str] = Counter()
    free = gpus
    for one in sorted(replicas, key=lambda one: -one.gpus_each):
        here = min(one.count, free // one.gpus_each)
        if here:
            content[one.service] += here
            free -= here * one.gpus_each
        if here == one.count:
            continue
        if content:
            yield Nodes(zone, 1, dict(content), free)
        each = gpus // one.gpus_each
        full, rest = divmod(one.count - here, each)
        if full:
            yield Nodes(zone, full, {one.service: each}, gpus - each * one.gpus_each)
        content, free = Counter({one.service: rest} if rest else {}), gpus - rest * one.gpus_each
    if content:
        yield Nodes(zone, 1, dict(content), free)


def quota_needs(placements: Iterable[Placement], market: Market = "on_demand") -> tuple[QuotaNeed, ...]:
    """What all `placements` of one account and Region need, by quota, in the order they come."""
    found: dict[Quota | None, list[Placement]] = {}
    for placement in placements:
        found.setdefault(quota_of(placement.kind.instance_type, market), []).append(placement)
    return tuple(QuotaNeed(quota, _families(inside), _vcpus(inside)) for quota, inside in found.items())


def _families(placements: Iterable[Placement]) -> tuple[str, ...]:
    return tuple(sorted({one.kind.instance_type.partition(".")[0] for one in placements}))


def _vcpus(placements: Iterable[Placement]) -> int | None:
    known = [one.vcpus for one in placements]
    return None if None in known else sum(vcpus for vcpus in known if vcpus is not None)
