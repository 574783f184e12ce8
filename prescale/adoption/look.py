"""What is read before an object is adopted: it, whatever else scales in its namespace, and the Deployments there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prescale.api.cluster import Cluster
from prescale.api.objects import Denied
from prescale.api.shapes import AdoptedAutoscalerShape, ScaledObjectShape, checked
from prescale.observed import OBSERVE, Observed
from prescale.preflight.kinds.meta import typed
from prescale.preflight.kinds.workload import Autoscaler, Deployment, ScaledObject
from prescale.preflight.reading import listed
from prescale.preflight.seen import AUTOSCALERS, DEPLOYMENTS, SCALED_OBJECTS
from prescale.preflight.seen import Kind as Listed
from prescale.targets import scaled_object_of
from stacks.reach import OutOfReach
from stacks.scaler import Kind

Key = tuple[Kind, str]


@dataclass(frozen=True)
class Scaler:
    """One object that scales something. `of` is the ScaledObject that an HPA belongs to, if it does."""

    observed: Observed
    typed: ScaledObject | Autoscaler
    of: str | None

    @property
    def labels(self) -> Mapping[str, str]:
        return self.typed.metadata.labels

    @property
    def scales(self) -> tuple[str, str]:
        """Kind and name of its target."""
        ref = self.typed.spec.scale_target_ref
        return ref.kind or "Deployment", ref.name

    def __str__(self) -> str:
        return f"{self.observed.fields.short} {self.observed.name}"


@dataclass(frozen=True)
class Look:
    """`deployments` by name; None where they are not shown."""

    scalers: Mapping[Key, Scaler]
    deployments: Mapping[str, Deployment] | None
    where: str


def look(cluster: Cluster) -> Look:
    """Three calls.

    Raises:
        OutOfReach: the cluster did not answer, or does not show what scales there.
    """
    scalers: dict[Key, Scaler] = {}
    kinds: tuple[tuple[Kind, Listed[Any], Any], ...] = (
        ("ScaledObject", SCALED_OBJECTS, ScaledObjectShape),
        ("HorizontalPodAutoscaler", AUTOSCALERS, AdoptedAutoscalerShape),
    )
    for kind, what, shape in kinds:

        def each(item: dict[str, Any], kind: Kind = kind, what: Listed[Any] = what, shape: Any = shape) -> Scaler:
            checked([item], shape)
            owner = scaled_object_of(item) if kind == "HorizontalPodAutoscaler" else None
            return Scaler(OBSERVE[kind](item), typed(item, what.shape), owner)

        try:
            scalers |= {(kind, one.observed.name): one for one in listed(cluster, what, each)}
        except Denied as denied:
            if denied.code == 403:  # a cluster without KEDA has no ScaledObjects
                fix = f"Give the user the verb list on {what}, in the stack's namespace."
                raise OutOfReach(cluster.address, f"it answered 403: {denied}", fix) from None
    return Look(scalers, _deployments(cluster), cluster.where)


def _deployments(cluster: Cluster) -> dict[str, Deployment] | None:
    try:
        found = listed(cluster, DEPLOYMENTS, lambda item: typed(item, Deployment))
    except Denied:
        return None
    return {item.metadata.name: item for item in found}
