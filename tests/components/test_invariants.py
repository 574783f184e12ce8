"""What must hold of every stack, whatever a golden says: for those shipped and for any the spec allows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from whenever import Instant

from infra import timing
from infra.manifests import is_manifest, schema_faults
from infra.recording_monitor import Registration
from infra.render import Render, render
from infra.scaled_object import IGNORED_FIELDS
from prescale.lead_time.measuring import start_of
from sandbox.engine.metrics import EngineMetrics
from stacks.instance_types import INSTANCE_TYPES
from stacks.loader import load_platform
from stacks.node_contract import GPU_RESOURCE, NodeTaint, node_facts
from stacks.ownership import BASELINE_ANNOTATION, SERVICE_LABEL, STACK_LABEL
from stacks.spec import Platform, Service
from tests.components.specs import platforms, shipped_stacks

BEGAN = "2027-10-29T14:00:00Z"


@dataclass(frozen=True)
class World:
    """One stack, rendered."""

    platform: Platform
    rendered: Render

    def of_kind(self, kind: str) -> list[Registration]:
        return [item for item in self.rendered.objects if is_manifest(item) and item.inputs["kind"] == kind]

    def by_service(self, kind: str) -> Iterator[tuple[Service, Registration]]:
        for item in self.of_kind(kind):
            yield self.platform.services[item.inputs["metadata"]["labels"][SERVICE_LABEL]], item

    def pods(self) -> list[dict[str, Any]]:
        return [
            item.inputs["spec"]["template"]["spec"]
            for kind in ("Deployment", "DaemonSet")
            for item in self.of_kind(kind)
        ]


def _containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod["containers"], *pod.get("initContainers", [])]


def _quantity(text: str) -> Fraction:
    for suffix, factor in (("m", Fraction(1, 1000)), ("Mi", Fraction(2**20)), ("Gi", Fraction(2**30))):
        if text.endswith(suffix):
            return int(text.removesuffix(suffix)) * factor
    return Fraction(text)


def no_schema_fault(world: World) -> None:
    assert schema_faults(world.rendered.objects) == []


def gpu_request_is_the_limit_and_fits_a_node(world: World) -> None:
    for service, item in world.by_service("Deployment"):
        (engine,) = item.inputs["spec"]["template"]["spec"]["containers"]
        asked = engine["resources"]["requests"]
        assert asked[GPU_RESOURCE] == engine["resources"]["limits"][GPU_RESOURCE] == str(service.gpus_per_replica)
        pool = world.platform.node_pools[service.node_pool]
        for kind in pool.instance_types:
            have, known = pool.gpus(kind), INSTANCE_TYPES.get(kind)
            if known is None or have % service.gpus_per_replica:
                continue
            replicas = have // service.gpus_per_replica
            assert replicas * _quantity(asked["cpu"]) < known.vcpus
            assert replicas * _quantity(asked["memory"]) < known.memory_gib * 2**30


def grace_outlasts_pre_stop_and_the_longest_stream(world: World) -> None:
    for service, item in world.by_service("Deployment"):
        pod = item.inputs["spec"]["template"]["spec"]
        (engine,) = pod["containers"]
        (drain,) = [argument for argument in engine["args"] if argument.startswith("--shutdown-timeout=")]
        drain_s = int(drain.partition("=")[2])
        assert drain_s >= service.longest_stream_s
        assert pod["terminationGracePeriodSeconds"] > engine["lifecycle"]["preStop"]["sleep"]["seconds"] + drain_s


def zones_bind_where_they_are_asked_and_only_there(world: World) -> None:
    for service, item in world.by_service("Deployment"):
        template = item.inputs["spec"]["template"]
        spreads = {one["topologyKey"]: one for one in template["spec"]["topologySpreadConstraints"]}
        assert set(spreads) == {"topology.kubernetes.io/zone", "kubernetes.io/hostname"}
        for key, one in spreads.items():
            binds = key == "topology.kubernetes.io/zone" and service.zones is not None
            assert one["whenUnsatisfiable"] == ("DoNotSchedule" if binds else "ScheduleAnyway")
            assert one.get("minDomains") == (service.zones if binds else None)
            assert (one["maxSkew"], one["matchLabelKeys"]) == (1, ["pod-template-hash"])
            assert one["labelSelector"] == item.inputs["spec"]["selector"]
            assert one["labelSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items()


def startup_allows_twice_the_engine_start(world: World) -> None:
    for service, item in world.by_service("Deployment"):
        (engine,) = item.inputs["spec"]["template"]["spec"]["containers"]
        probe = engine["startupProbe"]
        assert probe["periodSeconds"] * probe["failureThreshold"] >= 2 * service.cold_start.engine_start_s
        assert probe["periodSeconds"] <= max(1, service.cold_start.engine_start_s // 30)


def waits_outlast_cold_start_and_rollout(world: World) -> None:
    for service, item in world.by_service("Deployment"):
        waits = {way: int(text.removesuffix("s")) for way, text in item.options["customTimeouts"].items()}
        cold_s, grace_s = service.cold_start.total_s, timing.grace_s(service)
        step = service.rollout.surge + service.rollout.unavailable
        assert waits["create"] >= 2 * cold_s
        assert waits["update"] * step > service.replicas.max * (cold_s + grace_s)
        assert waits["delete"] > grace_s
        deadline_s = item.inputs["spec"]["progressDeadlineSeconds"]
        assert cold_s + grace_s < deadline_s < min(waits["create"], waits["update"])


def nobody_but_keda_sets_replicas(world: World) -> None:
    for item in world.of_kind("Deployment"):
        assert "replicas" not in item.inputs["spec"]
    for item in world.of_kind("ScaledObject"):
        assert item.options["ignoreChanges"] == IGNORED_FIELDS == ["spec.minReplicaCount"]
        # `pulumi up --replace` would make the old one anew, which conflicts with the floor's owner, and then delete it.
        assert item.options["deleteBeforeReplace"]


def scaler_says_what_the_spec_says(world: World) -> None:
    for service, item in world.by_service("ScaledObject"):
        spec, metadata = item.inputs["spec"], item.inputs["metadata"]
        assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (service.replicas.min, service.replicas.max)
        assert metadata["annotations"] == {BASELINE_ANNOTATION: str(service.replicas.min)}
        assert metadata["labels"][STACK_LABEL] == world.rendered.stack
        assert spec["fallback"]["replicas"] >= 1
        (trigger,) = spec["triggers"]
        assert trigger["metricType"] == "AverageValue"
        assert trigger["metadata"]["ignoreNullValues"] == "false"
        assert float(trigger["metadata"]["threshold"]) == service.capacity.in_flight_per_replica
        assert service.capacity.in_flight_per_replica < service.engine.max_num_seqs


def query_is_one_element_of_known_metrics(world: World) -> None:
    for service, item in world.by_service("ScaledObject"):
        query = item.inputs["spec"]["triggers"][0]["metadata"]["query"]
        term = rf'sum\((vllm:\w+)\{{namespace="{world.platform.namespace}",(\w+)="{re.escape(service.model.name)}"\}}\)'
        found = re.fullmatch(rf"{term} \+ {term}", query)
        assert found, query
        exposed = EngineMetrics().text(service.model.name, 1, 1, 0.0)
        for metric, label in (found.group(1, 2), found.group(3, 4)):
            assert re.search(rf'^{metric}{{.*{label}="{re.escape(service.model.name)}"', exposed, re.MULTILINE)


def pods_go_onto_their_pool_and_nowhere_else(world: World) -> None:
    pools = world.platform.node_pools
    for pod in world.pods():
        (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        wanted = {item["key"]: item["values"] for item in term["matchExpressions"]}
        nodes = [node_facts(name, pool, kind) for name, pool in pools.items() for kind in pool.instance_types]
        fit = [node for node in nodes if all(node.labels.get(key) in values for key, values in wanted.items())]
        assert fit
        assert len({node.labels["warmline.dev/node-pool"] for node in fit}) == 1
        for taint in fit[0].taints:
            assert any(_tolerates(toleration, taint) for toleration in pod["tolerations"])


def _tolerates(toleration: dict[str, Any], taint: NodeTaint) -> bool:
    same_value = toleration["operator"] == "Exists" or toleration.get("value") == taint.value
    return same_value and (toleration["key"], toleration["effect"]) == (taint.key, taint.effect)


def images_are_pinned_and_pulled_ahead(world: World) -> None:
    ahead = [
        {item["image"] for item in _containers(daemon.inputs["spec"]["template"]["spec"])}
        for daemon in world.of_kind("DaemonSet")
    ]
    for pod in world.pods():
        images = {item["image"] for item in _containers(pod)}
        assert all(re.search(r"@sha256:[0-9a-f]{64}$", image) for image in images)
        assert any(images <= pulled for pulled in ahead)


def pods_may_do_no_more_than_they_need(world: World) -> None:
    disks = tuple(pool.local_disk_path for pool in world.platform.node_pools.values())
    for pod in world.pods():
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for item in _containers(pod):
            rights = item["securityContext"]
            assert rights["capabilities"] == {"drop": ["ALL"]}
            assert rights["allowPrivilegeEscalation"] is False
            assert rights["readOnlyRootFilesystem"] is True
            assert rights.get("runAsUser", 1) != 0 or item["name"] == "weights"
        for volume in pod.get("volumes", []):
            assert set(volume) <= {"name", "emptyDir", "hostPath"}
            assert volume.get("hostPath", {"path": disks[0]})["path"].startswith(disks)


def names_fit_and_children_carry_the_parents(world: World) -> None:
    by_urn = {item.urn: item for item in world.rendered.objects}
    for item in world.rendered.objects:
        if is_manifest(item):
            assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", item.inputs["metadata"]["name"])
        parent = by_urn.get(item.options["parent"])
        if parent:
            assert item.name.startswith(f"{parent.name}-")


def scaler_has_nothing_that_keda_drops(world: World) -> None:
    """KEDA writes the object back through Go structs whose `omitempty` drops a false: a drift at every refresh."""

    def values(part: Any) -> Iterator[Any]:
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        yield part
        for one in inner:
            yield from values(one)

    for item in world.of_kind("ScaledObject"):
        assert not [value for value in values(item.inputs["spec"]) if value is False or value in ("", [], {}, None)]


def everything_in_the_cluster_goes_through_the_one_provider(world: World) -> None:
    for item in world.rendered.objects:
        if is_manifest(item):
            assert item.options["provider"].endswith("::pulumi:providers:kubernetes::cluster")
            assert item.inputs["metadata"]["labels"][STACK_LABEL] == world.rendered.stack


def the_start_of_a_pod_is_known_for_one_of_its_service(world: World) -> None:
    """`prescale` measures it from the pod alone, held against platform.yaml."""
    when = {
        kind: {"type": kind, "status": "True", "lastTransitionTime": BEGAN} for kind in ("ContainersReady", "Ready")
    }
    for service, item in world.by_service("Deployment"):
        template = item.inputs["spec"]["template"]
        engine = {"name": "engine", "state": {"running": {"startedAt": BEGAN}}}
        pod = {
            "metadata": {"name": "a-b-c", "creationTimestamp": BEGAN, **template["metadata"]},
            "spec": template["spec"],
            "status": {"conditions": list(when.values()), "containerStatuses": [engine]},
        }
        pool = world.platform.node_pools[service.node_pool]
        assert start_of(pod, service, pool, Instant.parse_iso(BEGAN)) is not None


INVARIANTS: list[Callable[[World], None]] = [
    no_schema_fault,
    gpu_request_is_the_limit_and_fits_a_node,
    grace_outlasts_pre_stop_and_the_longest_stream,
    zones_bind_where_they_are_asked_and_only_there,
    startup_allows_twice_the_engine_start,
    waits_outlast_cold_start_and_rollout,
    nobody_but_keda_sets_replicas,
    scaler_says_what_the_spec_says,
    query_is_one_element_of_known_metrics,
    scaler_has_nothing_that_keda_drops,
    pods_go_onto_their_pool_and_nowhere_else,
    images_are_pinned_and_pulled_ahead,
    pods_may_do_no_more_than_they_need,
    names_fit_and_children_carry_the_parents,
    everything_in_the_cluster_goes_through_the_one_provider,
    the_start_of_a_pod_is_known_for_one_of_its_service,
]


@cache
def _shipped(stack: str) -> World:
    platform = load_platform(stack)
    return World(platform, render(stack, platform))


@pytest.mark.parametrize("invariant", INVARIANTS, ids=lambda invariant: invariant.__name__)
@pytest.mark.parametrize("stack", shipped_stacks())
def test_shipped_stack(stack: str, invariant: Callable[[World], None]) -> None:
    invariant(_shipped(stack))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_platform=platforms())
def test_any_stack(given_platform: Platform) -> None:
    world = World(given_platform, render("any", given_platform))
    for invariant in INVARIANTS:
        invariant(world)
