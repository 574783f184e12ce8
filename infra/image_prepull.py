"""Images on every node of a pool before an engine needs them: pulling 10 GB takes minutes of a cold start."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import pulumi
from pulumi import ResourceOptions
from pulumi_kubernetes.apps.v1 import (
    DaemonSet,
    DaemonSetSpecArgs,
    DaemonSetUpdateStrategyArgs,
    RollingUpdateDaemonSetArgs,
)
from pulumi_kubernetes.core.v1 import (
    CapabilitiesArgs,
    ContainerArgs,
    EnvVarArgs,
    PodSecurityContextArgs,
    PodSpecArgs,
    PodTemplateSpecArgs,
    ResourceRequirementsArgs,
    SeccompProfileArgs,
    SecurityContextArgs,
)
from pulumi_kubernetes.meta.v1 import LabelSelectorArgs, ObjectMetaArgs

from infra import labels, node_pool
from stacks.spec import NodePool

TYPE = "warmline:nodes:ImagePrepull"
NOBODY = 65534


@dataclass(frozen=True)
class ImagePrepullArgs:
    """`image` is pulled and held; `also` are pulled on the way, each with a command that ends at once."""

    stack: str
    namespace: pulumi.Input[str]
    pool_name: str
    pool: NodePool
    image: str
    also: tuple[str, ...]


def prepull_name(pool_name: str, image: str) -> str:
    """One DaemonSet for each pool and image: a new image's is there before the old one's goes."""
    return f"{pool_name}-{hashlib.sha256(image.encode()).hexdigest()[:8]}-image-prepull"


class ImagePrepull(pulumi.ComponentResource):
    """DaemonSet that pulls images to every node of a pool, and runs one of them so that the kubelet keeps it.

    It helps nodes that stand before the pod comes. On a node that joins because a pod is pending the two pull side by
    side, so `cold_start.image_s` is not 0 there. `pulumi up` does not wait for it: one sick node of the pool would
    hold up every release.
    """

    def __init__(self, name: str, args: ImagePrepullArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(TYPE, name, None, opts)
        own_labels = {"app.kubernetes.io/name": name} | labels.stack_labels(args.stack)
        self.daemon_set = DaemonSet(
            f"{name}-daemonset",
            metadata=ObjectMetaArgs(
                name=name,
                namespace=args.namespace,
                labels=own_labels,
                annotations={"pulumi.com/skipAwait": "true"},
            ),
            spec=DaemonSetSpecArgs(
                selector=LabelSelectorArgs(match_labels=labels.pod_selector(args.stack, name)),
                # Nothing is served from here, so all nodes may change at once.
                update_strategy=DaemonSetUpdateStrategyArgs(
                    type="RollingUpdate", rolling_update=RollingUpdateDaemonSetArgs(max_unavailable="100%")
                ),
                revision_history_limit=1,
                template=PodTemplateSpecArgs(metadata=ObjectMetaArgs(labels=own_labels), spec=_pod_spec(args)),
            ),
            opts=ResourceOptions(parent=self),
        )
        self.register_outputs({})


def _pod_spec(args: ImagePrepullArgs) -> PodSpecArgs:
    return PodSpecArgs(
        automount_service_account_token=False,
        enable_service_links=False,
        termination_grace_period_seconds=1,
        security_context=PodSecurityContextArgs(
            run_as_non_root=True,
            run_as_user=NOBODY,
            run_as_group=NOBODY,
            seccomp_profile=SeccompProfileArgs(type="RuntimeDefault"),
        ),
        tolerations=node_pool.tolerations(),
        affinity=node_pool.affinity(args.pool_name, args.pool),
        init_containers=[_container(f"pull-{index}", image, ["/bin/true"]) for index, image in enumerate(args.also)],
        containers=[_container("hold", args.image, ["/bin/sleep", "infinity"])],
    )


def _container(name: str, image: str, command: list[str]) -> ContainerArgs:
    return ContainerArgs(
        name=name,
        image=image,
        command=command,
        # CUDA images ask for all GPUs, and where NVIDIA's runtime is the default they get them without a request.
        env=[EnvVarArgs(name="NVIDIA_VISIBLE_DEVICES", value="void")],
        resources=ResourceRequirementsArgs(
            requests={"cpu": "10m", "memory": "16Mi"}, limits={"cpu": "100m", "memory": "64Mi"}
        ),
        security_context=SecurityContextArgs(
            allow_privilege_escalation=False,
            read_only_root_filesystem=True,
            capabilities=CapabilitiesArgs(drop=["ALL"]),
        ),
    )
