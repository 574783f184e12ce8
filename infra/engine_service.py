"""How the engines of one service are found, and how many may be taken away at once."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
from pulumi import ResourceOptions
from pulumi_kubernetes.core.v1 import Service as ServiceObject
from pulumi_kubernetes.core.v1 import ServicePortArgs, ServiceSpecArgs
from pulumi_kubernetes.meta.v1 import LabelSelectorArgs, ObjectMetaArgs
from pulumi_kubernetes.policy.v1 import PodDisruptionBudget, PodDisruptionBudgetSpecArgs

from infra import labels
from infra.engine_pod import PORT_NAME

TYPE = "warmline:serving:EngineService"


@dataclass(frozen=True)
class EngineServiceArgs:
    """`port` is the engine's own."""

    stack: str
    namespace: pulumi.Input[str]
    port: int


class EngineService(pulumi.ComponentResource):
    """Headless Service and PodDisruptionBudget of one service.

    Headless, since requests cost a hundred times as much as each other: a gateway has to choose the pod for each
    one and needs the pods' own addresses. It does not balance.

    Args:
        name: the service's name; object names are made from it.
    """

    def __init__(self, name: str, args: EngineServiceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(TYPE, name, None, opts)
        metadata = ObjectMetaArgs(name=name, namespace=args.namespace, labels=labels.service_labels(args.stack, name))
        selector = labels.pod_selector(args.stack, name)
        self.service = ServiceObject(
            f"{name}-service",
            metadata=metadata,
            spec=ServiceSpecArgs(
                cluster_ip="None",
                selector=selector,
                ports=[ServicePortArgs(name=PORT_NAME, port=args.port, target_port=PORT_NAME, protocol="TCP")],
            ),
            opts=ResourceOptions(parent=self),
        )
        self.budget = PodDisruptionBudget(
            f"{name}-budget",
            metadata=metadata,
            spec=PodDisruptionBudgetSpecArgs(
                # Never minAvailable: a floor that falls to it blocks every node drain.
                max_unavailable=1,
                # An engine that is broken anyway must not keep its node from being drained.
                unhealthy_pod_eviction_policy="AlwaysAllow",
                selector=LabelSelectorArgs(match_labels=selector),
            ),
            opts=ResourceOptions(parent=self),
        )
        self.register_outputs({})
