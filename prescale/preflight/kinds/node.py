"""Nodes, and what is of no namespace beside them.

Source: Kubernetes 1.34, core/v1, scheduling/v1, storage/v1, apiregistration/v1, admissionregistration/v1.
"""

from __future__ import annotations

import msgspec

from prescale.preflight.kinds.meta import Amounts, Condition, Meta, Shape, condition
from prescale.preflight.kinds.pod import NodeSelector
from stacks.node_contract import POOL_LABEL


class Taint(Shape, frozen=True):
    key: str
    value: str = ""
    effect: str = ""


class NodeSpec(Shape, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(Shape, frozen=True):
    allocatable: Amounts = msgspec.field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()


class Node(Shape, frozen=True):
    metadata: Meta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def pool(self) -> str:
        """The node pool it belongs to; empty where it is none of ours."""
        return self.metadata.labels.get(POOL_LABEL, "")

    @property
    def is_ready(self) -> bool:
        ready = condition(self.status.conditions, "Ready")
        return ready is not None and ready.status == "True"


class PriorityClass(Shape, frozen=True):
    metadata: Meta
    value: int = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


class StorageClass(Shape, frozen=True):
    metadata: Meta
    volume_binding_mode: str = "Immediate"


class VolumeNodeAffinity(Shape, frozen=True):
    required: NodeSelector | None = None


class PersistentVolumeSpec(Shape, frozen=True):
    node_affinity: VolumeNodeAffinity = VolumeNodeAffinity()


class PersistentVolume(Shape, frozen=True):
    metadata: Meta
    spec: PersistentVolumeSpec = PersistentVolumeSpec()


class ApiServiceStatus(Shape, frozen=True):
    conditions: tuple[Condition, ...] = ()


class ApiService(Shape, frozen=True):
    metadata: Meta
    status: ApiServiceStatus = ApiServiceStatus()


class WebhookRule(Shape, frozen=True):
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()


class Webhook(Shape, frozen=True):
    name: str
    rules: tuple[WebhookRule, ...] = ()
    failure_policy: str = "Fail"


class WebhookConfiguration(Shape, frozen=True):
    metadata: Meta
    webhooks: tuple[Webhook, ...] = ()
