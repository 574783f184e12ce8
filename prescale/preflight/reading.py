"""One reading of the cluster: every kind once. Thin; what the objects mean is the checks' business."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeVar

from lightkube.generic_resource import GenericGlobalResource, GenericNamespacedResource, create_api_info
from whenever import Instant

from prescale.api.cluster import Cluster
from prescale.api.objects import Denied
from prescale.api.shapes import AdoptedAutoscalerShape, AutoscalerShape, ScaledObjectShape, checked
from prescale.clock import Clock
from prescale.observed import Observed, observe, observe_hpa
from prescale.orders import store
from prescale.orders.order import NONE, Orders
from prescale.preflight.kinds.meta import S, Shape, typed
from prescale.preflight.seen import AUTOSCALERS, KINDS, SCALED_OBJECTS, Kind, Seen
from prescale.targets import is_of, scaled_object_of
from stacks import scaler
from stacks.reach import OutOfReach

T = TypeVar("T")


@dataclass(frozen=True)
class Reading:
    """`observed` are the objects whose floors are the stack's, as the pre-scaler sees them.

    `orders` are what people ordered of them; `clock` is the server's beside ours.
    """

    seen: Seen
    observed: tuple[Observed, ...]
    clock: Clock
    where: str
    orders: Orders = NONE


def read(cluster: Cluster, stack: str, kinds: Collection[scaler.Kind], now: Instant) -> Reading:
    """List what there is.

    A kind that the API server does not know has no objects; one that it does not show is noted.

    Args:
        kinds: those that hold the floors of the stack.

    Raises:
        OutOfReach: the cluster did not answer as it should, or does not show ScaledObjects that hold floors.
    """
    observed: list[Observed] = []

    def scaled_object(item: dict[str, Any]) -> Shape:
        checked([item], ScaledObjectShape)
        if is_of(stack, item):
            observed.append(observe(item))
        return typed(item, SCALED_OBJECTS.shape)

    def hpa(item: dict[str, Any]) -> Shape:
        checked([item], AutoscalerShape)
        if is_of(stack, item) and scaled_object_of(item) is None:
            checked([item], AdoptedAutoscalerShape)
            observed.append(observe_hpa(item))
        return typed(item, AUTOSCALERS.shape)

    own = {str(SCALED_OBJECTS): scaled_object, str(AUTOSCALERS): hpa}
    objects: dict[str, tuple[Shape, ...]] = {}
    unread: dict[str, str] = {}
    unknown: set[str] = set()
    for kind, is_pointed_to in KINDS:
        if is_pointed_to is not None and not is_pointed_to(Seen(objects, unread)):
            continue
        try:
            each = own.get(str(kind), lambda item, kind=kind: typed(item, kind.shape))
            objects[str(kind)] = tuple(listed(cluster, kind, each))
        except Denied as denied:
            if denied.code == 404:
                unknown.add(str(kind))
            elif kind.name in kinds:
                raise OutOfReach(cluster.address, f"it answered 403: {denied}", f"{_grant(kind)}.") from None
            else:
                unread[str(kind)] = f"Forbidden. {_grant(kind)}"
    orders = store.read(cluster, stack)
    seen = Seen(objects, unread, frozenset(unknown))
    return Reading(seen, tuple(observed), cluster.clock(now), cluster.where, orders)


def listed(cluster: Cluster, kind: Kind[S], each: Callable[[dict[str, Any]], T]) -> list[T]:
    """Every object of one kind, as `each` makes it.

    Raises:
        Denied: the server does not show it; or does not know it, and need not.
        OutOfReach: it does not know what every API server does.
    """
    base = GenericGlobalResource if kind.scope == "cluster" else GenericNamespacedResource
    info = create_api_info(kind.group, kind.version, kind.name, kind.plural)
    resource = type(kind.name, (base,), {"_api_info": info})
    try:
        return cluster.listed(resource, each, everywhere=kind.scope == "every namespace", without=kind.without)
    except Denied as denied:
        if denied.code == 404 and kind.is_of_kubernetes:
            fix = "Is the kubeconfig's address right?"
            raise OutOfReach(cluster.address, f"it does not know {kind}", fix) from None
        raise


def _grant(kind: Kind[Any]) -> str:
    where = "in the stack's namespace" if kind.scope == "namespace" else "by a ClusterRole"
    return f"Give the user the verb list on {kind}, {where}"
