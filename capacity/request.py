"""One sizing request, beside what it is made to."""

from __future__ import annotations

from dataclasses import dataclass

from stacks.spec import NodePool, Service
from stacks.workloads import Workload


@dataclass(frozen=True)
class Request:
    """A product's workload, the service that it names, and the pool that serves it."""

    name: str
    workload: Workload
    service: Service
    pool: NodePool
