"""One object that scales a service as the pre-scaler sees it, and who wrote its floor.

It is a ScaledObject, or an HPA that others made and no ScaledObject owns: the decision is the same for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import Struct

from stacks import ownership
from stacks.scaler import Kind

# Source: KEDA 2.21, apis/keda/v1alpha1/scaledobject_types.go (the HPA's default maximum).
DEFAULT_MAX_REPLICAS = 100

# What Go's strconv.ParseBool reads as false; KEDA parses its annotations with it.
FALSE = {"0", "f", "F", "FALSE", "false", "False"}

Writer = Literal["prescale", "builder", "person"]


class Fields(Struct, frozen=True):
    """What one kind calls floor and ceiling below `spec`, and itself where there is little room."""

    minimum: str
    maximum: str
    short: str


FIELDS: Mapping[Kind, Fields] = {
    "ScaledObject": Fields("minReplicaCount", "maxReplicaCount", "ScaledObject"),
    "HorizontalPodAutoscaler": Fields("minReplicas", "maxReplicas", "HPA"),
}


class Observed(Struct, frozen=True):
    """What one read of the API server said.

    `min_writer` is who wrote the floor's field; None where the server did not say. `is_at_zero` says that the HPA rests
    since its target has no replicas; False where KEDA does not say it (before 2.21).
    """

    name: str
    namespace: str
    service: str
    resource_version: str
    min_replicas: int | None
    max_replicas: int = DEFAULT_MAX_REPLICAS
    idle_replicas: int | None = None
    annotations: Mapping[str, str] = {}
    hpa_name: str = ""
    min_writer: Writer | None = None
    is_at_zero: bool = False
    kind: Kind = "ScaledObject"

    @property
    def fields(self) -> Fields:
        return FIELDS[self.kind]

    @property
    def is_adopted(self) -> bool:
        """Whether others made it."""
        return ownership.ADOPTED_ANNOTATION in self.annotations

    @property
    def live(self) -> int:
        """The floor as KEDA reads it: an absent minReplicaCount is 0."""
        return self.min_replicas or 0

    @property
    def paused(self) -> str | None:
        """The annotation that pauses the object, as `name: value`, if one does."""
        for name in (ownership.PAUSED_REPLICAS, ownership.PAUSED):
            if self._is_on(name) or (name == ownership.PAUSED_REPLICAS and name in self.annotations):
                return f"{name}: {self.annotations[name]}"
        return None

    @property
    def starts_nothing(self) -> bool:
        """Whether no replica comes up, however high its floor: it is paused, or an HPA whose target has none."""
        return bool(self.paused) or (self.kind == "HorizontalPodAutoscaler" and self.is_at_zero)

    @property
    def scale_out_paused(self) -> str | None:
        """The annotation that keeps KEDA and its HPA from scaling out, as `name: value`, if it is on."""
        name = ownership.PAUSED_SCALE_OUT
        return f"{name}: {self.annotations[name]}" if self._is_on(name) else None

    @property
    def is_activated(self) -> bool:
        """Whether force-activation is on, by whomever."""
        return self._is_on(ownership.FORCE_ACTIVATION)

    def _is_on(self, name: str) -> bool:
        # KEDA takes any text that is no boolean for true.
        value = self.annotations.get(name)
        return value is not None and value not in FALSE


def observe(scaled_object: Mapping[str, Any]) -> Observed:
    """Read a `keda.sh/v1alpha1` ScaledObject as the API server returns it."""
    metadata = scaled_object["metadata"]
    spec = scaled_object.get("spec") or {}
    status = scaled_object.get("status") or {}
    labels = metadata.get("labels") or {}
    maximum = spec.get("maxReplicaCount")
    return Observed(
        name=metadata["name"],
        namespace=metadata["namespace"],
        service=labels.get(ownership.SERVICE_LABEL, metadata["name"]),
        resource_version=metadata["resourceVersion"],
        min_replicas=spec.get("minReplicaCount"),
        max_replicas=DEFAULT_MAX_REPLICAS if maximum is None else maximum,
        idle_replicas=spec.get("idleReplicaCount"),
        annotations=metadata.get("annotations") or {},
        hpa_name=status.get("hpaName") or _hpa_name(metadata["name"], spec),
        min_writer=_min_writer(metadata, "minReplicaCount"),
        # Source: KEDA 2.21, checkHPAHealth: the condition mirrors the HPA's, and is looked at with every poll.
        is_at_zero=_rests(status, "HPAActive"),
    )


def observe_hpa(hpa: Mapping[str, Any]) -> Observed:
    """Read an `autoscaling/v2` HPA as the API server returns it. Without minReplicas it has 1."""
    metadata, spec = hpa["metadata"], hpa["spec"]
    labels = metadata.get("labels") or {}
    return Observed(
        name=metadata["name"],
        namespace=metadata["namespace"],
        service=labels.get(ownership.SERVICE_LABEL, metadata["name"]),
        resource_version=metadata["resourceVersion"],
        min_replicas=spec.get("minReplicas", 1),
        max_replicas=spec["maxReplicas"],
        annotations=metadata.get("annotations") or {},
        hpa_name=metadata["name"],
        min_writer=_min_writer(metadata, "minReplicas"),
        # Source: Kubernetes 1.34, horizontal.go: of a target at 0 it computes nothing, the floor neither.
        is_at_zero=_rests(hpa.get("status") or {}, "ScalingActive"),
        kind="HorizontalPodAutoscaler",
    )


OBSERVE: Mapping[Kind, Callable[[Mapping[str, Any]], Observed]] = {
    "ScaledObject": observe,
    "HorizontalPodAutoscaler": observe_hpa,
}


def _rests(status: Mapping[str, Any], condition: str) -> bool:
    conditions = status.get("conditions") or []
    return any(item.get("type") == condition and item.get("reason") == "ScalingDisabled" for item in conditions)


def _hpa_name(name: str, spec: Mapping[str, Any]) -> str:
    config = (spec.get("advanced") or {}).get("horizontalPodAutoscalerConfig") or {}
    return config.get("name") or f"keda-hpa-{name}"


def _min_writer(metadata: Mapping[str, Any], minimum: str) -> Writer | None:
    """Who owns the floor, from the server's own book of field owners.

    The builder is known by what only it writes: it applied the baseline annotation (server-side apply; a person's
    patch or edit is an update). A field that a person owns too is the person's.
    """
    owners = _owners(metadata, "f:spec", f"f:{minimum}")
    if not owners:
        return None
    baseline = f"f:{ownership.BASELINE_ANNOTATION}"
    builders = {owner for owner in _owners(metadata, "f:metadata", "f:annotations", baseline) if owner[1] == "Apply"}
    others = {owner for owner in owners if owner[0] != ownership.FIELD_MANAGER}
    if not others:
        return "prescale"
    return "builder" if others <= builders else "person"


def _owners(metadata: Mapping[str, Any], *path: str) -> set[tuple[str, str]]:
    """(manager, operation) of every entry that owns the field at `path`."""
    found: set[tuple[str, str]] = set()
    for entry in metadata.get("managedFields") or []:
        fields: Any = entry.get("fieldsV1") or {}
        for part in path:
            fields = fields.get(part) if isinstance(fields, dict) else None
        if fields is not None:
            found.add((entry.get("manager") or "", entry.get("operation") or ""))
    return found
