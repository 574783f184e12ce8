"""Where floors that are in force together need more GPUs than their pool has: no service's own ceiling sees that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from msgspec import structs
from whenever import Instant

from prescale.clock import Clock
from prescale.orders.order import NONE, Orders
from prescale.windows.window import Timetable, Window
from stacks.loader import Stack
from stacks.spec import NodePool


@dataclass(frozen=True)
class Shortage:
    """From `since` on, `events` and the baselines beside them need `needed` GPUs of a pool that has `available`.

    Orders that hold a floor are among the events; without any the baselines alone do. `at_risk` are those of the
    calendar with the lowest priority, if they differ: their floors are to go first, by a person's hand, for nothing is
    lowered here.
    """

    pool: str
    since: Instant
    events: tuple[str, ...]
    needed: int
    available: int
    at_risk: tuple[str, ...] = ()


def shortages(stack: Stack, table: Timetable, now: Instant, orders: Orders = NONE) -> tuple[Shortage, ...]:
    """Every one to come, in the order of pools and time.

    Once for the same events of a pool: from its first moment on, with the most that it comes to need.
    """
    found: dict[tuple[str, tuple[str, ...]], Shortage] = {}
    for name, pool in stack.platform.node_pools.items():
        for shortage in _of_pool(stack, table, now, name, pool, orders=orders):
            first = found.setdefault((name, shortage.events), shortage)
            found[name, shortage.events] = replace(first, needed=max(first.needed, shortage.needed))
    return tuple(found.values())


def _of_pool(
    stack: Stack, table: Timetable, now: Instant, name: str, pool: NodePool, *, orders: Orders
) -> Iterator[Shortage]:
    services = {key: service for key, service in stack.platform.services.items() if service.node_pool == name}
    windows = [window for window in table.windows if window.service in services and not _is_off(window, orders, now)]
    table = structs.replace(table, windows=tuple(windows))
    # Floors only rise where one is raised: a sum that is too high at all is too high at one of these moments.
    to_come = [window for window in windows if window.end.to_instant() > now]
    raises = {max(now, rise.raise_at) for window in to_come for rise in window.all_rises}
    for moment in sorted({now, *raises}):
        ordered = {key: orders.floors(key, Clock(moment)) for key in services}
        names = [window.event for window in windows if window.active(moment)]
        events = tuple(dict.fromkeys([*names, *(order.event for said in ordered.values() for order in said)]))
        needed = sum(
            max([table.floor_at(moment, key, service.replicas.min), *(order.floor for order in ordered[key])])
            * service.gpus_per_replica
            for key, service in services.items()
        )
        if needed > pool.most_gpus:
            at_risk = tuple(_least(window for key in services for window in _governing(table, key, moment)))
            yield Shortage(name, moment, events, needed, pool.most_gpus, at_risk)


def _governing(table: Timetable, service: str, moment: Instant) -> Iterator[Window]:
    """The window whose floor the service has; of equal floors the one that matters most."""
    above = [window for window in table.of(service) if window.floor_at(moment) > window.baseline]
    if above:
        yield max(above, key=lambda window: (window.floor_at(moment), window.priority))


def _least(windows: Iterable[Window]) -> Iterable[str]:
    """Names of those with the lowest priority, none where all have the same."""
    found = list(windows)
    lowest = min((window.priority for window in found), default=0)
    if all(window.priority == lowest for window in found):
        return ()
    return dict.fromkeys(window.event for window in found if window.priority == lowest)


def _is_off(window: Window, orders: Orders, now: Instant) -> bool:
    return orders.cancel(window.event, window.service, Clock(now)) is not None
