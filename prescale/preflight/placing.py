"""Whole replicas on the nodes there are, as the scheduler would put them: what fits is really laid out, node by node.

So it never claims room that is not there. The largest replicas first, on the nodes that are nearly full, is the best
order; the smallest first, on the emptiest, is what a scheduler may do that does not know what is still to come: it
spreads by CPU and memory. Not reckoned: required podAffinity, host ports.

Source: Kubernetes 1.34, kube-scheduler plugins NodeResourcesFit, NodeUnschedulable, NodeAffinity, TaintToleration,
PodTopologySpread, InterPodAffinity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from prescale.preflight.kinds.node import Node
from prescale.preflight.kinds.pod import SpreadConstraint
from prescale.preflight.room import Held, Replica, Room
from prescale.preflight.selecting import is_of, kept_off_by, may_be_on, selects
from stacks.node_contract import GPU_RESOURCE

OTHER_POOL = "not of its node selector or affinity"
MENDABLE = {None, "cordoned", "not Ready", "being removed"}
"""What keeps replicas off a node that would hold them on another day."""
RULES = ("spread over", "anti-affinity over", "out of reach")
"""How reasons begin that are of where a node is, and not of what is left on it."""


class _Offer:
    """What a node has for one replica, reckoned anew only when the node takes one: nothing else changes it."""

    def __init__(self, room: Room, replica: Replica) -> None:
        self._room, self._replica = room, replica
        self._look()

    @property
    def node(self) -> Node:
        return self._room.node

    def accept(self) -> None:
        one = self._replica
        self._room.take(Held(one.namespace, one.labels, one.requests, one.priority))
        self._look()

    def _look(self) -> None:
        self.lacks = self._room.lacks(self._replica)
        self.free_gpus = self._room.free(GPU_RESOURCE, self._replica)


@dataclass(frozen=True)
class Placement:
    """How many of each service's replicas found a node; of the first that did not, why not, and on how many nodes."""

    placed: Mapping[str, int]
    refused: Mapping[str, Mapping[str, int]]


def place(replicas: Iterable[Replica], rooms: Sequence[Room], *, at_worst: bool = False) -> Placement:
    """Lay out all replicas in the best order, or in a bad one. `rooms` are filled on the way."""
    placed: dict[str, int] = {}
    refused: dict[str, Mapping[str, int]] = {}
    for replica in sorted(replicas, key=lambda one: (one.size, one.service), reverse=not at_worst):
        barred = {room.node.name: never(replica, room.node) for room in rooms}
        offers = [_Offer(room, replica) for room in rooms if barred[room.node.name] is None]
        rules = [*_spreads(replica, rooms), *_anti_affinities(replica, rooms)]
        for number in range(replica.count):
            reasons = {offer.node.name: offer.lacks or _refused(rules, offer.node) for offer in offers}
            fitting = [offer for offer in offers if reasons[offer.node.name] is None]
            if not fitting:
                said = [reason for reason in {**barred, **reasons}.values() if reason]
                refused[replica.service] = dict(Counter(said).most_common())
                break
            chosen = min(fitting, key=lambda offer: _order(offer, rules, at_worst=at_worst))
            chosen.accept()
            for rule in rules:
                rule.add(chosen.node)
            placed[replica.service] = number + 1
    return Placement(placed, refused)


def never(replica: Replica, node: Node) -> str | None:
    """What keeps it off this node whatever is on it."""
    return next(_bars(replica, node), None)


def _bars(replica: Replica, node: Node) -> Iterator[str]:
    if not may_be_on(replica.spec, node):
        yield OTHER_POOL
    if node.spec.unschedulable:
        yield "cordoned"
    if not node.is_ready:
        yield "not Ready"
    if node.metadata.deletion_timestamp is not None:
        yield "being removed"
    if taint := kept_off_by(replica.spec, node):
        yield f"taint {taint.key}:{taint.effect}"
    if not all(is_of(selector, node) for selector in replica.confined_to):
        yield "out of reach of its volumes"


