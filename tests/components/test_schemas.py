"""Each way to be wrong that the API server would let pass, or tell too late, is found offline."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from infra.manifests import manifests
from infra.render import render
from infra.runner.manifests import manifests as runner_manifests
from infra.schemas.check import faults
from infra.schemas.extract import KINDS, SCALED_OBJECT
from tests.components.specs import platform
from tests.components.test_runner import site

Object = dict[str, Any]


@pytest.fixture(scope="module")
def objects() -> dict[str, Object]:
    return {item["kind"]: item for item in manifests(render("test", platform()).objects)}


def _pod(item: Object) -> Object:
    pod: Object = item["spec"]["template"]["spec"]
    return pod


def _behavior(item: Object) -> Object:
    behavior: Object = item["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    return behavior


VIOLATIONS: dict[str, tuple[str, Callable[[Object], Any], str]] = {
    "snake case in a custom resource": (
        "ScaledObject",
        lambda item: item["spec"].update(min_replica_count=2),
        "spec: unknown field min_replica_count",
    ),
    "number where KEDA wants text": (
        "ScaledObject",
        lambda item: item["spec"]["triggers"][0]["metadata"].update(threshold=40),
        "spec.triggers[0].metadata.threshold: got int, expected string",
    ),
    "fallback without its number": (
        "ScaledObject",
        lambda item: item["spec"]["fallback"].pop("replicas"),
        "spec.fallback: missing replicas",
    ),
    "unknown fallback behaviour": (
        "ScaledObject",
        lambda item: item["spec"]["fallback"].update(behavior="currentReplicasIfHighest"),
        "spec.fallback.behavior: 'currentReplicasIfHighest' is not one of",
    ),
    "policy of the HPA misspelt": (
        "ScaledObject",
        lambda item: _behavior(item)["scaleDown"]["policies"][0].update(periodSecond=60),
        "policies[0]: unknown field periodSecond",
    ),
    "ScaledObject without triggers": ("ScaledObject", lambda item: item["spec"].pop("triggers"), "missing triggers"),
    "pod field misspelt": (
        "Deployment",
        lambda item: _pod(item).update(terminationGracePeriod=225),
        "spec.template.spec: unknown field terminationGracePeriod",
    ),
    "probe with text for a number": (
        "Deployment",
        lambda item: _pod(item)["containers"][0]["readinessProbe"].update(periodSeconds="2"),
        "containers[0].readinessProbe.periodSeconds: got str, expected integer",
    ),
    "quantity that is none": (
        "Deployment",
        lambda item: _pod(item)["containers"][0]["resources"]["requests"].update(memory="80 GB"),
        "containers[0].resources.requests.memory: '80 GB' does not match",
    ),
    "container without a name": (
        "Deployment",
        lambda item: _pod(item)["containers"][0].pop("name"),
        "spec.template.spec.containers[0]: missing name",
    ),
    "no selector": ("Deployment", lambda item: item["spec"].pop("selector"), "spec: missing selector"),
    "surge that is neither number nor text": (
        "Deployment",
        lambda item: item["spec"]["strategy"]["rollingUpdate"].update(maxSurge=[1]),
        "spec.strategy.rollingUpdate.maxSurge: got list, expected integer or string",
    ),
    "image pull DaemonSet with replicas": (
        "DaemonSet",
        lambda item: item["spec"].update(replicas=2),
        "spec: unknown field replicas",
    ),
    "port without a number": ("Service", lambda item: item["spec"]["ports"][0].pop("port"), "missing port"),
    "label that is a number": (
        "Namespace",
        lambda item: item["metadata"]["labels"].update(tier=1),
        "metadata.labels.tier: got int, expected string",
    ),
    "budget misspelt": (
        "PodDisruptionBudget",
        lambda item: item["spec"].update(maxUnavailability=1),
        "spec: unknown field maxUnavailability",
    ),
    "no metadata": ("ServiceAccount", lambda item: item.pop("metadata"), "missing metadata"),
    "kind nobody knows": ("Service", lambda item: item.update(kind="Sevice"), "no schema for v1/Sevice"),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_violation_is_found(name: str, objects: dict[str, Object]) -> None:
    kind, spoil, message = VIOLATIONS[name]
    item = copy.deepcopy(objects[kind])
    assert faults(item) == []
    spoil(item)
    found = faults(item)
    assert len(found) == 1
    assert message in found[0]


def test_every_fault_is_told(objects: dict[str, Object]) -> None:
    item = copy.deepcopy(objects["Deployment"])
    item["spec"]["replica"] = 1
    _pod(item)["hostNetwrok"] = True
    assert len(faults(item)) == 2


def test_every_vendored_kind_is_made(objects: dict[str, Object]) -> None:
    made = {f"{item['apiVersion']}/{item['kind']}" for item in (*objects.values(), *runner_manifests(site()))}
    assert made == {*KINDS, SCALED_OBJECT}
