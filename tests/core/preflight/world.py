"""A cluster as `pulumi up` of stack local, KEDA and the kubelets leave it, as JSON that a test may bend."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from whenever import Instant

from infra.manifests import manifests
from infra.render import render
from prescale.api.shapes import ScaledObjectShape, checked
from prescale.clock import Clock
from prescale.observed import observe, observe_hpa
from prescale.orders.order import Order, Orders
from prescale.preflight.finding import Report
from prescale.preflight.judging import judge
from prescale.preflight.kinds.meta import typed
from prescale.preflight.moments import ahead, called_off
from prescale.preflight.reading import Reading
from prescale.preflight.scene import scene
from prescale.preflight.seen import API_SERVICES, AUTOSCALERS, KINDS, WEBHOOKS, Seen
from prescale.targets import is_of, scaled_object_of
from prescale.windows.timetable import timetable
from sandbox.control_plane.nodes import manifest as node_manifest
from sandbox.for_stack import nodes_of
from stacks.loader import Stack, load_stack

NOW = Instant.parse_iso("2027-10-20T12:00:00Z")
"""Nine days before stack local's sale, which asks for 7 replicas."""
FLOOR, BASELINE = 7, 2
NAME, SPACE = "support-bot", "serving"
HASH = "6d5f8c7b9"
Json = dict[str, Any]
Bend = Callable[["World"], object]


