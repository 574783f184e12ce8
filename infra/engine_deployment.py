"""The engines of one service: a Deployment, and the identity its pods run under."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
from pulumi import ResourceOptions
from pulumi_kubernetes.apps.v1 import (
    Deployment,
    DeploymentSpecArgs,
    DeploymentStrategyArgs,
    RollingUpdateDeploymentArgs,
)
from pulumi_kubernetes.core.v1 import PodTemplateSpecArgs, ServiceAccount
from pulumi_kubernetes.meta.v1 import LabelSelectorArgs, ObjectMetaArgs

from infra import labels, timing
from infra.dialects.dialect import Dialect
from infra.engine_pod import EnginePod, pod_spec
from stacks.spec import NodePool, Service

TYPE = "warmline:serving:EngineDeployment"


@dataclass(frozen=True)
class EngineDeploymentArgs:
    """`namespace` may be an output, so that the Deployment waits for it."""

    stack: str
    service: Service
    pool: NodePool
    dialect: Dialect
    namespace: pulumi.Input[str]
    loader_image: str


class EngineDeployment(pulumi.ComponentResource):
    """ServiceAccount and Deployment of one service.

    It sets no `spec.replicas`: KEDA's HPA owns it, and a number here would be a fight at every `pulumi up`. It does
    not scale and does not open a port to anyone; `EngineScaler` and `EngineService` do.

    Args:
        name: the service's name; object names are made from it.
    """

    def __init__(self, name: str, args: EngineDeploymentArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(TYPE, name, None, opts)
        object_labels = labels.service_labels(args.stack, name)
        self.account = ServiceAccount(
            f"{name}-account",
            metadata=ObjectMetaArgs(name=name, namespace=args.namespace, labels=object_labels),
            automount_service_account_token=False,
            opts=ResourceOptions(parent=self),
        )
        selector = labels.pod_selector(args.stack, name)
        pod = EnginePod(name, args.service, args.pool, args.dialect, args.loader_image, selector)
        timeouts = timing.await_timeouts(args.service)
        self.deployment = Deployment(
            f"{name}-deployment",
            metadata=ObjectMetaArgs(
                name=name,
                namespace=args.namespace,
                labels=object_labels,
                annotations=labels.accounting_annotations(args.service),
            ),
            spec=_spec(pod, object_labels),
            opts=ResourceOptions(
                parent=self,
                depends_on=[self.account],
                custom_timeouts=pulumi.CustomTimeouts(
                    create=f"{timeouts.create_s}s", update=f"{timeouts.update_s}s", delete=f"{timeouts.delete_s}s"
                ),
            ),
        )
        self.register_outputs({})


def _spec(pod: EnginePod, object_labels: dict[str, str]) -> DeploymentSpecArgs:
    rollout = pod.service.rollout
    return DeploymentSpecArgs(
        selector=LabelSelectorArgs(match_labels=pod.selector),
        # Absolute numbers: of GPUs there are so many, and a percentage of the replicas rounds to more or to none.
        strategy=DeploymentStrategyArgs(
            type="RollingUpdate",
            rolling_update=RollingUpdateDeploymentArgs(max_surge=rollout.surge, max_unavailable=rollout.unavailable),
        ),
        progress_deadline_seconds=timing.progress_deadline_s(pod.service),
        revision_history_limit=3,
        # Nothing of the accounting is in here: whoever changes the owner's name must not restart the engines.
        template=PodTemplateSpecArgs(
            metadata=ObjectMetaArgs(labels=object_labels, annotations=scrape_annotations(pod.dialect)),
            spec=pod_spec(pod),
        ),
    )


def scrape_annotations(dialect: Dialect) -> dict[str, str]:
    """Tell a Prometheus that goes by annotations where the engine's metrics are.

    Without them the scaler has no data and holds what runs. A Prometheus Operator wants a PodMonitor instead.
    """
    return {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(dialect.port),
        "prometheus.io/path": dialect.metrics_path,
    }
