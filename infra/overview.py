"""What a person wants to see of a render: each object in a line, each service's numbers, and what to know. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from infra import timing
from infra.footprint import Footprint, footprints, pod_gpus
from infra.manifests import is_manifest
from infra.recording_monitor import Registration
from infra.render import Render
from infra.schemas.check import identity
from stacks.spec import Platform, Service


@dataclass(frozen=True)
class ObjectLine:
    """One object of the cluster. `facts` are the fields a reviewer asks for first."""

    object: str
    urn: str
    facts: tuple[str, ...]
    ignored_fields: tuple[str, ...]


def object_lines(rendered: Render) -> list[ObjectLine]:
    """One line for each object, in the order in which a person reads them."""
    lines = [
        ObjectLine(
            object=identity(item.inputs),
            urn=item.urn,
            facts=tuple(_facts(item)),
            ignored_fields=tuple(item.options.get("ignoreChanges", ())),
        )
        for item in rendered.objects
        if is_manifest(item)
    ]
    return sorted(lines, key=lambda line: (_ORDER.get(line.object.split(" ")[0], len(_ORDER)), line.object))


_ORDER = {
    kind: place
    for place, kind in enumerate(
        (
            "Namespace",
            "DaemonSet",
            "ServiceAccount",
            "Deployment",
            "Service",
            "PodDisruptionBudget",
            "ScaledObject",
            "CronJob",
            "Role",
        )
    )
}


def service_numbers(rendered: Render, platform: Platform) -> list[dict[str, Any]]:
    """Replicas, GPUs and times of every service that is built; all times in seconds."""
    objects = footprints(item.inputs for item in rendered.objects if is_manifest(item))
    return [_numbers(name, platform, objects[f"{platform.namespace}/{name}"]) for name in platform.built]


def _numbers(name: str, platform: Platform, footprint: Footprint) -> dict[str, Any]:
    service = platform.services[name]
    awaits = timing.await_timeouts(service)
    return {
        "service": name,
        "node_pool": service.node_pool,
        "baseline": footprint.baseline,
        "ceiling": footprint.ceiling,
        "gpus_per_replica": footprint.gpus,
        "gpus_at_baseline": footprint.gpus_at_baseline,
        "gpus_at_ceiling": footprint.gpus_at_ceiling,
        "cold_start_s": service.cold_start.total_s,
        "rollout_waves": timing.rollout_waves(service),
        "await_create_s": awaits.create_s,
        "await_update_s": awaits.update_s,
        "await_delete_s": awaits.delete_s,
    }


def notes(stack: str, platform: Platform) -> list[str]:
    """What the objects do not say by themselves."""
    owner = f"warmline prescale sync -s {stack}"
    said = [f"`{owner}` owns minReplicaCount after creation. A changed baseline takes effect at its next run."]
    for name, service in platform.services.items():
        said += _service_notes(name, service)
    return said + _pool_notes(platform)


def _pool_notes(platform: Platform) -> list[str]:
    """Where all ceilings of a pool and one rollout need more GPUs than the pool may have."""
    said = []
    for name, pool in platform.node_pools.items():
        services = [service for service in platform.services.values() if service.node_pool == name]
        most = pool.most_gpus
        ceilings = sum(service.replicas.max * service.gpus_per_replica for service in services)
        surge = max((service.rollout.surge * service.gpus_per_replica for service in services), default=0)
        if ceilings > most:
            said.append(f"pool {name}: all ceilings together need {ceilings} GPUs, its nodes have at most {most}.")
        elif ceilings + surge > most:
            said.append(f"pool {name}: at the ceilings a rollout finds no GPU for its surge, and waits for one.")
    return said


def _service_notes(name: str, service: Service) -> list[str]:
    said = []
    if service.adopted:
        made = f"{service.adopted.kind} {service.adopted.name}"
        said.append(f"{name}: nothing of it is built here. `warmline prescale adopt` takes {made}, which others made.")
    if service.capacity.kind != "measured":
        number = service.capacity.in_flight_per_replica
        said.append(
            f"{name}: {number} in flight per replica is {service.capacity.kind}, not measured on this hardware."
        )
    if service.replicas.min == 0:
        said.append(f"{name}: rests at 0. An engine at 0 has no metrics, so only an event or a person wakes it.")
    if service.adopted is None and service.rollout.unavailable and service.replicas.min <= service.rollout.unavailable:
        said.append(f"{name}: a rollout may take every replica of the baseline away at once.")
    return said


def _facts(item: Registration) -> list[str]:
    manifest = item.inputs
    read = _READERS.get(manifest["kind"])
    return read(manifest, item.options) if read else []


def _namespace_facts(manifest: dict[str, Any], _options: dict[str, Any]) -> list[str]:
    level = manifest["metadata"]["labels"].get("pod-security.kubernetes.io/enforce", "default")
    return [f"pod security {level}"]


def _prepull_facts(manifest: dict[str, Any], _options: dict[str, Any]) -> list[str]:
    pod = manifest["spec"]["template"]["spec"]
    return [f"pulls {short_image(item['image'])}" for item in [*pod["containers"], *pod.get("initContainers", [])]]


def _service_facts(manifest: dict[str, Any], _options: dict[str, Any]) -> list[str]:
    spec = manifest["spec"]
    ports = ", ".join(f"{port['name']} {port['port']}" for port in spec["ports"])
    return [f"{ports}, {'headless' if spec.get('clusterIP') == 'None' else 'one address'}"]


def _budget_facts(manifest: dict[str, Any], _options: dict[str, Any]) -> list[str]:
    return [f"at most {manifest['spec']['maxUnavailable']} away at once"]


def _deployment_facts(manifest: dict[str, Any], options: dict[str, Any]) -> list[str]:
    spec = manifest["spec"]
    pod = spec["template"]["spec"]
    engine = pod["containers"][0]
    startup = engine["startupProbe"]
    rolling = spec["strategy"]["rollingUpdate"]
    requests = engine["resources"]["requests"]
    sleep_s = engine["lifecycle"]["preStop"]["sleep"]["seconds"]
    waits = ", ".join(f"{way} {text}" for way, text in options.get("customTimeouts", {}).items())
    return [
        short_image(engine["image"]),
        f"{pod_gpus(pod)} GPU, {requests['cpu']} CPU, {requests['memory']} memory",
        f"may take {startup['periodSeconds'] * startup['failureThreshold']} s to start",
        f"grace {pod['terminationGracePeriodSeconds']} s, of it preStop {sleep_s} s",
        f"rollout surge {rolling['maxSurge']}, unavailable {rolling['maxUnavailable']}",
        f"pulumi waits: {waits}",
    ]


def _scaler_facts(manifest: dict[str, Any], _options: dict[str, Any]) -> list[str]:
    spec = manifest["spec"]
    down = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleDown"]
    step = down["policies"][0]
    trigger = spec["triggers"][0]["metadata"]
    return [
        f"min {spec['minReplicaCount']}, max {spec['maxReplicaCount']}",
        f"{trigger['threshold']} in flight per replica of {trigger['query']}",
        f"down by {step['value']} each {step['periodSeconds']} s after {down['stabilizationWindowSeconds']} s",
        f"without metrics {spec['fallback']['replicas']}, or what runs if more",
    ]


def _cron_job_facts(manifest: dict[str, Any], _options: dict[str, Any]) -> list[str]:
    spec = manifest["spec"]
    (container,) = spec["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    return [f"{spec['schedule']} {spec['timeZone']}", short_image(container["image"]), " ".join(container["command"])]


def _role_facts(manifest: dict[str, Any], _options: dict[str, Any]) -> list[str]:
    return [
        f"{', '.join(rule['verbs'])} {', '.join(rule['resources'])}"
        + (f" {', '.join(rule['resourceNames'])}" if "resourceNames" in rule else "")
        for rule in manifest["rules"]
    ]


_READERS: dict[str, Callable[[dict[str, Any], dict[str, Any]], list[str]]] = {
    "Namespace": _namespace_facts,
    "DaemonSet": _prepull_facts,
    "Deployment": _deployment_facts,
    "Service": _service_facts,
    "PodDisruptionBudget": _budget_facts,
    "ScaledObject": _scaler_facts,
    "CronJob": _cron_job_facts,
    "Role": _role_facts,
}


def short_image(image: str) -> str:
    """The image with enough of its digest to tell two apart."""
    name, _, digest = image.partition("@sha256:")
    return f"{name}@{digest[:8]}" if digest else name
