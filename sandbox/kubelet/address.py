"""Pod addresses: one from the node's own podCIDR, on loopback, never one in use. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection


class NoAddressError(Exception):
    """The node's podCIDR is missing, not loopback, or used up."""


def next_address(pod_cidr: str | None, used: Collection[str], last: str | None) -> str:
    """The first free address after `last`, so that an address rests before it is given again.

    Args:
        pod_cidr: the node's, for example 127.10.1.0/24; the first two and the last address are left out.
        used: addresses of the node's living pods.
        last: address given before, None at first.

    Raises:
        NoAddressError: says why there is none.
    """
    network = _loopback_network(pod_cidr)
    first, beyond = int(network.network_address) + 2, int(network.broadcast_address)
    size = beyond - first
    start = int(ipaddress.IPv4Address(last)) - first + 1 if last else 0
    for step in range(size):
        candidate = str(ipaddress.IPv4Address(first + (start + step) % size))
        if candidate not in used:
            return candidate
    raise NoAddressError(f"podCIDR {pod_cidr} has no free address")


def is_loopback_network(pod_cidr: str | None) -> bool:
    """Whether pods of such a node can only be on this machine; no real node has such a network."""
    try:
        _loopback_network(pod_cidr)
    except (NoAddressError, ValueError):
        return False
    return True


def _loopback_network(pod_cidr: str | None) -> ipaddress.IPv4Network:
    if not pod_cidr:
        raise NoAddressError("the node has no spec.podCIDR; give it one such as 127.10.1.0/24")
    network = ipaddress.ip_network(pod_cidr)
    if not isinstance(network, ipaddress.IPv4Network) or not network.is_loopback or network.num_addresses < 4:
        raise NoAddressError(f"podCIDR {pod_cidr}: expected a loopback network such as 127.10.1.0/24")
    return network
