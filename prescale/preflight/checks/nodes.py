"""Whether the floors of all services together find room on the nodes there are, in whole replicas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from prescale.preflight.admitted import requests
from prescale.preflight.checks.priorities import priority_of
from prescale.preflight.checks.volumes import confinement
from prescale.preflight.finding import Found, Unsure
from prescale.preflight.kinds.node import Node
from prescale.preflight.kinds.pod import Pod
from prescale.preflight.placing import MENDABLE, OTHER_POOL, RULES, never, place
from prescale.preflight.room import Held, Replica, Room
from prescale.preflight.scene import Scene, Target, with_deployment
from prescale.preflight.seen import NODES, PODS
from stacks.node_contract import GPU_RESOURCE
from stacks.spec import NodePool

POD_HASH = "pod-template-hash"
LARGE_FIRST = "Give the large replicas nodes of their own, a higher PriorityClass, or an earlier raise."


def room_for_the_floors(scene: Scene) -> Iterator[Found]:
    """Every replica of every floor beside what other pods hold, whole; and in whatever order the scheduler meets them.

    Where small and large ones share nodes, the small may leave no node whole.
    """
    nodes = scene.seen.of(NODES)
    targets = list(with_deployment(scene))
    missing = {target.name: _missing(target, nodes) for target in targets}
    best = place(missing.values(), rooms(scene, targets))
    worst = place(missing.values(), rooms(scene, targets), at_worst=True)
    for target in targets:
        name, pool = target.name, f"nodes of pool {target.service.node_pool}"
        wanted = target.floor + target.surge
        expected = f"{wanted} whole replicas{_with_surge(target)}"
        here = len(_stay(target, nodes))
        if name in best.refused:
            fit = here + best.placed.get(name, 0)
            got = f"room for {fit} of {wanted} replicas ({_said(best.refused[name])})"
            elsewhere = _elsewhere(best.refused[name])
            yield Found(pool, got, expected, elsewhere or _fix(target, missing[name], wanted - fit, nodes), name)
        elif name in worst.refused and not best.refused:
            fit = here + worst.placed.get(name, 0)
            got = f"room for {wanted} replicas if the large ones come first, else for as few as {fit}"
            yield Found(pool, got, f"{expected} in any order", LARGE_FIRST, name)


def rooms(scene: Scene, targets: list[Target]) -> list[Room]:
    """Every node with what is on it at the moment that is asked about: what is on its way out holds its place until
    its time is over, and beyond it where something keeps it."""
    ours = {(pod.metadata.namespace, pod.metadata.name) for target in targets for pod in target.pods}
    on: dict[str, list[Held]] = {}
    for pod in scene.seen.of(PODS):
        ends = pod.metadata.deletion_timestamp
        if pod.is_over or (ends is not None and scene.now < ends <= scene.at):
            continue
        name = (pod.metadata.namespace, pod.metadata.name)
        held = Held(name[0], pod.metadata.labels, requests(pod.spec), pod.spec.priority, yields=name not in ours)
        on.setdefault(pod.spec.node_name, []).append(held)
    return [Room.of(node, on.get(node.name, ())) for node in scene.seen.of(NODES)]


def _missing(target: Target, nodes: tuple[Node, ...]) -> Replica:
    """What has still to find a node: all that does not run on one that stays."""
    priority, may_preempt = priority_of(target)
    newest = max(target.staying, key=lambda pod: str(pod.metadata.creation_timestamp), default=None)
    labels = dict(target.deployment.spec.template.metadata.labels)
    if newest and POD_HASH in newest.metadata.labels:
        labels[POD_HASH] = newest.metadata.labels[POD_HASH]
    return Replica(
        service=target.name,
        namespace=target.observed.namespace,
        labels=labels,
        spec=target.admitted,
        requests=requests(target.admitted),
        count=max(0, target.floor + target.surge - len(_stay(target, nodes))),
        priority=priority,
        may_preempt=may_preempt,
        confined_to=tuple(confinement(target)),
    )


def _stay(target: Target, nodes: tuple[Node, ...]) -> list[Pod]:
    """Pods on nodes that stand. Those of a node that is not Ready are moved away from it."""
    standing = {node.name for node in nodes if node.is_ready and node.metadata.deletion_timestamp is None}
    return [pod for pod in target.staying if pod.spec.node_name in standing]


def _said(reasons: Mapping[str, int]) -> str:
    own = {reason: count for reason, count in reasons.items() if reason != OTHER_POOL}
    if not own:
        return "no node has its labels" if reasons else "there are no nodes"
    return ", ".join(f"{count} x {reason}" for reason, count in own.items())


def _elsewhere(reasons: Mapping[str, int]) -> str | None:
    """There is room, and a rule keeps replicas out of it: more nodes help in some domains only."""
    rules = [reason for reason in reasons if reason.startswith(RULES)]
    if not rules:
        return None
    return (
        f"There is room, but not where it may be ({', '.join(rules)}): add nodes in other domains, or loosen the rule."
    )


def _with_surge(target: Target) -> str:
    return f": the floor, and {target.surge} of the rollout in progress" if target.surge else ""


def _fix(target: Target, replica: Replica, short: int, nodes: tuple[Node, ...]) -> str:
    """How many nodes it would take, if nodes are what it takes; whether they can be had, the cloud says."""
    of_pool = [node for node in nodes if node.pool == target.service.node_pool]
    usable = [node for node in of_pool if never(replica, node) in MENDABLE]
    if of_pool and not usable:
        return "Correct labels and taints of the nodes, or affinity and tolerations of the template."
    per_node = whole_replicas(target, target.pool)
    if per_node == 0 or (usable and all(Room(node).lacks(replica) for node in usable)):
        return "Even empty, no node of the pool holds a replica: lower what it requests, or change the pool."
    more, most = -(-short // per_node), target.pool.max_nodes
    needs = f"else it would need {more} more {'node' if more == 1 else 'nodes'}"
    have = f"the pool has {len(of_pool)} of at most {most} (max_nodes)"
    free = "Uncordon or mend nodes, or free their GPUs"
    if len(of_pool) + more > most:
        return f"{free}; {needs}, and {have}: raise max_nodes, or lower the floor."
    return f"{free}; {needs}; {have}."


def whole_replicas(target: Target, pool: NodePool) -> int:
    """On the smallest empty node of the pool that holds any."""
    each = [pool.gpus(kind) // target.service.gpus_per_replica for kind in pool.instance_types]
    return min((count for count in each if count), default=0)


def on_cordoned_nodes(target: Target) -> Iterator[Found]:
    """Replicas that run where nothing may be put any more: who drains the node takes them away."""
    cordoned = {node.name for node in target.seen.of(NODES) if node.spec.unschedulable}
    on = sorted({pod.spec.node_name for pod in target.staying} & cordoned)
    if on:
        count = sum(pod.spec.node_name in on for pod in target.staying)
        yield Found(
            what=f"cordoned nodes {', '.join(on)}",
            got=f"{count} of its replicas there",
            expected="none on nodes that are about to be drained",
            fix="Drain them now, while there is time for cold starts, or uncordon them.",
        )


def without_gpus(scene: Scene) -> Iterator[Found]:
    """Nodes of a pool that should have GPUs and offer none: the device plugin does not run there."""
    for name in scene.pools:
        of_pool = [node for node in scene.seen.of(NODES) if node.pool == name and node.is_ready]
        bare = [node.name for node in of_pool if not node.status.allocatable.get(GPU_RESOURCE, Fraction(0))]
        if bare:
            yield Found(
                what=f"nodes {', '.join(sorted(bare))} of pool {name}",
                got=f"no allocatable {GPU_RESOURCE}",
                expected=f"the GPUs of {', '.join(scene.pools[name].instance_types)}",
                fix="See that the device plugin runs there: its pod has to tolerate the nodes' taints.",
            )


def not_reckoned(target: Target) -> Iterator[Unsure]:
    """What the lay-out leaves out."""
    if target.template.affinity.pod_affinity.required_during_scheduling_ignored_during_execution:
        yield Unsure("required podAffinity is not reckoned: see that the pods it wants near have room to spread")
