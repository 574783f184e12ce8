"""IPv4 addresses that nodes and their pods take from a subnet under the VPC CNI, and the subnet that is large enough.

Every pod that is not on the host's network has an address of its own, and `ipamd` keeps one interface more than it
needs, whole: addresses nobody uses and nobody else can have.

Source: https://github.com/aws/amazon-vpc-cni-k8s/blob/0f77b523b1bdbbd245ae7a92c1850483e677ae0f/docs/eni-and-ip-target.md
(WARM_ENI_TARGET=1, the default), read 2026-11-29.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

AWS_RESERVED = 5
"""The first four and the last address of every subnet. Source: EC2 API CreateSubnet, read 2026-11-29."""

ASSUMED_DAEMONSET_PODS = 6
"""Where nobody says: the GPUs' device plugin, exporters of node and GPUs, logs, storage, and one to spare. The CNI and
kube-proxy are on the host's network."""

LARGEST, SMALLEST = 16, 28
"""Netmasks a subnet may have. Source: as above."""


@dataclass(frozen=True)
class Subnet:
    """What one zone's subnet must hold. `mask` is the smallest that does, None if not even a /16.

    daemonset_pods: on every node, beside the replicas'; assumed where nobody said how many.
    """

    nodes: int
    addresses_per_node: int
    addresses: int
    mask: int | None
    daemonset_pods: int
    daemonset_pods_assumed: bool


def enis(pods: int, max_enis: int, ipv4_per_eni: int) -> int:
    """Interfaces on a node with `pods` pods: those they need and one more, as far as the instance type has them."""
    return min(math.ceil(Fraction(pods, ipv4_per_eni - 1)) + 1, max_enis)


def addresses_per_node(pods: int, max_enis: int, ipv4_per_eni: int) -> int:
    """Addresses a node with `pods` pods takes, its own included; host-network pods do not count.

    Raises:
        ValueError: more pods than the node has addresses for.
    """
    if pods > max_enis * (ipv4_per_eni - 1):
        raise ValueError(f"{pods} pods, but a node has addresses for {max_enis * (ipv4_per_eni - 1)}")
    return enis(pods, max_enis, ipv4_per_eni) * ipv4_per_eni


def subnet(nodes: int, replicas: int, max_enis: int, ipv4_per_eni: int, *, daemonset_pods: int | None) -> Subnet:
    """The subnet for `nodes` nodes of one zone with the pods of `replicas` on each, and of daemonsets.

    Args:
        daemonset_pods: with an address of their own, on each node; None where nobody said.
    """
    daemons = ASSUMED_DAEMONSET_PODS if daemonset_pods is None else daemonset_pods
    each = addresses_per_node(replicas + daemons, max_enis, ipv4_per_eni)
    return Subnet(nodes, each, nodes * each, mask_for(nodes * each), daemons, daemonset_pods is None)


def mask_for(addresses: int) -> int | None:
    """The longest netmask whose subnet has that many addresses beside the reserved ones."""
    fitting = (mask for mask in range(SMALLEST, LARGEST - 1, -1) if 2 ** (32 - mask) - AWS_RESERVED >= addresses)
    return next(fitting, None)
