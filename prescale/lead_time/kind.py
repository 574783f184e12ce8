"""What makes two starts comparable: image, model revision, GPUs and node pool. Another kind's times do not count."""

from __future__ import annotations

import hashlib
import json

from prescale.lead_time.pod import Pod
from stacks.node_contract import GPU_RESOURCE, INSTANCE_TYPE_LABEL, POOL_LABEL, weights_folder
from stacks.spec import NodePool, Service


def kind_of(service: Service, pool: NodePool) -> str:
    """Eight hexadecimal digits, the same for services whose replicas start alike."""
    facts = [service.engine.image, weights_folder(service.model), service.gpus_per_replica, service.node_pool]
    text = json.dumps([*facts, sorted(pool.instance_types)])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def is_of(pod: Pod, service: Service, pool: NodePool) -> bool:
    """Whether the pod is one that platform.yaml describes now: in a rollout, or before `pulumi up`, others run too."""
    engine = pod.engine
    if engine is None or engine.image != service.engine.image:
        return False
    words = [*engine.args, *(variable.value or "" for one in pod.spec.init_containers for variable in one.env)]
    return (
        any(word.endswith(f"/{weights_folder(service.model)}") for word in words)
        and engine.resources.limits.get(GPU_RESOURCE) == str(service.gpus_per_replica)
        and service.node_pool in pod.spec.node_label_values(POOL_LABEL)
        and {*pod.spec.node_label_values(INSTANCE_TYPE_LABEL)} == {*pool.instance_types}
    )
