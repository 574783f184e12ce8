"""A ScaledObject in memory that takes merge patches as the API server does, owners included."""

from __future__ import annotations

from typing import Any

from prescale.observed import Observed, observe
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
    spec = {"minReplicaCount": minimum, "maxReplicaCount": maximum, "idleReplicaCount": idle}
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
    """The object after `patch` by `manager`; a changed minReplicaCount is the manager's from then on."""
    if patch is None:
        return target
    result: dict[str, Any] = merged(target, patch)
    metadata = result["metadata"]
    metadata["resourceVersion"] = str(int(target["metadata"]["resourceVersion"]) + 1)
    changed = result["spec"].get("minReplicaCount") != target["spec"].get("minReplicaCount")
    if changed and metadata.get("managedFields"):
        others = [e for e in metadata["managedFields"] if "f:spec" not in e["fieldsV1"]]
        mine = {"manager": manager, "operation": "Update", "fieldsV1": {"f:spec": {"f:minReplicaCount": {}}}}
        metadata["managedFields"] = [*others, mine]
    return result


def by_a_person(target: dict[str, Any], minimum: int) -> dict[str, Any]:
    return patched(target, {"spec": {"minReplicaCount": minimum}}, "kubectl-patch")


def seen(target: dict[str, Any]) -> Observed:
    return observe(target)
