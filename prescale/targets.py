"""The objects of one stack whose floors are ours: ScaledObjects, and HPAs that were adopted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from prescale.api.objects import NoKeda, Objects
from prescale.observed import Observed, observe, observe_hpa
from stacks import ownership
from stacks.scaler import Kind, Scaler


@dataclass(frozen=True)
class Targets:
    """What one look found: the objects by name, and HPA name -> minReplicas in force; None where no HPA was listed.

    Without KEDA there are no ScaledObjects, and can be none.
    """

    observed: tuple[Observed, ...]
    minimums: Mapping[str, int] | None = None
    has_keda: bool = True


def kinds_of(services: Collection[str], adopted: Mapping[str, Scaler]) -> frozenset[Kind]:
    """The kinds that hold the floors of `services`: what is built has a ScaledObject."""
    built = any(service not in adopted for service in services) or not services
    kinds: set[Kind] = {"ScaledObject"} if built else set()
    return frozenset(kinds | {one.kind for one in adopted.values()})


def read(objects: Objects, stack: str, kinds: Collection[Kind]) -> Targets:
    """Every object that carries the stack's label, in one call for each of `kinds`.

    All HPAs of the namespace are listed, where any is: they are also what shows whether the floors are in force.

    Raises:
        NoKeda: ScaledObjects are asked for in a cluster that does not know them.
        OutOfReach: the cluster did not answer.
    """
    found: list[Observed] = []
    minimums = None
    if "ScaledObject" in kinds:
        found += map(observe, objects.scaled_objects(stack))
    if "HorizontalPodAutoscaler" in kinds:
        hpas = objects.hpas()
        minimums = minimums_of(hpas)
        # KEDA copies a ScaledObject's labels to its HPA, and rewrites what anybody else writes there.
        found += [observe_hpa(item) for item in hpas if is_of(stack, item) and scaled_object_of(item) is None]
    return Targets(tuple(sorted(found, key=lambda one: (one.name, one.kind))), minimums)


def there(objects: Objects, stack: str, kinds: frozenset[Kind]) -> Targets:
    """As `read`; of a cluster without KEDA all else that there is."""
    try:
        return read(objects, stack, kinds)
    except NoKeda:
        return replace(read(objects, stack, kinds - {"ScaledObject"}), has_keda=False)


def with_minimums(
    objects: Objects, stack: str, services: Collection[str], adopted: Mapping[str, Scaler]
) -> tuple[Targets, Mapping[str, int]]:
    """What there is, with KEDA or without, and what every HPA shows: listed once more where `read` did not.

    Raises:
        OutOfReach: the cluster did not answer.
    """
    found = there(objects, stack, kinds_of(services, adopted))
    return found, minimums_of(objects.hpas()) if found.minimums is None else found.minimums


def is_of(stack: str, item: Mapping[str, Any]) -> bool:
    """Whether an object carries the stack's label."""
    return bool((item["metadata"].get("labels") or {}).get(ownership.STACK_LABEL) == stack)


def scaled_object_of(hpa: Mapping[str, Any]) -> str | None:
    """The ScaledObject that an HPA is of; None of one that KEDA did not make and does not own."""
    metadata = hpa["metadata"]
    owners = (one["name"] for one in metadata.get("ownerReferences") or [] if one["kind"] == "ScaledObject")
    return next(owners, None) or (metadata.get("labels") or {}).get(ownership.SCALED_OBJECT_LABEL)


def minimums_of(hpas: Collection[Mapping[str, Any]]) -> dict[str, int]:
    """HPA name -> minReplicas in force; absent means 1."""
    return {item["metadata"]["name"]: (item.get("spec") or {}).get("minReplicas", 1) for item in hpas}


def running_of(hpas: Collection[Mapping[str, Any]]) -> dict[str, int]:
    """HPA name -> replicas of its target as it last saw them."""
    return {item["metadata"]["name"]: (item.get("status") or {}).get("currentReplicas", 0) for item in hpas}
