"""Services of one stack, built as Pulumi builds them, where nothing else acts on them."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from lightkube import ApiError
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Namespace
from lightkube.types import PatchType

from sandbox.reliability.oracle import Service
from sandbox.reliability.stack_on_disk import STACK, ScaledObject, StackOnDisk, write_stack
from stacks import ownership

BUILDER, PERSON = "pulumi-kubernetes-drill", "kubectl-patch"

Autoscaler = create_namespaced_resource("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")


@dataclass
class Ground(StackOnDisk):
    """One stack's objects, in a namespace of their own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        write_stack(self.folder / "stacks" / STACK, self.namespace, self.services)
        with suppress(ApiError):  # another ground of the same name was here before
            self.api.create(Namespace(metadata=ObjectMeta(name=self.namespace)))

    def build(self) -> None:
        """Every object anew, at its baseline.

        Each has an HPA that shows any floor from the start, since nobody is there to follow: no run waits for one.
        """
        self.clear()
        with ThreadPoolExecutor(4) as builders:
            list(builders.map(self._build, self.services))

    def _build(self, service: Service) -> None:
        applied = ScaledObject(**scaled_object(self.namespace, service))
        made = self.api.apply(applied, field_manager=BUILDER, force=True)
        self.api.create(Autoscaler(**_autoscaler(self.namespace, service, made["metadata"]["uid"])))

    def clear(self) -> None:
        """Take every object away."""
        for kind in (Autoscaler, ScaledObject):
            self.api.deletecollection(kind, namespace=self.namespace)

    def patch(self, service: str, patch: Mapping[str, Any], manager: str = PERSON) -> None:
        """What somebody else writes meanwhile."""
        self.api.patch(
            ScaledObject,
            service,
            dict(patch),
            namespace=self.namespace,
            patch_type=PatchType.MERGE,
            field_manager=manager,
        )


def scaled_object(namespace: str, service: Service) -> dict[str, Any]:
    """One as it is built, at its baseline."""
    trigger = {"serverAddress": "http://127.0.0.1:9", "query": "none", "threshold": "40"}
    return {
        "metadata": ObjectMeta(
            name=service.name,
            namespace=namespace,
            labels={ownership.STACK_LABEL: STACK, ownership.SERVICE_LABEL: service.name},
            annotations={ownership.BASELINE_ANNOTATION: str(service.baseline)},
        ),
        "spec": {
            "scaleTargetRef": {"name": service.name},
            "minReplicaCount": service.baseline,
            "maxReplicaCount": service.ceiling,
            "triggers": [{"type": "prometheus", "metadata": trigger}],
        },
    }


def _autoscaler(namespace: str, service: Service, owner: str) -> dict[str, Any]:
    kind = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": service.name, "uid": owner}
    return {
        "metadata": {"name": f"keda-hpa-{service.name}", "namespace": namespace, "ownerReferences": [kind]},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": service.name},
            "minReplicas": service.ceiling,
            "maxReplicas": service.ceiling,
        },
    }
