"""What a platform is put together from, and in which order. Only this module knows the order.

Not called `platform`: Pulumi puts this folder on `sys.path`, where that name is the standard library's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import ResourceOptions
from pulumi_kubernetes import Provider
from pulumi_kubernetes.core.v1 import Namespace
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from infra import labels
from infra.dialects.table import dialect_of
from infra.engine_deployment import EngineDeployment, EngineDeploymentArgs
from infra.engine_scaler import EngineScaler
from infra.engine_service import EngineService, EngineServiceArgs
from infra.image_prepull import ImagePrepull, ImagePrepullArgs, prepull_name
from infra.runner.component import PrescaleRunner
from infra.runner.files import stack_files
from infra.runner.manifests import runner_site
from infra.scaled_object import ScaledObjectArgs
from stacks.engine_metrics import in_flight_query
from stacks.spec import Platform, Service


@dataclass(frozen=True)
class _Site:
    """Where the objects of one stack go."""

    stack: str
    platform: Platform
    namespace: pulumi.Input[str]
    in_cluster: ResourceOptions


def assemble(stack: str, platform: Platform) -> None:
    """Register everything of one stack, and export what other programs may want to know."""
    provider = Provider(
        "cluster",
        context=platform.cluster.context,
        # One name is one cluster: its address may change, and what is built there stays. Another name is another one.
        cluster_identifier=platform.cluster.context,
        # Empty: whoever runs it says which file. Left out, the SDK writes this machine's path into the state, where
        # another machine's `up` fails on it, or takes that file's cluster for another and replaces every object.
        kubeconfig="",
        # A server-side apply conflict is how a second owner of a field is noticed at all.
        enable_server_side_apply=True,
        # A calendar that changes is an update: replaced, it would be gone for a moment.
        enable_config_map_mutable=True,
    )
    in_cluster = ResourceOptions(provider=provider)
    site = _Site(stack, platform, _namespace(stack, platform, provider), in_cluster)
    _prepulls(site)
    for name, service in platform.built.items():
        _service(site, name, service)
    _runner(site)
    pulumi.export("services", {name: _facts(platform, service) for name, service in platform.services.items()})


def _namespace(stack: str, platform: Platform, provider: Provider) -> pulumi.Output[str]:
    namespace = Namespace(
        "serving-namespace",
        metadata=ObjectMetaArgs(
            name=platform.namespace,
            labels=labels.stack_labels(stack)
            | {
                # hostPath is not allowed below `privileged`; see docs/adr/0002-weights-on-local-disk.md.
                "pod-security.kubernetes.io/enforce": "privileged",
                "pod-security.kubernetes.io/audit": "restricted",
            },
        ),
        # Deleted, it would take along what others built in it.
        opts=ResourceOptions(provider=provider, retain_on_delete=bool(platform.adopted)),
    )
    return namespace.metadata.name


def _prepulls(site: _Site) -> None:
    platform = site.platform
    wanted = {(service.node_pool, service.engine.image) for service in platform.built.values()}
    for pool_name, image in sorted(wanted):
        args = ImagePrepullArgs(
            stack=site.stack,
            namespace=site.namespace,
            pool_name=pool_name,
            pool=platform.node_pools[pool_name],
            image=image,
            also=(platform.weights_loader.image,),
        )
        ImagePrepull(prepull_name(pool_name, image), args, site.in_cluster)


def _service(site: _Site, name: str, service: Service) -> None:
    platform = site.platform
    dialect = dialect_of(service.engine.kind)
    deployment = EngineDeploymentArgs(
        stack=site.stack,
        service=service,
        pool=platform.node_pools[service.node_pool],
        dialect=dialect,
        namespace=site.namespace,
        loader_image=platform.weights_loader.image,
    )
    EngineDeployment(name, deployment, site.in_cluster)
    EngineService(name, EngineServiceArgs(site.stack, site.namespace, dialect.port), site.in_cluster)
    # Not after the Deployment: that waits for its pods, and a rollout that hangs must not hold back a raised ceiling.
    # Until the Deployment is there KEDA tries again by itself.
    scaling = ScaledObjectArgs(
        stack=site.stack,
        service=service,
        namespace=site.namespace,
        prometheus_url=platform.prometheus.url,
        query=in_flight_query(dialect.metrics, platform.namespace, service.model.name),
    )
    EngineScaler(name, scaling, site.in_cluster)


def _runner(site: _Site) -> None:
    platform = site.platform
    if platform.runner is None:
        return
    files = stack_files(site.stack)
    runner = runner_site(site.stack, platform, platform.runner, files, "pulumi")
    PrescaleRunner(runner.name, runner, site.namespace, site.in_cluster)


def _facts(platform: Platform, service: Service) -> dict[str, Any]:
    return {"namespace": platform.namespace, "baseline": service.replicas.min, "ceiling": service.replicas.max}
