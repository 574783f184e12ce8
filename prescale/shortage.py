"""Where floors that are in force together need more GPUs than their pool has: no service's own ceiling sees that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from whenever import Instant

from prescale.timetable import Timetable
from stacks.loader import Stack
from stacks.spec import NodePool


@dataclass(frozen=True)
class Shortage:
    """From `since` on, `events` and the baselines beside them need `needed` GPUs of a pool that has `available`.

    Without events the baselines alone do.
    """

    pool: str
    since: Instant
    events: tuple[str, ...]
    needed: int
    available: int


def shortages(stack: Stack, table: Timetable, now: Instant) -> tuple[Shortage, ...]:
    """Every one to come, in the order of pools and time.

    Once for the same events of a pool: from its first moment on, with the most that it comes to need.
    """
    found: dict[tuple[str, tuple[str, ...]], Shortage] = {}
    for name, pool in stack.platform.node_pools.items():
        for shortage in _of_pool(stack, table, now, name, pool):
            first = found.setdefault((name, shortage.events), shortage)
            found[name, shortage.events] = replace(first, needed=max(first.needed, shortage.needed))
    return tuple(found.values())


def _of_pool(stack: Stack, table: Timetable, now: Instant, name: str, pool: NodePool) -> Iterator[Shortage]:
    services = {key: service for key, service in stack.platform.services.items() if service.node_pool == name}
    windows = [window for window in table.windows if window.service in services]
    # Floors only rise where one is raised: a sum that is too high at all is too high at one of these moments.
    for moment in sorted({now, *(max(now, window.raise_at) for window in windows if window.end.to_instant() > now)}):
        events = tuple(dict.fromkeys(window.event for window in windows if window.active(moment)))
        needed = sum(
            table.floor_at(moment, key, service.replicas.min) * service.gpus_per_replica
            for key, service in services.items()
        )
        if needed > pool.most_gpus:
            yield Shortage(name, moment, events, needed, pool.most_gpus)
