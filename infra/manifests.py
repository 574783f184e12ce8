"""The Kubernetes objects inside a render, as they would be applied."""

from __future__ import annotations

from typing import Any

from infra.recording_monitor import Registration
from infra.schemas.check import faults


def is_manifest(registration: Registration) -> bool:
    """Whether it is an object of the cluster; providers and components are not."""
    return registration.custom and registration.type.startswith("kubernetes:")


def manifests(objects: tuple[Registration, ...]) -> list[dict[str, Any]]:
    """All objects of the cluster, in URN order. `pulumi.com/` annotations are applied too, so they are kept."""
    return [item.inputs for item in objects if is_manifest(item)]


def schema_faults(objects: tuple[Registration, ...]) -> list[str]:
    """Every fault of every object."""
    return [fault for manifest in manifests(objects) for fault in faults(manifest)]
