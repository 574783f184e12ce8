"""The pod of one engine replica: container, probes, drain, disks, placement, and what it may not do."""

from __future__ import annotations

from dataclasses import dataclass

from pulumi_kubernetes.core.v1 import (
    CapabilitiesArgs,
    ContainerArgs,
    ContainerPortArgs,
    EmptyDirVolumeSourceArgs,
    EnvVarArgs,
    HTTPGetActionArgs,
    LifecycleArgs,
    LifecycleHandlerArgs,
    PodSecurityContextArgs,
    PodSpecArgs,
    ProbeArgs,
    ResourceRequirementsArgs,
    SeccompProfileArgs,
    SecurityContextArgs,
    SleepActionArgs,
    TopologySpreadConstraintArgs,
    VolumeArgs,
    VolumeMountArgs,
)
from pulumi_kubernetes.meta.v1 import LabelSelectorArgs

from capacity.spread import Spread, over_hosts, over_zones
from infra import engine_size, node_pool, timing, weights
from infra.dialects.dialect import SCRATCH_DIR, Dialect, Launch
from infra.timing import ProbeTiming
from stacks.spec import NodePool, Service

PORT_NAME = "http"
SHARED_MEMORY_DIR = "/dev/shm"  # noqa: S108 - where POSIX shared memory is


@dataclass(frozen=True)
class EnginePod:
    """What the pod of a service is made from. `selector` are labels that all of its engines share."""

    name: str
    service: Service
    pool: NodePool
    dialect: Dialect
    loader_image: str
    selector: dict[str, str]


def pod_spec(pod: EnginePod) -> PodSpecArgs:
    """The whole pod."""
    paths = weights.disk_paths(pod.service, pod.pool)
    return PodSpecArgs(
        service_account_name=pod.name,
        automount_service_account_token=False,  # engines do not talk to the API server
        enable_service_links=False,  # a Service called `vllm` would inject VLLM_PORT, which vLLM reads
        termination_grace_period_seconds=timing.grace_s(pod.service),
        security_context=_pod_security(pod.dialect),
        tolerations=node_pool.tolerations(),
        affinity=node_pool.affinity(pod.service.node_pool, pod.pool),
        topology_spread_constraints=[
            _constraint(one, pod.selector) for one in (over_zones(pod.service.zones), over_hosts())
        ],
        init_containers=[weights.loader(pod.service, paths, pod.loader_image)],
        containers=[_engine(pod, paths)],
        volumes=[*weights.volumes(paths), *_scratch(pod.service)],
    )


def _engine(pod: EnginePod, paths: weights.DiskPaths) -> ContainerArgs:
    dialect, service = pod.dialect, pod.service
    launch = Launch(service, paths.model_dir, dialect.port, timing.drain_s(service))
    caches = [(variable, f"{paths.cache_dir}/{folder}") for variable, folder in dialect.cache_env]
    return ContainerArgs(
        name="engine",
        image=service.engine.image,
        command=list(dialect.command),
        args=list(dialect.arguments(launch)),
        env=[EnvVarArgs(name=name, value=value) for name, value in (*dialect.env, *caches)],
        ports=[ContainerPortArgs(name=PORT_NAME, container_port=dialect.port)],
        resources=ResourceRequirementsArgs(
            requests=engine_size.requests(service, pod.pool), limits=engine_size.limits(service)
        ),
        startup_probe=_probe(dialect.health_path, timing.startup_probe(service)),
        readiness_probe=_probe(dialect.readiness_path, timing.readiness_probe()),
        liveness_probe=_probe(dialect.health_path, timing.liveness_probe()),
        # Sleep first, end second: until the balancers know, requests still come, and a draining engine refuses them.
        lifecycle=LifecycleArgs(
            pre_stop=LifecycleHandlerArgs(sleep=SleepActionArgs(seconds=timing.ENDPOINT_PROPAGATION_S))
        ),
        security_context=SecurityContextArgs(
            allow_privilege_escalation=False,
            read_only_root_filesystem=True,
            capabilities=CapabilitiesArgs(drop=["ALL"]),
        ),
        volume_mounts=[
            VolumeMountArgs(name="weights", mount_path=weights.WEIGHTS_DIR, read_only=True),
            VolumeMountArgs(name="compile-cache", mount_path=weights.CACHE_DIR),
            VolumeMountArgs(name="shm", mount_path=SHARED_MEMORY_DIR),
            VolumeMountArgs(name="tmp", mount_path=SCRATCH_DIR),
        ],
    )


def _probe(path: str, times: ProbeTiming) -> ProbeArgs:
    return ProbeArgs(
        http_get=HTTPGetActionArgs(path=path, port=PORT_NAME),
        period_seconds=times.period_s,
        timeout_seconds=times.timeout_s,
        failure_threshold=times.failures,
    )


def _pod_security(dialect: Dialect) -> PodSecurityContextArgs:
    return PodSecurityContextArgs(
        run_as_non_root=True,
        run_as_user=dialect.user_id,
        run_as_group=dialect.group_id,
        seccomp_profile=SeccompProfileArgs(type="RuntimeDefault"),
    )


def _constraint(spread: Spread, selector: dict[str, str]) -> TopologySpreadConstraintArgs:
    return TopologySpreadConstraintArgs(
        max_skew=spread.max_skew,
        min_domains=spread.min_domains,
        topology_key=spread.topology_key,
        when_unsatisfiable=spread.when_unsatisfiable,
        label_selector=LabelSelectorArgs(match_labels=selector),
        match_label_keys=list(spread.match_label_keys),
        node_taints_policy=spread.node_taints_policy,
    )


def _scratch(service: Service) -> list[VolumeArgs]:
    shm = EmptyDirVolumeSourceArgs(medium="Memory", size_limit=engine_size.shared_memory(service))
    return [
        VolumeArgs(name="shm", empty_dir=shm),
        VolumeArgs(name="tmp", empty_dir=EmptyDirVolumeSourceArgs(size_limit="10Gi")),
    ]
