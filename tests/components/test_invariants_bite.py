"""Each invariant fails on the fault it is there for: one that cannot fail holds nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from infra.render import Render, render
from tests.components import test_invariants as rules
from tests.components.specs import platform

Object = dict[str, Any]


def _pod(item: Object) -> Object:
    pod: Object = item["spec"]["template"]["spec"]
    return pod


def _engine(item: Object) -> Object:
    container: Object = _pod(item)["containers"][0]
    return container


def _trigger(item: Object) -> Object:
    trigger: Object = item["spec"]["triggers"][0]
    return trigger


def _reworded(item: Object, before: str, after: str) -> None:
    metadata = _trigger(item)["metadata"]
    assert before in metadata["query"]
    metadata["query"] = metadata["query"].replace(before, after)


def _without_drain(item: Object) -> None:
    _engine(item)["args"] = [
        text.replace("shutdown-timeout=180", "shutdown-timeout=0") for text in _engine(item)["args"]
    ]


FAULTS: list[tuple[Callable[[rules.World], None], str, Callable[[Object], Any]]] = [
    (
        rules.scaler_has_nothing_that_keda_drops,
        "ScaledObject",
        lambda item: item["spec"]["advanced"].update(restoreToOriginalReplicaCount=False),
    ),
    (
        rules.the_start_of_a_pod_is_known_for_one_of_its_service,
        "Deployment",
        lambda item: _engine(item).update(args=_engine(item)["args"][1:]) or _pod(item).pop("initContainers"),
    ),
    (rules.no_schema_fault, "Deployment", lambda item: item["spec"].update(replica=2)),
    (
        rules.gpu_request_is_the_limit_and_fits_a_node,
        "Deployment",
        lambda item: _engine(item)["resources"]["limits"].update({"nvidia.com/gpu": "2"}),
    ),
    (
        rules.gpu_request_is_the_limit_and_fits_a_node,
        "Deployment",
        lambda item: _engine(item)["resources"]["requests"].update(cpu="8"),
    ),
    (
        rules.grace_outlasts_pre_stop_and_the_longest_stream,
        "Deployment",
        lambda item: _pod(item).update(terminationGracePeriodSeconds=195),
    ),
    (rules.grace_outlasts_pre_stop_and_the_longest_stream, "Deployment", _without_drain),
    (
        rules.zones_bind_where_they_are_asked_and_only_there,
        "Deployment",
        lambda item: _pod(item)["topologySpreadConstraints"][0].update(minDomains=3),
    ),
    (
        rules.zones_bind_where_they_are_asked_and_only_there,
        "Deployment",
        lambda item: _pod(item)["topologySpreadConstraints"][0]["labelSelector"].update(matchLabels={"app": "bot"}),
    ),
    (
        rules.startup_allows_twice_the_engine_start,
        "Deployment",
        lambda item: _engine(item)["startupProbe"].update(failureThreshold=3),
    ),
    (
        rules.waits_outlast_cold_start_and_rollout,
        "Deployment",
        lambda item: item["spec"].update(progressDeadlineSeconds=300),
    ),
    (rules.nobody_but_keda_sets_replicas, "Deployment", lambda item: item["spec"].update(replicas=2)),
    (rules.scaler_says_what_the_spec_says, "ScaledObject", lambda item: _trigger(item).update(metricType="Value")),
    (
        rules.scaler_says_what_the_spec_says,
        "ScaledObject",
        lambda item: _trigger(item)["metadata"].update(ignoreNullValues="true"),
    ),
    (rules.query_is_one_element_of_known_metrics, "ScaledObject", lambda item: _reworded(item, "sum(", "(")),
    (rules.query_is_one_element_of_known_metrics, "ScaledObject", lambda item: _reworded(item, "model_name", "model")),
    (
        rules.query_is_one_element_of_known_metrics,
        "ScaledObject",
        lambda item: _reworded(item, "num_requests_running", "num_requests_active"),
    ),
    (rules.pods_go_onto_their_pool_and_nowhere_else, "DaemonSet", lambda item: _pod(item).update(tolerations=[])),
    (
        rules.images_are_pinned_and_pulled_ahead,
        "Deployment",
        lambda item: _engine(item).update(image="vllm/vllm-openai:latest"),
    ),
    (
        rules.images_are_pinned_and_pulled_ahead,
        "Deployment",
        lambda item: _engine(item).update(image="vllm/vllm-openai@sha256:" + "3" * 64),
    ),
    (
        rules.pods_may_do_no_more_than_they_need,
        "Deployment",
        lambda item: _pod(item)["volumes"].append({"name": "etc", "hostPath": {"path": "/etc"}}),
    ),
    (
        rules.pods_may_do_no_more_than_they_need,
        "Deployment",
        lambda item: _engine(item)["securityContext"].update(runAsUser=0),
    ),
    (
        rules.names_fit_and_children_carry_the_parents,
        "Service",
        lambda item: item["metadata"].update(name="Support_Bot"),
    ),
    (
        rules.everything_in_the_cluster_goes_through_the_one_provider,
        "Service",
        lambda item: item["metadata"]["labels"].update({"warmline.dev/stack": "other"}),
    ),
]


@pytest.fixture(scope="module")
def sound() -> rules.World:
    return rules.World(platform(), render("test", platform()))


@pytest.mark.parametrize(("rule", "kind", "spoil"), FAULTS, ids=lambda part: getattr(part, "__name__", str(part)))
def test_rule_bites(
    rule: Callable[[rules.World], None], kind: str, spoil: Callable[[Object], Any], sound: rules.World
) -> None:
    rule(sound)
    objects = copy.deepcopy(sound.rendered.objects)
    spoil(next(item.inputs for item in objects if item.inputs.get("kind") == kind))
    with pytest.raises(AssertionError):
        rule(rules.World(sound.platform, Render("test", objects, {})))


def test_every_rule_is_tried() -> None:
    assert {rule for rule, _, _ in FAULTS} == set(rules.INVARIANTS)
