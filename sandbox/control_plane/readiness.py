"""Wait until the cluster itself says that a part of it works."""

from __future__ import annotations

import time
from collections.abc import Collection

from lightkube import ApiError, Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.apiregistration_v1 import APIService
from lightkube.resources.core_v1 import Node

from sandbox.control_plane.component import PATIENCE_S
from sandbox.control_plane.keda import NAMESPACE
from sandbox.faults import SandboxError

_POLL_S = 0.2
_ScaledObject = create_namespaced_resource("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects")


def wait_for_metrics_api(client: Client, patience_s: float = PATIENCE_S) -> None:
    """Until the API server reaches KEDA's adapter."""
    name, until = "v1beta1.external.metrics.k8s.io", time.monotonic() + patience_s
    while True:
        service = client.get(APIService, name)
        conditions = (service.status and service.status.conditions) or []
        available = next((condition for condition in conditions if condition.type == "Available"), None)
        if available and available.status == "True":
            return
        if time.monotonic() > until:
            said = f"{available.reason}: {available.message}" if available else "nothing said yet"
            raise SandboxError(f"APIService {name} was not available after {patience_s:.0f} s ({said}).")
        time.sleep(_POLL_S)


def wait_for_admission(dry: Client, patience_s: float = PATIENCE_S) -> None:
    """Until the API server reaches KEDA's webhook: its program is well a moment before it listens there.

    Args:
        dry: a client whose writes are dry runs.
    """
    until = time.monotonic() + patience_s
    while said := _not_reviewed(dry):
        if time.monotonic() > until:
            raise SandboxError(f"KEDA's admission was not reached after {patience_s:.0f} s ({said}).")
        time.sleep(_POLL_S)


def _not_reviewed(dry: Client) -> str | None:
    """Why a ScaledObject was not looked at; None if it was, whatever was said of it."""
    spec = {"scaleTargetRef": {"name": "nothing"}, "triggers": [{"type": "cpu", "metadata": {"value": "1"}}]}
    try:
        dry.create(_ScaledObject(metadata=ObjectMeta(name="reviewed", namespace=NAMESPACE), spec=spec))
    except ApiError as error:
        message = error.status.message or ""
        return message if "failed calling webhook" in message else None
    return None


def wait_for_definitions(client: Client, patience_s: float = PATIENCE_S) -> None:
    """Until every custom resource that is installed is served: KEDA's programs end themselves when theirs are not."""
    until = time.monotonic() + patience_s
    while True:
        missing = [
            str(definition.metadata and definition.metadata.name)
            for definition in client.list(CustomResourceDefinition)
            if not any(
                one.type == "Established" and one.status == "True"
                for one in (definition.status and definition.status.conditions) or []
            )
        ]
        if not missing:
            return
        if time.monotonic() > until:
            raise SandboxError(f"custom resources not served after {patience_s:.0f} s: {', '.join(missing)}.")
        time.sleep(_POLL_S)


def wait_for_nodes(client: Client, names: Collection[str], patience_s: float = PATIENCE_S) -> None:
    """Until every named node is Ready and takes pods."""
    until = time.monotonic() + patience_s
    while True:
        ready = {
            node.metadata.name
            for node in client.list(Node)
            if node.metadata and node.status
            if any(one.type == "Ready" and one.status == "True" for one in node.status.conditions or [])
            if not any(taint.key == "node.kubernetes.io/not-ready" for taint in (node.spec and node.spec.taints) or [])
        }
        missing = sorted(set(names) - ready)
        if not missing:
            return
        if time.monotonic() > until:
            raise SandboxError(f"nodes not Ready after {patience_s:.0f} s: {', '.join(missing)}. See kwok's log.")
        time.sleep(_POLL_S)
