"""What one engine replica asks of its node: GPUs, CPU, memory, shared memory. Pure."""

from __future__ import annotations

from stacks.instance_types import INSTANCE_TYPES
from stacks.node_contract import GPU_RESOURCE
from stacks.spec import NodePool, Service

NODE_SHARE_PCT = 75
"""Of its GPUs' share of the node; the rest is the kubelet's, the DaemonSets' and the page cache's."""

UNKNOWN_VCPUS_PER_GPU = 4
UNKNOWN_MEMORY_GIB_PER_GPU = 16

SHARED_MEMORY_GIB_PER_GPU = 2
"""For NCCL and the tensors engine processes hand each other. Source: vLLM docs, "Using Kubernetes", sizeLimit 2Gi."""


def requests(service: Service, pool: NodePool) -> dict[str, str]:
    """CPU, memory and GPUs: the share of the smallest node of the pool that holds whole replicas.

    Returns: Kubernetes quantities, in the form the API server gives them back in.
    """
    gpus = service.gpus_per_replica
    shares = [_share(name, gpus, pool) for name in pool.instance_types if pool.gpus(name) % gpus == 0]
    cpu_m = min(share[0] for share in shares) * NODE_SHARE_PCT // 100
    memory_mib = min(share[1] for share in shares) * NODE_SHARE_PCT // 100
    return {"cpu": _cpu(cpu_m), "memory": _memory(memory_mib), GPU_RESOURCE: str(gpus)}


def _cpu(millicores: int) -> str:
    """`6`, `4500m`."""
    return f"{millicores}m" if millicores % 1000 else str(millicores // 1000)


def _memory(mib: int) -> str:
    """`48Gi`, `500Mi`."""
    return f"{mib}Mi" if mib % 1024 else f"{mib // 1024}Gi"


def _share(instance_type: str, gpus: int, pool: NodePool) -> tuple[int, int]:
    """Millicores and MiB that belong to `gpus` GPUs of a node."""
    known = INSTANCE_TYPES.get(instance_type)
    if known is None:
        return gpus * UNKNOWN_VCPUS_PER_GPU * 1000, gpus * UNKNOWN_MEMORY_GIB_PER_GPU * 1024
    have = pool.gpus(instance_type)
    return known.vcpus * 1000 * gpus // have, known.memory_gib * 1024 * gpus // have


def limits(service: Service) -> dict[str, str]:
    """GPUs only, equal to the request as Kubernetes demands. A CPU limit would throttle tokenizing for nothing."""
    return {GPU_RESOURCE: str(service.gpus_per_replica)}


def shared_memory(service: Service) -> str:
    """`sizeLimit` of /dev/shm."""
    return f"{SHARED_MEMORY_GIB_PER_GPU * service.gpus_per_replica}Gi"
