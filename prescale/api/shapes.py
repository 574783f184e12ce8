"""What of an API server's answer is relied upon. An answer of another shape is none of a Kubernetes API server's.

Only checked, and given on as plain dictionaries; fields are Kubernetes' own, and those not named here may be anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec


class _Owner(msgspec.Struct):
    manager: str | None = None
    operation: str | None = None
    fieldsV1: dict[str, Any] | None = None  # noqa: N815


class _Named(msgspec.Struct):
    name: str


class _Metadata(_Named, kw_only=True):
    namespace: str
    resourceVersion: str  # noqa: N815
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    managedFields: list[_Owner] | None = None  # noqa: N815


class _HpaConfig(msgspec.Struct):
    name: str | None = None


class _Advanced(msgspec.Struct):
    horizontalPodAutoscalerConfig: _HpaConfig | None = None  # noqa: N815


class _ScaledObjectSpec(msgspec.Struct):
    minReplicaCount: int | None = None  # noqa: N815
    maxReplicaCount: int | None = None  # noqa: N815
    idleReplicaCount: int | None = None  # noqa: N815
    advanced: _Advanced | None = None


class _Condition(msgspec.Struct):
    type: str
    status: str
    reason: str | None = None


class _ScaledObjectStatus(msgspec.Struct):
    hpaName: str | None = None  # noqa: N815
    conditions: list[_Condition] | None = None


class ScaledObjectShape(msgspec.Struct):
    metadata: _Metadata
    spec: _ScaledObjectSpec | None = None
    status: _ScaledObjectStatus | None = None


class _OwnerReference(_Named):
    kind: str


class _AutoscalerMetadata(_Named):
    labels: dict[str, str] | None = None
    ownerReferences: list[_OwnerReference] | None = None  # noqa: N815


class _AutoscalerSpec(msgspec.Struct):
    minReplicas: int = 1  # noqa: N815


class _AutoscalerStatus(msgspec.Struct):
    currentReplicas: int = 0  # noqa: N815


class AutoscalerShape(msgspec.Struct):
    metadata: _AutoscalerMetadata
    spec: _AutoscalerSpec | None = None
    status: _AutoscalerStatus | None = None


class _AdoptedSpec(msgspec.Struct):
    maxReplicas: int  # noqa: N815
    minReplicas: int = 1  # noqa: N815


class _AdoptedStatus(msgspec.Struct):
    currentReplicas: int = 0  # noqa: N815
    conditions: list[_Condition] | None = None


class AdoptedAutoscalerShape(msgspec.Struct):
    """Of an HPA whose floor is ours, or may be."""

    metadata: _Metadata
    spec: _AdoptedSpec
    status: _AdoptedStatus | None = None


class ConfigMapShape(msgspec.Struct):
    metadata: _Metadata
    data: dict[str, str] | None = None


class _PodMetadata(_Named, kw_only=True):
    creationTimestamp: datetime  # noqa: N815
    labels: dict[str, str] | None = None


class _Port(msgspec.Struct):
    containerPort: int  # noqa: N815
    name: str | None = None


class _Container(msgspec.Struct):
    ports: list[_Port] | None = None


class _PodSpec(msgspec.Struct):
    containers: list[_Container] | None = None


class _PodStatus(msgspec.Struct):
    phase: str | None = None
    podIP: str | None = None  # noqa: N815
    conditions: list[_Condition] | None = None


class PodShape(msgspec.Struct):
    metadata: _PodMetadata
    spec: _PodSpec | None = None
    status: _PodStatus | None = None


def checked(items: Iterable[dict[str, Any]], shape: type[msgspec.Struct]) -> list[dict[str, Any]]:
    """The items as they are.

    Raises:
        msgspec.ValidationError: one is not of the shape.
    """
    found = list(items)
    for item in found:
        msgspec.convert(item, shape)
    return found
