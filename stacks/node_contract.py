"""The contract between a node pool and what runs on it: labels and taint of each node, and a model's folder on it.

Pure data, so that whoever makes the nodes (a cloud, a person, the sandbox) and what is scheduled onto them agree.
It does not make nodes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from stacks.instance_types import INSTANCE_TYPES
from stacks.spec import Model, NodePool

POOL_LABEL = "warmline.dev/node-pool"
ZONE_LABEL = "topology.kubernetes.io/zone"
"""Set by whoever makes the nodes. On a node without it, no replica of a service with `zones` is scheduled."""
INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
GPU_RESOURCE = "nvidia.com/gpu"
TAINT_EFFECT = "NoSchedule"
TAINT_VALUE = "present"


@dataclass(frozen=True)
class NodeTaint:
    """As in `Node.spec.taints[]`."""

    key: str
    value: str
    effect: str


POOL_TAINT = NodeTaint(GPU_RESOURCE, TAINT_VALUE, TAINT_EFFECT)
"""Keeps pods without a GPU off nodes that cost one. Source: the taint AWS and NVIDIA's own charts tolerate."""


def weights_folder(model: Model) -> str:
    """Where a node's disk has a revision: two sources may use one name and revision for different bytes."""
    return f"{model.revision}-{hashlib.sha256(model.source.encode()).hexdigest()[:8]}"


def pool_labels(name: str) -> dict[str, str]:
    """Labels every node of the pool `name` has."""
    return {POOL_LABEL: name}


@dataclass(frozen=True)
class NodeFacts:
    """What one node of a pool must look like. Quantities as in `Node.status.capacity`."""

    labels: dict[str, str]
    taints: tuple[NodeTaint, ...]
    capacity: dict[str, str]


def node_facts(name: str, pool: NodePool, instance_type: str) -> NodeFacts:
    """One node of `instance_type` in the pool `name`. CPU and memory are left out where the type is not known."""
    capacity = {GPU_RESOURCE: str(pool.gpus(instance_type))}
    known = INSTANCE_TYPES.get(instance_type)
    if known:
        capacity |= {"cpu": str(known.vcpus), "memory": f"{known.memory_gib}Gi"}
    labels = pool_labels(name) | {INSTANCE_TYPE_LABEL: instance_type}
    return NodeFacts(labels, (POOL_TAINT,), capacity)
