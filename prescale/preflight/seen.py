"""Which kinds preflight reads, and what a reading of them holds: the objects, or why they could not be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, cast

from prescale.preflight.kinds.meta import Meta, S, Shape
from prescale.preflight.kinds.node import (
    ApiService,
    Node,
    PersistentVolume,
    PriorityClass,
    StorageClass,
    WebhookConfiguration,
)
from prescale.preflight.kinds.pod import Pod
from prescale.preflight.kinds.policy import Application, Claim, DisruptionBudget, LimitRange, ResourceQuota
from prescale.preflight.kinds.workload import (
    Autoscaler,
    DaemonSet,
    Deployment,
    ScaledObject,
    TriggerAuthentication,
)

Scope = Literal["namespace", "every namespace", "cluster"]


@dataclass(frozen=True)
class Kind(Generic[S]):
    """One kind, and where it is listed: the stack's namespace, all of them, or what has none.

    `without` are fields, and values of them with which an object is not wanted.
    """

    shape: type[S]
    group: str
    version: str
    name: str
    plural: str
    scope: Scope
    without: Mapping[str, list[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def is_of_kubernetes(self) -> bool:
        """Whether every API server serves it. Source: Kubernetes, API groups: such names are reserved for its own."""
        return "." not in self.group or self.group.endswith(".k8s.io")


SCALED_OBJECTS = Kind(ScaledObject, "keda.sh", "v1alpha1", "ScaledObject", "scaledobjects", "namespace")
DEPLOYMENTS = Kind(Deployment, "apps", "v1", "Deployment", "deployments", "namespace")
AUTOSCALERS = Kind(Autoscaler, "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "namespace")
DAEMON_SETS = Kind(DaemonSet, "apps", "v1", "DaemonSet", "daemonsets", "namespace")
# Of every namespace: whoever holds a GPU of the pool, holds it.
PODS = Kind(Pod, "", "v1", "Pod", "pods", "every namespace", {"status.phase": ["Succeeded", "Failed"]})
NODES = Kind(Node, "", "v1", "Node", "nodes", "cluster")
QUOTAS = Kind(ResourceQuota, "", "v1", "ResourceQuota", "resourcequotas", "namespace")
LIMIT_RANGES = Kind(LimitRange, "", "v1", "LimitRange", "limitranges", "namespace")
BUDGETS = Kind(DisruptionBudget, "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "namespace")
PRIORITIES = Kind(PriorityClass, "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "cluster")
API_SERVICES = Kind(ApiService, "apiregistration.k8s.io", "v1", "APIService", "apiservices", "cluster")
WEBHOOKS = Kind(
    WebhookConfiguration,
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    "cluster",
)
CLAIMS = Kind(Claim, "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "namespace")
VOLUMES = Kind(PersistentVolume, "", "v1", "PersistentVolume", "persistentvolumes", "cluster")
STORAGE = Kind(StorageClass, "storage.k8s.io", "v1", "StorageClass", "storageclasses", "cluster")
AUTHENTICATIONS = Kind(
    TriggerAuthentication,
    "keda.sh",
    "v1alpha1",
    "TriggerAuthentication",
    "triggerauthentications",
    "namespace",
)
CLUSTER_AUTHENTICATIONS = Kind(
    TriggerAuthentication,
    "keda.sh",
    "v1alpha1",
    "ClusterTriggerAuthentication",
    "clustertriggerauthentications",
    "cluster",
)
APPLICATIONS = Kind(Application, "argoproj.io", "v1alpha1", "Application", "applications", "every namespace")


class NotSeen(Exception):  # noqa: N818 - it names the state
    """A kind that could not be read was asked for; the text says why, and what to do."""


@dataclass(frozen=True)
class Seen:
    """One reading. A kind that nothing in the others points to was not listed, and has no objects here.

    `unknown` are kinds that the API server does not know.
    """

    objects: Mapping[str, tuple[Shape, ...]]
    unread: Mapping[str, str]
    unknown: frozenset[str] = frozenset()

    def of(self, kind: Kind[S]) -> tuple[S, ...]:
        """All objects of a kind.

        Raises:
            NotSeen: it could not be read.
        """
        if str(kind) in self.unread:
            raise NotSeen(self.unread[str(kind)])
        return cast("tuple[S, ...]", self.objects.get(str(kind), ()))

    def could_read(self, kind: Kind[Any]) -> bool:
        return str(kind) not in self.unread

    def as_far_as_shown(self, kind: Kind[S]) -> tuple[S, ...]:
        """All objects of a kind; none where it could not be read."""
        return self.of(kind) if self.could_read(kind) else ()


Pointed = Callable[[Seen], bool]


def _templates(seen: Seen) -> list[Any]:
    return [item.spec.template.spec for item in seen.as_far_as_shown(DEPLOYMENTS)]


def names_claims(seen: Seen) -> bool:
    volumes = (volume for spec in _templates(seen) for volume in spec.volumes)
    return any(volume.persistent_volume_claim or volume.ephemeral for volume in volumes)


def names_authentications(kind: str) -> Pointed:
    """Whether a trigger names one of `kind`."""

    def named(seen: Seen) -> bool:
        return any(
            trigger.authentication_ref is not None and trigger.authentication_ref.kind == kind
            for item in seen.as_far_as_shown(SCALED_OBJECTS)
            for trigger in item.spec.triggers
        )

    return named


def is_tracked_by_argo(seen: Seen) -> bool:
    found = [item.metadata for item in seen.as_far_as_shown(SCALED_OBJECTS)]
    found += [item.metadata for item in seen.as_far_as_shown(AUTOSCALERS)]
    return any(argo_application(metadata) is not None for metadata in found)


def argo_application(metadata: Meta) -> str | None:
    """The Argo CD Application that an object belongs to, as far as its labels and annotations say one.

    Source: Argo CD 3.2, resource tracking (tracking-id is `application:group/kind:namespace/name`).
    """
    tracking = metadata.annotations.get("argocd.argoproj.io/tracking-id")
    if tracking:
        return tracking.partition(":")[0]
    for label in ("argocd.argoproj.io/instance", "app.kubernetes.io/instance"):
        if label in metadata.labels:
            return metadata.labels[label]
    return None


KINDS: tuple[tuple[Kind[Any], Pointed | None], ...] = (
    (SCALED_OBJECTS, None),
    (DEPLOYMENTS, None),
    (AUTOSCALERS, None),
    (DAEMON_SETS, None),
    (PODS, None),
    (NODES, None),
    (QUOTAS, None),
    (LIMIT_RANGES, None),
    (BUDGETS, None),
    (PRIORITIES, None),
    (API_SERVICES, None),
    (WEBHOOKS, None),
    (CLAIMS, names_claims),
    (VOLUMES, names_claims),
    (STORAGE, names_claims),
    (AUTHENTICATIONS, names_authentications("TriggerAuthentication")),
    (CLUSTER_AUTHENTICATIONS, names_authentications("ClusterTriggerAuthentication")),
    (APPLICATIONS, is_tracked_by_argo),
)
"""Every kind, in the order they are listed, each once: always, or only where what was read before points to it."""
