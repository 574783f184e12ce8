"""A ScaledObject or an HPA in memory that takes merge patches as the API server does, owners included."""

from __future__ import annotations

from typing import Any

from prescale.observed import Observed, observe, observe_hpa
from stacks import ownership


def merged(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def scaled_object(
    minimum: int | None = 2,
    maximum: int | None = 16,
    baseline: str | None = "2",
    *,
    annotations: dict[str, str] | None = None,
    owner: tuple[str, str] | None = ("pulumi-kubernetes-1", "Apply"),
    idle: int | None = None,
    name: str = "support-bot",
    stack: str = "local",
) -> dict[str, Any]:
    """As the builder leaves it, and `owner` wrote minReplicaCount."""
    notes = {**({ownership.BASELINE_ANNOTATION: baseline} if baseline is not None else {}), **(annotations or {})}
    spec: dict[str, Any] = {"minReplicaCount": minimum, "maxReplicaCount": maximum, "idleReplicaCount": idle}
    spec["scaleTargetRef"] = {"name": name}
    managed = []
    if owner:
        fields: Any = {"f:metadata": {"f:annotations": {f"f:{ownership.BASELINE_ANNOTATION}": {}}}}
        managed = [
            {"manager": "pulumi-kubernetes-1", "operation": "Apply", "fieldsV1": fields},
            {"manager": owner[0], "operation": owner[1], "fieldsV1": {"f:spec": {"f:minReplicaCount": {}}}},
        ]
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {
            "name": name,
            "namespace": "serving",
            "resourceVersion": "1",
            "labels": {ownership.STACK_LABEL: stack, ownership.SERVICE_LABEL: name},
            "annotations": notes,
            "managedFields": managed,
        },
        "spec": {key: value for key, value in spec.items() if value is not None},
    }


def patched(
    target: dict[str, Any], patch: dict[str, Any] | None, manager: str = ownership.FIELD_MANAGER
) -> dict[str, Any]:
    """The object after `patch` by `manager`; a changed minimum is the manager's from then on."""
    if patch is None:
        return target
    result: dict[str, Any] = merged(target, patch)
    metadata = result["metadata"]
    metadata["resourceVersion"] = str(int(target["metadata"]["resourceVersion"]) + 1)
    minimum = minimum_of(target)
    changed = result["spec"].get(minimum) != target["spec"].get(minimum)
    if changed and metadata.get("managedFields"):
        others = [e for e in metadata["managedFields"] if "f:spec" not in e["fieldsV1"]]
        mine = {"manager": manager, "operation": "Update", "fieldsV1": {"f:spec": {f"f:{minimum}": {}}}}
        metadata["managedFields"] = [*others, mine]
    return result


def by_a_person(target: dict[str, Any], minimum: int) -> dict[str, Any]:
    return patched(target, {"spec": {minimum_of(target): minimum}}, "kubectl-patch")


def seen(target: dict[str, Any]) -> Observed:
    return observe_hpa(target) if is_hpa(target) else observe(target)


def is_hpa(target: dict[str, Any]) -> bool:
    return bool(target["kind"] == "HorizontalPodAutoscaler")


def minimum_of(target: dict[str, Any]) -> str:
    """What the kind calls its minimum."""
    return "minReplicas" if is_hpa(target) else "minReplicaCount"


BY = {ownership.ADOPTED_ANNOTATION: "alice@laptop"}


def foreign(
    kind: str = "ScaledObject", minimum: int | None = 2, maximum: int = 16, *, name: str = "vllm", **metadata: Any
) -> dict[str, Any]:
    """As others leave it: no mark of ours, and their minimum."""
    low, high = ("minReplicaCount", "maxReplicaCount") if kind == "ScaledObject" else ("minReplicas", "maxReplicas")
    spec: dict[str, Any] = {
        high: maximum,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
    }
    if minimum is not None:
        spec[low] = minimum
    managed = [{"manager": "kubectl-create", "operation": "Update", "fieldsV1": {"f:spec": {f"f:{low}": {}}}}]
    version = "keda.sh/v1alpha1" if kind == "ScaledObject" else "autoscaling/v2"
    known = {"name": name, "namespace": "serving", "resourceVersion": "1", "managedFields": managed}
    return {"apiVersion": version, "kind": kind, "metadata": known | metadata, "spec": spec}


def adopted_hpa(
    minimum: int | None = 2,
    maximum: int = 16,
    baseline: str = "2",
    *,
    name: str = "vllm",
    service: str = "support-bot",
    annotations: dict[str, str] | None = None,
) -> dict[str, Any]:
    """As `adopt` leaves an HPA."""
    notes = {ownership.BASELINE_ANNOTATION: baseline, **BY, **(annotations or {})}
    labels = {ownership.STACK_LABEL: "local", ownership.SERVICE_LABEL: service}
    return foreign("HorizontalPodAutoscaler", minimum, maximum, name=name, labels=labels, annotations=notes)


def deployment(name: str = "vllm", **labels: str) -> dict[str, Any]:
    """One whose pods carry `labels`, and one more that its selector does not ask for."""
    selected = labels or {"app": name}
    template = {"metadata": {"labels": selected | {"team": "ml"}}, "spec": {"containers": [{"name": "engine"}]}}
    return {
        "metadata": {"name": name, "namespace": "serving"},
        "spec": {"selector": {"matchLabels": selected}, "template": template},
    }
