"""What manifests got wrong in public, with the report's own input: each stands for its kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from infra.checks import misfits
from infra.dialects.table import DIALECTS
from infra.manifests import is_manifest
from infra.overview import notes
from infra.recording_monitor import Registration
from infra.render import render
from sandbox.engine.metrics import EngineMetrics
from stacks.spec import Platform
from tests.components.specs import platform, service_data

Objects = dict[str, Registration]


def _objects(given: Platform) -> Objects:
    return {item.inputs["kind"]: item for item in render("test", given).objects if is_manifest(item)}


@pytest.fixture(scope="module")
def objects() -> Objects:
    """The longest stream is 180 s, the cold start 20 minutes."""
    slow = service_data(longest_stream_s=180, cold_start={"weights_s": 600, "engine_start_s": 600})
    return _objects(platform({"support-bot": slow}))


def _spec(objects: Objects, kind: str) -> Any:
    return objects[kind].inputs["spec"]


def _trigger(objects: Objects) -> Any:
    (trigger,) = _spec(objects, "ScaledObject")["triggers"]
    return trigger


def _seconds(objects: Objects, way: str) -> int:
    return int(objects["Deployment"].options["customTimeouts"][way].removesuffix("s"))


def _no_data_is_not_zero(objects: Objects) -> None:
    assert _trigger(objects)["metadata"]["ignoreNullValues"] == "false"
    assert _spec(objects, "ScaledObject")["fallback"]["replicas"] >= 1


def _fallback_is_one_and_never_lowers(objects: Objects) -> None:
    spec = _spec(objects, "ScaledObject")
    assert len(spec["triggers"]) == 1
    assert "scalingModifiers" not in spec["advanced"]
    assert spec["fallback"]["behavior"] == "currentReplicasIfHigher"


def _nothing_undercuts_the_floor(objects: Objects) -> None:
    assert "idleReplicaCount" not in _spec(objects, "ScaledObject")
    assert _spec(objects, "ScaledObject")["minReplicaCount"] >= 1


def _query_is_of_metrics_the_engine_has(objects: Objects) -> None:
    exposed = EngineMetrics().text("support-8b", 1, 1, 0.4)
    assert "\nvllm:kv_cache_usage_perc{" in exposed
    for name in re.findall(r"sum\(([^{]+)\{", _trigger(objects)["metadata"]["query"]):
        assert f"\n{name}{{" in exposed
    assert "gpu_cache_usage_perc" not in exposed


def _load_comes_from_the_engine_and_not_from_the_gpu(objects: Objects) -> None:
    assert "DCGM" not in _trigger(objects)["metadata"]["query"]


def _budget_lets_nodes_drain(objects: Objects) -> None:
    spec = _spec(objects, "PodDisruptionBudget")
    assert spec["maxUnavailable"] == 1
    assert "minAvailable" not in spec


def _release_drains_streams(objects: Objects) -> None:
    pod = _spec(objects, "Deployment")["template"]["spec"]
    (engine,) = pod["containers"]
    assert engine["lifecycle"]["preStop"]["sleep"]["seconds"] == 15
    assert "--shutdown-timeout=180" in engine["args"]
    assert pod["terminationGracePeriodSeconds"] > 195


def _rollout_needs_whole_gpus(objects: Objects) -> None:
    assert _spec(objects, "Deployment")["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


def _replicas_are_the_autoscalers(objects: Objects) -> None:
    assert "replicas" not in _spec(objects, "Deployment")


def _floor_survives_up(objects: Objects) -> None:
    scaler = objects["ScaledObject"]
    assert scaler.options["ignoreChanges"] == ["spec.minReplicaCount"]
    for item in objects.values():
        assert "pulumi.com/patchForce" not in item.inputs["metadata"].get("annotations", {})


def _ignored_on_the_object_itself(objects: Objects) -> None:
    assert objects["ScaledObject"].custom


def _waits_outlast_the_cold_start(objects: Objects) -> None:
    assert _seconds(objects, "create") >= 2 * 1200
    assert _seconds(objects, "update") >= 16 * 1200


@pytest.mark.parametrize(
    ("rule", "report"),
    [
        (_no_data_is_not_zero, "https://github.com/kedacore/keda/issues/3065"),
        (_no_data_is_not_zero, "https://github.com/kedacore/keda/issues/7475"),
        (_fallback_is_one_and_never_lowers, "https://github.com/kedacore/keda/issues/5371"),
        (_fallback_is_one_and_never_lowers, "https://github.com/kedacore/keda/issues/6659"),
        (_nothing_undercuts_the_floor, "https://github.com/kedacore/keda/issues/4995"),
        (_query_is_of_metrics_the_engine_has, "https://github.com/volcano-sh/kthena/pull/868"),
        (_query_is_of_metrics_the_engine_has, "https://github.com/vllm-project/vllm/pull/27341"),
        (_load_comes_from_the_engine_and_not_from_the_gpu, "https://github.com/NVIDIA/dcgm-exporter/issues/138"),
        (_budget_lets_nodes_drain, "https://github.com/nais/naiserator/pull/268"),
        (_budget_lets_nodes_drain, "https://github.com/devantler-tech/platform/issues/1880"),
        (_release_drains_streams, "https://github.com/vllm-project/vllm/pull/43208"),
        (_release_drains_streams, "https://github.com/kserve/kserve/pull/5496"),
        (_rollout_needs_whole_gpus, "https://github.com/ai-runway/airunway/issues/400"),
        (_replicas_are_the_autoscalers, "https://github.com/pulumi/pulumi-kubernetes/issues/2569"),
        (_floor_survives_up, "https://github.com/pulumi/pulumi-kubernetes/issues/2542"),
        (_ignored_on_the_object_itself, "https://github.com/pulumi/pulumi-eks/issues/709"),
        (_waits_outlast_the_cold_start, "https://github.com/pulumi/pulumi-kubernetes/issues/712"),
    ],
    ids=lambda part: part if isinstance(part, str) else part.__name__.removeprefix("_"),
)
def test_manifest(rule: Callable[[Objects], None], report: str, objects: Objects) -> None:
    rule(objects)


def test_a_conflict_is_never_forced() -> None:
    """https://github.com/pulumi/docs/pull/16161: forced, a floor of 7 goes back to 2 in the middle of the sale."""
    (provider,) = (item for item in render("test", platform()).objects if item.type == "pulumi:providers:kubernetes")
    assert provider.inputs["enableServerSideApply"] in {True, "true"}
    assert provider.inputs.get("enablePatchForce") in {None, False, "false"}


