"""The pod's side of the node pool contract: what puts a pod on the pool's nodes, and on no others.

It does not make nodes; `stacks.node_contract` says what a node must carry.
"""

from __future__ import annotations

from pulumi_kubernetes.core.v1 import (
    AffinityArgs,
    NodeAffinityArgs,
    NodeSelectorArgs,
    NodeSelectorRequirementArgs,
    NodeSelectorTermArgs,
    TolerationArgs,
)

from stacks.node_contract import INSTANCE_TYPE_LABEL, POOL_LABEL, POOL_TAINT
from stacks.spec import NodePool


def tolerations() -> list[TolerationArgs]:
    """What a pod needs to be let onto the pool's tainted nodes.

    By the key alone: nodes that others made carry the same taint with other values.
    """
    return [TolerationArgs(key=POOL_TAINT.key, operator="Exists", effect=POOL_TAINT.effect)]


def affinity(name: str, pool: NodePool) -> AffinityArgs:
    """Require the pool and one of its instance types: capacity was measured on those, and on no other."""
    expressions = [
        NodeSelectorRequirementArgs(key=POOL_LABEL, operator="In", values=[name]),
        NodeSelectorRequirementArgs(key=INSTANCE_TYPE_LABEL, operator="In", values=list(pool.instance_types)),
    ]
    term = NodeSelectorTermArgs(match_expressions=expressions)
    required = NodeSelectorArgs(node_selector_terms=[term])
    return AffinityArgs(
        node_affinity=NodeAffinityArgs(required_during_scheduling_ignored_during_execution=required),
    )