@dataclass
class World:
    """Objects by kind, each as the API server would return it.

    `unread` are kinds that it does not show, `unknown` those that it does not know.
    """

    stack: Stack
    objects: dict[str, list[Json]]
    unread: dict[str, str] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()
    clock: Clock = field(default_factory=lambda: Clock(NOW))
    now: Instant = NOW
    orders: tuple[Order, ...] = ()
    unreadable_orders: tuple[str, ...] = ()

    def one(self, kind: str, name: str = NAME) -> Json:
        (found,) = [item for item in self.objects[kind] if item["metadata"]["name"] == name]
        return found

    @property
    def scaled_object(self) -> Json:
        return self.one("scaledobjects.keda.sh")

    @property
    def deployment(self) -> Json:
        return self.one("deployments.apps")

    @property
    def template(self) -> Json:
        spec: Json = self.deployment["spec"]["template"]["spec"]
        return spec

    @property
    def engine(self) -> Json:
        container: Json = self.template["containers"][0]
        return container

    @property
    def hpa(self) -> Json:
        return self.one("horizontalpodautoscalers.autoscaling", f"keda-hpa-{NAME}")

    @property
    def budget(self) -> Json:
        return self.one("poddisruptionbudgets.policy")

    @property
    def trigger(self) -> Json:
        trigger: Json = self.scaled_object["spec"]["triggers"][0]
        return trigger

    @property
    def nodes(self) -> list[Json]:
        return self.objects["nodes"]

    @property
    def pods(self) -> list[Json]:
        return self.objects["pods"]

    def add(self, kind: str, name: str, **fields: Any) -> Json:
        """One more object of a kind, in the stack's namespace."""
        made: Json = {"metadata": {"name": name, "namespace": SPACE, "resourceVersion": "1"}, **copy.deepcopy(fields)}
        self.objects.setdefault(kind, []).append(made)
        return made

    def keep_nodes(self, count: int) -> None:
        """Fewer nodes: those on which the pods run, and others; the DaemonSet covers them all."""
        del self.nodes[count:]
        for item in self.objects["daemonsets.apps"]:
            item["status"] = _everywhere(count)

    def guest(self, node: str, name: str = "guest", gpus: int = 1, priority: int = 0, **metadata: Any) -> Json:
        """Somebody else's pod with GPUs on a node."""
        container = {"name": "train", "image": "train", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
        spec = {"nodeName": node, "priority": priority, "containers": [container]}
        made = {"metadata": {"name": name, "namespace": "batch", **metadata}, "spec": spec}
        self.pods.append(made)
        return made

    def take_keda_away(self) -> None:
        """Its kinds, its servers, and the HPAs it made."""
        self.unknown = frozenset(str(kind) for kind, _ in KINDS if kind.group == "keda.sh")
        for kind in (*self.unknown, str(API_SERVICES), str(WEBHOOKS)):
            self.objects[kind] = []
        hpas = self.objects[str(AUTOSCALERS)]
        hpas[:] = [item for item in hpas if "ownerReferences" not in item["metadata"]]

    def report(self, event: str | None = None) -> Report:
        reading = self.reading()
        table = called_off(timetable(self.stack, self.now), reading.orders, reading.clock)
        moments = ahead(self.stack, table, self.now, event)
        return judge([scene(self.stack, table, reading, moment, self.now) for moment in moments])

    def reading(self) -> Reading:
        objects = {
            str(kind): tuple(typed(item, kind.shape) for item in self.objects.get(str(kind), ()))
            for kind, _ in KINDS
            if str(kind) not in self.unread
        }
        own = [
            observe(item)
            for item in checked(self.objects["scaledobjects.keda.sh"], ScaledObjectShape)
            if is_of(self.stack.name, item)
        ]
        hpas = (item for item in self.objects["horizontalpodautoscalers.autoscaling"] if is_of(self.stack.name, item))
        own += [observe_hpa(item) for item in hpas if scaled_object_of(item) is None]
        return Reading(
            Seen(objects, self.unread, self.unknown),
            tuple(own),
            self.clock,
            "the cluster",
            Orders(self.orders, self.unreadable_orders),
        )


def world(root: Path | None = None) -> World:
    """A sound one, for this test alone. `root` holds the stack's files where they are not the shipped ones."""
    stack = load_stack("local", root or Path(__file__).parents[3] / "stacks")
    if root is None:
        return World(stack, copy.deepcopy(_shipped()))
    return World(stack, built(stack))


@cache
def _shipped() -> dict[str, list[Json]]:
    return built(load_stack("local", Path(__file__).parents[3] / "stacks"))


PLURALS = {
    "ScaledObject": "scaledobjects.keda.sh",
    "Deployment": "deployments.apps",
    "DaemonSet": "daemonsets.apps",
    "PodDisruptionBudget": "poddisruptionbudgets.policy",
}


def built(stack: Stack) -> dict[str, list[Json]]:
    """What `pulumi up` makes, with what others add to it."""
    objects: dict[str, list[Json]] = {str(kind): [] for kind, _ in KINDS}
    for item in copy.deepcopy(manifests(render(stack.name, stack.platform).objects)):
        if item["kind"] in PLURALS:
            item["metadata"] |= {"resourceVersion": "1", "generation": 1}
            objects[PLURALS[item["kind"]]].append(item)
    objects["nodes"] = [_node(node) for node in nodes_of(stack.platform)]
    for item in objects["daemonsets.apps"]:
        item["status"] = _everywhere(len(objects["nodes"]))
    for item in objects["scaledobjects.keda.sh"]:
        _scaled(item, objects)
    objects["priorityclasses.scheduling.k8s.io"] = [
        {"metadata": {"name": "system-node-critical"}, "value": 2000001000},
        {"metadata": {"name": "system-cluster-critical"}, "value": 2000000000},
    ]
    objects["apiservices.apiregistration.k8s.io"] = [
        {
            "metadata": {"name": "v1beta1.external.metrics.k8s.io"},
            "status": {"conditions": [{"type": "Available", "status": "True", "reason": "Passed"}]},
        }
    ]
    rules = [{"apiGroups": ["keda.sh"], "resources": ["scaledobjects"]}]
    hooks = [{"name": "vscaledobject.kb.io", "rules": rules}]
    objects["validatingwebhookconfigurations.admissionregistration.k8s.io"] = [
        {"metadata": {"name": "keda-admission"}, "webhooks": hooks}
    ]
    return objects


def _node(node: Any) -> Json:
    made: Json = node_manifest(node, "10.0.0.0/24").to_dict()
    made["status"]["conditions"] = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
    return made


def _everywhere(nodes: int) -> Json:
    return {"desiredNumberScheduled": nodes, "numberReady": nodes, "updatedNumberScheduled": nodes}


def _scaled(item: Json, objects: dict[str, list[Json]]) -> None:
    """What KEDA, its HPA, the controllers and the kubelets make of one ScaledObject."""
    name, spec = item["metadata"]["name"], item["spec"]
    least = spec["minReplicaCount"]
    item["status"] = {
        "hpaName": f"keda-hpa-{name}",
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "ScaledObjectReady"},
            {"type": "Active", "status": "True", "reason": "ScalerActive"},
            {"type": "Fallback", "status": "False", "reason": "NoFallbackFound"},
        ],
        "health": {"s0-prometheus": {"numberOfFailures": 0, "status": "Happy"}},
    }
    hpa_spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
        "minReplicas": max(least, 1),
        "maxReplicas": spec["maxReplicaCount"],
        "behavior": spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"],
    }
    conditions = [
        {"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"},
        {"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound"},
    ]
    owners = [{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": name, "controller": True}]
    objects["horizontalpodautoscalers.autoscaling"].append(
        {
            "metadata": {"name": f"keda-hpa-{name}", "namespace": SPACE, "ownerReferences": owners},
            "spec": hpa_spec,
            "status": {"conditions": conditions},
        }
    )
    (deployment,) = [one for one in objects["deployments.apps"] if one["metadata"]["name"] == name]
    controller = {"manager": "kube-controller-manager", "operation": "Update", "subresource": "scale"}
    deployment["metadata"]["managedFields"] = [{**controller, "fieldsV1": {"f:spec": {"f:replicas": {}}}}]
    deployment["spec"]["replicas"] = least
    deployment["status"] = {
        "observedGeneration": 1,
        "replicas": least,
        "updatedReplicas": least,
        "conditions": [{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}],
    }
    pool = [node["metadata"]["name"] for node in objects["nodes"]]
    for number in range(least):
        objects["pods"].append(_pod(deployment, f"{name}-{HASH}-{number}", pool[number]))


def _pod(deployment: Json, name: str, node: str) -> Json:
    template = copy.deepcopy(deployment["spec"]["template"])
    labels = {**template["metadata"]["labels"], "pod-template-hash": HASH}
    spec = {**template["spec"], "nodeName": node, "priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
    for container in spec["containers"]:
        given = container["resources"]
        given["requests"] = {**given.get("limits", {}), **given.get("requests", {})}
    statuses = [
        {"name": one["name"], "imageID": one["image"], "state": {"running": {"startedAt": "2027-10-19T12:00:00Z"}}}
        for one in spec["containers"]
    ]
    created = "2027-10-19T12:00:00Z"
    return {
        "metadata": {"name": name, "namespace": SPACE, "labels": labels, "creationTimestamp": created},
        "spec": spec,
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": statuses,
        },
    }
