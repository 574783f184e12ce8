"""What is to be placed, and a node with what is on it: how much is left for whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from prescale.preflight.kinds.meta import Amounts
from prescale.preflight.kinds.node import Node
from prescale.preflight.kinds.pod import NodeSelector, PodSpec
from stacks.node_contract import GPU_RESOURCE

NONE = Fraction(0)


@dataclass(frozen=True)
class Replica:
    """What is to be placed: `count` pods of `spec`, which request `requests`.

    `confined_to` are the node selectors of its bound volumes. With `may_preempt` it takes the place of pods below
    `priority`.
    """

    service: str
    namespace: str
    labels: Mapping[str, str]
    spec: PodSpec
    requests: Amounts
    count: int
    priority: int = 0
    may_preempt: bool = False
    confined_to: tuple[NodeSelector, ...] = ()

    @cached_property
    def by_scarcity(self) -> tuple[str, ...]:
        """What it requests, GPUs first: of those there are the fewest."""
        return tuple(sorted(self.requests, key=lambda name: name != GPU_RESOURCE))

    @property
    def size(self) -> tuple[Fraction, ...]:
        return tuple(self.requests.get(name, NONE) for name in (GPU_RESOURCE, "memory", "cpu"))


@dataclass(frozen=True)
class Held:
    """One pod that is on a node. `yields` says that pods of a higher priority may take its place."""

    namespace: str
    labels: Mapping[str, str]
    requests: Amounts
    priority: int = 0
    yields: bool = False


@dataclass
class Room:
    """A node and what is on it; placing puts more on it."""

    node: Node
    held: list[Held] = field(default_factory=list)
    left: Amounts = field(init=False)

    def __post_init__(self) -> None:
        self.left = dict(self.node.status.allocatable)

    @classmethod
    def of(cls, node: Node, held: Iterable[Held]) -> Room:
        room = cls(node)
        for one in held:
            room.take(one)
        return room

    def take(self, held: Held) -> None:
        self.held.append(held)
        for name, value in held.requests.items():
            self.left[name] = self.left.get(name, NONE) - value

    def free(self, name: str, replica: Replica) -> Fraction:
        """Of one resource, for this replica."""
        left = self.left.get(name, NONE)
        if replica.may_preempt:
            for one in self.held:
                if one.yields and one.priority < replica.priority:
                    left += one.requests.get(name, NONE)
        return left

    def lacks(self, replica: Replica) -> str | None:
        """The first resource of which too little is left."""
        for name in replica.by_scarcity:
            if self.free(name, replica) < replica.requests[name]:
                have = self.node.status.allocatable.get(name, NONE)
                return f"offers no {name}" if have == 0 else f"too little {name} left"
        return None
