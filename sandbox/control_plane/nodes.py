"""GPU nodes as the cloud would label them, registered with the API server and kept alive by kwok."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from lightkube import ApiError, Client
from lightkube.models.core_v1 import NodeSpec, NodeStatus, Taint
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Node as NodeResource

from sandbox.faults import SandboxError

_FIELD_MANAGER = "warmline-sandbox"
_MOST_NODES = 254  # one /24 of the sandbox's pod network each

Taints = Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Node:
    """One node to fake.

    labels: as the cloud sets them; hostname, os and arch are added. taints: (key, value, effect).
    gpus: `nvidia.com/gpu`, allocatable. cpu, memory, ephemeral_storage: Kubernetes quantities, allocatable.
    pod_cidr: a /24 of loopback, so that a process on this machine can answer as a pod; chosen when empty.
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Taints = ()
    gpus: int = 0
    cpu: str = "8"
    memory: str = "64Gi"
    ephemeral_storage: str = "400Gi"
    max_pods: int = 110
    pod_cidr: str = ""


def with_addresses(nodes: Iterable[Node], pod_network: str) -> list[tuple[Node, str]]:
    """Each node with its pod CIDR: its own, or the first /24 of `pod_network` (`127.11`) nobody has.

    Raises:
        SandboxError: more nodes than there are such networks, or two nodes of one name.
    """
    listed = list(nodes)
    names = [node.name for node in listed]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SandboxError(f"nodes: {', '.join(twice)} named twice. Give each node a name of its own.")
    if len(listed) > _MOST_NODES:
        raise SandboxError(f"nodes: got {len(listed)}, at most {_MOST_NODES} fit the sandbox's pod network.")
    taken = {node.pod_cidr for node in listed}
    free = (cidr for number in range(1, _MOST_NODES + 1) if (cidr := f"{pod_network}.{number}.0/24") not in taken)
    return [(node, node.pod_cidr or next(free)) for node in listed]


def register(client: Client, nodes: Iterable[Node], pod_network: str) -> None:
    """Create the nodes; kwok makes them Ready within a second or so. A node that exists is left as it is."""
    for node, cidr in with_addresses(nodes, pod_network):
        try:
            client.create(manifest(node, cidr), field_manager=_FIELD_MANAGER)
        except ApiError as error:
            if error.status.code != HTTPStatus.CONFLICT:
                raise


def manifest(node: Node, cidr: str) -> NodeResource:
    own = {
        "kubernetes.io/hostname": node.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    return NodeResource(
        metadata=ObjectMeta(name=node.name, labels={**own, **node.labels}),
        spec=NodeSpec(
            podCIDR=cidr,
            podCIDRs=[cidr],
            taints=[Taint(key=key, value=value, effect=effect) for key, value, effect in node.taints],
        ),
        status=_status(node),  # as a kubelet that registers itself does
    )


def _status(node: Node) -> NodeStatus:
    amounts = {
        "cpu": node.cpu,
        "memory": node.memory,
        "ephemeral-storage": node.ephemeral_storage,
        "pods": str(node.max_pods),
    }
    if node.gpus:
        amounts["nvidia.com/gpu"] = str(node.gpus)
    return NodeStatus(capacity=amounts, allocatable=amounts)