def _refused(rules: Iterable[_Rule], node: Node) -> str | None:
    return next((reason for rule in rules if (reason := rule.refuses(node))), None)


def _order(offer: _Offer, rules: Iterable[_Rule], *, at_worst: bool) -> tuple[int, Fraction, str]:
    """Emptiest domains first, or a constraint ends it early; among those the fullest node, or the emptiest."""
    free = offer.free_gpus
    return sum(rule.there(offer.node) for rule in rules), -free if at_worst else free, offer.node.name


class _Rule(Protocol):
    """What other pods have to say about a node, kept up to date as replicas are placed."""

    def refuses(self, node: Node) -> str | None: ...
    def there(self, node: Node) -> int: ...
    def add(self, node: Node) -> None: ...


def _anti_affinities(replica: Replica, rooms: Iterable[Room]) -> Iterator[_Rule]:
    given = list(rooms)
    for term in replica.spec.affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution:
        spaces, key = term.namespaces or (replica.namespace,), term.topology_key
        taken = {
            room.node.metadata.labels[key]
            for room in given
            if key in room.node.metadata.labels
            and any(one.namespace in spaces and selects(term.label_selector, one.labels) for one in room.held)
        }
        means_itself = replica.namespace in spaces and selects(term.label_selector, replica.labels)
        yield _AntiAffinity(key, taken, means_itself)


@dataclass
class _AntiAffinity:
    """One required term: no node of a domain in which such a pod is `taken`."""

    key: str
    taken: set[str]
    means_itself: bool

    def refuses(self, node: Node) -> str | None:
        return f"anti-affinity over {self.key}" if node.metadata.labels.get(self.key) in self.taken else None

    def there(self, node: Node) -> int:
        return 0

    def add(self, node: Node) -> None:
        if self.means_itself and self.key in node.metadata.labels:
            self.taken.add(node.metadata.labels[self.key])


def _spreads(replica: Replica, rooms: Iterable[Room]) -> Iterator[_Rule]:
    given = list(rooms)
    for constraint in replica.spec.topology_spread_constraints:
        if constraint.binds:
            yield _spread(constraint, replica, given)


def _spread(constraint: SpreadConstraint, replica: Replica, rooms: Iterable[Room]) -> _Spread:
    key, spec = constraint.topology_key, replica.spec
    same = {name: replica.labels[name] for name in constraint.match_label_keys if name in replica.labels}

    def means(labels: Mapping[str, str]) -> bool:
        return selects(constraint.label_selector, labels) and same.items() <= labels.items()

    counts: dict[str, int] = {}
    for room in rooms:
        node = room.node
        is_asked = constraint.node_affinity_policy != "Honor" or may_be_on(spec, node)
        is_let_in = constraint.node_taints_policy != "Honor" or kept_off_by(spec, node) is None
        if key in node.metadata.labels and is_asked and is_let_in:
            domain = node.metadata.labels[key]
            here = sum(one.namespace == replica.namespace and means(one.labels) for one in room.held)
            counts[domain] = counts.get(domain, 0) + here
    return _Spread(constraint, counts, means(replica.labels))


@dataclass
class _Spread:
    """One constraint that binds, with the pods counted in each of its domains."""

    constraint: SpreadConstraint
    counts: dict[str, int]
    counts_itself: bool

    def refuses(self, node: Node) -> str | None:
        key = self.constraint.topology_key
        domain = node.metadata.labels.get(key)
        if domain is None:
            return f"no label {key}"
        least = min(self.counts.values(), default=0) if len(self.counts) >= self.constraint.min_domains else 0
        skew = self.counts.get(domain, 0) + self.counts_itself - least
        return f"spread over {key}" if skew > self.constraint.max_skew else None

    def there(self, node: Node) -> int:
        return self.counts.get(node.metadata.labels.get(self.constraint.topology_key, ""), 0)

    def add(self, node: Node) -> None:
        domain = node.metadata.labels.get(self.constraint.topology_key, "")
        if self.counts_itself and domain in self.counts:
            self.counts[domain] += 1
