"""What `adopt` writes on an object that others made, and how it is taken off again. Pure."""

from __future__ import annotations

from typing import Any

from prescale.observed import Observed
from stacks import ownership

LABELS = (ownership.STACK_LABEL, ownership.SERVICE_LABEL)
ANNOTATIONS = (ownership.BASELINE_ANNOTATION, ownership.ADOPTED_ANNOTATION)


def put_on(
    observed: Observed, labels: dict[str, str], *, stack: str, service: str, baseline: int, by: str
) -> dict[str, Any] | None:
    """The merge patch that adopts it; None where it is adopted so. Who did first is kept."""
    said = {ownership.BASELINE_ANNOTATION: str(baseline)}
    if not observed.is_adopted:
        said[ownership.ADOPTED_ANNOTATION] = by
    wanted = {ownership.STACK_LABEL: stack, ownership.SERVICE_LABEL: service}
    metadata = {
        "labels": {key: value for key, value in wanted.items() if labels.get(key) != value},
        "annotations": {key: value for key, value in said.items() if observed.annotations.get(key) != value},
    }
    changed: dict[str, Any] = {key: value for key, value in metadata.items() if value}
    return {"metadata": {**changed, "resourceVersion": observed.resource_version}} if changed else None


def taken_off(observed: Observed, patch: dict[str, Any] | None) -> dict[str, Any]:
    """`patch`, which takes the object to its baseline, and all our marks off: nothing of ours is left."""
    metadata = dict((patch or {}).get("metadata") or {})
    metadata["labels"] = dict.fromkeys(LABELS)
    metadata["annotations"] = {**metadata.get("annotations", {}), **dict.fromkeys(ANNOTATIONS)}
    metadata["resourceVersion"] = observed.resource_version
    return {**(patch or {}), "metadata": metadata}
