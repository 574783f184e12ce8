"""Rules between the parts of one platform: each names every place that breaks it."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.faults import Misfit
from stacks.spec import Platform, Service


def misfits(platform: Platform) -> Iterator[Misfit]:
    """Every rule over all services, in the order of the file."""
    for name, service in platform.services.items():
        path = ("services", name)
        yield from _pool_holds(platform, service, path)
        yield from _evidence_is_good_enough(platform, service, path)
        yield from _slots_for_target(service, path)
        yield from _nodes_in_every_zone(platform, service, path)
        yield from _adopted_once(platform, name, service, path)


def _pool_holds(platform: Platform, service: Service, path: tuple[str, ...]) -> Iterator[Misfit]:
    pool = platform.node_pools.get(service.node_pool)
    if pool is None:
        known = ", ".join(platform.node_pools)
        yield Misfit((*path, "node_pool"), service.node_pool, f"one of node_pools: {known}", "Name a pool that exists.")
        return
    sizes = {kind: pool.gpus(kind) for kind in pool.instance_types}
    wanted = service.gpus_per_replica
    # A replica that leaves GPUs over on a node wastes them for good: nothing else may be scheduled there.
    fits = [size for size in range(1, max(sizes.values()) + 1) if any(have % size == 0 for have in sizes.values())]
    if wanted not in fits:
        smaller = [size for size in fits if size < wanted]
        fix = f"Set {smaller[-1] if smaller else fits[0]}, or use a pool with larger nodes."
        expected = f"{_either(fits)} ({_held(sizes)})"
        yield Misfit((*path, "gpus_per_replica"), str(wanted), expected, fix)
        return
    slots = pool.max_nodes * max(have // wanted for have in sizes.values() if have % wanted == 0)
    if service.replicas.max > slots:
        expected = f"at most {slots} (node pool {service.node_pool}: {pool.max_nodes} nodes, {_held(sizes)})"
        fix = f"Lower max to {slots}, or raise node_pools.{service.node_pool}.max_nodes."
        yield Misfit((*path, "replicas", "max"), str(service.replicas.max), expected, fix)


def _held(sizes: dict[str, int]) -> str:
    """`g6e.2xlarge has 1` for each type."""
    return ", ".join(f"{kind} has {gpus}" for kind, gpus in sizes.items())


def _either(numbers: list[int]) -> str:
    return " or ".join(filter(None, [", ".join(str(n) for n in numbers[:-1]), str(numbers[-1])]))


def _evidence_is_good_enough(platform: Platform, service: Service, path: tuple[str, ...]) -> Iterator[Misfit]:
    if platform.production and service.capacity.kind != "measured":
        fix = "Benchmark one replica on the target hardware and name its result files as evidence."
        yield Misfit((*path, "capacity", "kind"), service.capacity.kind, "measured on a production stack", fix)


def _slots_for_target(service: Service, path: tuple[str, ...]) -> Iterator[Misfit]:
    target, slots = service.capacity.in_flight_per_replica, service.engine.max_num_seqs
    # A replica that is full at its target has nothing left until the next is Ready: from there on requests only wait.
    if target >= slots:
        fix = "Raise max_num_seqs, or lower in_flight_per_replica to what was measured with it."
        expected = f"below engine.max_num_seqs ({slots})"
        yield Misfit((*path, "capacity", "in_flight_per_replica"), str(target), expected, fix)


def _nodes_in_every_zone(platform: Platform, service: Service, path: tuple[str, ...]) -> Iterator[Misfit]:
    """In fewer nodes than zones one zone stays empty, and the others then hold one replica each, for good."""
    pool = platform.node_pools.get(service.node_pool)
    if pool and service.zones is not None and service.zones > pool.max_nodes:
        expected = f"at most {pool.max_nodes}, the nodes that node pool {service.node_pool} may have"
        fix = f"Lower zones, or raise node_pools.{service.node_pool}.max_nodes."
        yield Misfit((*path, "zones"), str(service.zones), expected, fix)


def _adopted_once(platform: Platform, name: str, service: Service, path: tuple[str, ...]) -> Iterator[Misfit]:
    """One object has one floor, so it scales one service; and an HPA that rests at 0 is woken by nobody.

    Names differ whatever the kinds: by its name an object is adopted.
    """
    adopted = service.adopted
    if adopted is None:
        return
    if adopted.kind == "ScaledObject" and adopted.name in platform.built:
        expected = f"an object of other hands: Warmline builds ScaledObject {adopted.name} itself"
        yield Misfit((*path, "adopted", "name"), adopted.name, expected, "Name the other one, or rename the service.")
    same = [key for key, other in platform.adopted.items() if other.name == adopted.name]
    if same[0] != name:
        expected = f"an object of its own: services.{same[0]} has this one"
        yield Misfit((*path, "adopted", "name"), adopted.name, expected, "Name the one that scales this service.")
    if adopted.kind == "HorizontalPodAutoscaler" and service.replicas.min == 0:
        # Source: Kubernetes 1.34, HPAScaleToZero is alpha, and an HPA at 0 does nothing.
        yield Misfit((*path, "replicas", "min"), "0", "1 or more, as an HPA has it", "Set min: 1.")
