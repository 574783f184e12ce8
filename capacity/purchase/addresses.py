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

LARGEST, SMALLEST = 16, 28
"""Netmasks a subnet may have. Source: as above."""


@dataclass(frozen=True)
class Subnet:
    """What one zone's subnet must hold. `mask` is the smallest that does, None if not even a /16."""

    nodes: int
    addresses_per_node: int
    addresses: int
    mask: int | None


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


def subnet(nodes: int, pods_per_node: int, max_enis: int, ipv4_per_eni: int) -> Subnet:
    """The subnet for `nodes` nodes of one zone with `pods_per_node` pods each, replicas and daemonsets together."""
    each = addresses_per_node(pods_per_node, max_enis, ipv4_per_eni)
    return Subnet(nodes, each, nodes * each, mask_for(nodes * each))


def mask_for(addresses: int) -> int | None:
    """The longest netmask whose subnet has that many addresses beside the reserved ones."""
    fitting = (mask for mask in range(SMALLEST, LARGEST - 1, -1) if 2 ** (32 - mask) - AWS_RESERVED >= addresses)
    return next(fitting, None)