def test_rest_at_zero_says_that_no_load_wakes_it() -> None:
    """https://github.com/llm-d/llm-d/pull/2492: an engine at 0 has no series, so the query is empty."""
    asleep = platform({"support-bot": service_data(replicas={"min": 0, "max": 16})})
    assert "only an event or a person wakes it" in "\n".join(notes("test", asleep))
    # 0 would be no fallback to KEDA: the last replica would go with the metrics.
    assert _spec(_objects(asleep), "ScaledObject")["fallback"]["replicas"] == 1


class TestTheMetricMayPassItsThreshold:
    """https://github.com/defilantech/LLMKube/pull/483: a metric bounded at its target never scales."""

    def _found(self, limit: str, flag: str = DIALECTS["vllm"].in_flight_limit) -> list[str]:
        engine = service_data()["engine"] | {"args": {flag: limit}}
        return [f"{item.expected}. {item.fix}" for item in misfits(platform({"bot": service_data(engine=engine)}))]

    @pytest.mark.parametrize("limit", ["1", "40", "44"])
    def test_refused_at_the_target_and_within_the_autoscalers_tolerance(self, limit: str) -> None:
        (found,) = self._found(limit)
        assert found.startswith("45 or more: replicas are added above 40 x 1.1 in flight. Raise it")
        assert self._found(limit, "max-num-queued-req"), "engines accept a flag's unique beginning for it"

    def test_above_it_is_the_operators(self) -> None:
        assert self._found("45") == self._found("96") == self._found("40", "max-num-queued-tokens") == []
