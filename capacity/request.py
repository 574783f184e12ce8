"""One sizing request, beside what it is made to."""

from __future__ import annotations

from dataclasses import dataclass

from stacks.spec import NodePool, Platform, Service
from stacks.workloads import Workload


@dataclass(frozen=True)
class Request:
    """A product's workload, the service that it names, and the pool that serves it."""

    name: str
    workload: Workload
    service: Service
    pool: NodePool


def made_to(platform: Platform, name: str, workload: Workload) -> Request:
    """`workload`, called `name`, beside what it asks of `platform`, which has the service it names."""
    service = platform.services[workload.service]
    return Request(name, workload, service, platform.node_pools[service.node_pool])
