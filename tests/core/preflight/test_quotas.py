"""Preflight of quotas, limit ranges and priorities: what admission and the scheduler allow."""

from __future__ import annotations

from typing import Any

import pytest

from prescale.preflight.checks import priorities, quotas
from tests.core.preflight.bends import template
from tests.core.preflight.cases import Case, both, holds, setting
from tests.core.preflight.world import World

CLASSES = "priorityclasses.scheduling.k8s.io"
QUOTAS = "resourcequotas"
RANGES = "limitranges"


def quota(**hard: str) -> Any:
    names = {"gpus": "requests.nvidia.com/gpu", "limits_cpu": "limits.cpu"}
    used = {"requests.nvidia.com/gpu": "2", "pods": "20", "cpu": "12", "memory": "96Gi"}

    def bend(bent: World) -> None:
        bent.objects[QUOTAS] = []
        bent.add(QUOTAS, "team", spec={"hard": {names.get(k, k): v for k, v in hard.items()}}, status={"used": used})

    return bend


def scoped(operator: str, *values: str) -> Any:
    scope = {"scopeName": "PriorityClass", "operator": operator, "values": list(values)}
    return lambda bent: bent.one(QUOTAS, "team")["spec"].__setitem__("scopeSelector", {"matchExpressions": [scope]})


def limit_range(**fields: Any) -> Any:
    def bend(bent: World) -> None:
        bent.objects[RANGES] = []
        bent.add(RANGES, "team", spec={"limits": [{"type": "Container", **fields}]})

    return bend


CASES = [
    Case(
        "a quota of GPUs",
        quotas.quota_of_the_floors,
        "team: got requests.nvidia.com/gpu: 6, of which 2 are used, expected 7 for the floors of support-bot",
        quota(gpus="6"),
        quota(gpus="7"),
    ),
    Case(
        "a quota of pods",
        quotas.quota_of_the_floors,
        "pods: 24, of which 20 are used, expected 25",
        quota(pods="24"),
        quota(pods="25"),
    ),
    Case(
        "a quota of memory",
        quotas.quota_of_the_floors,
        "memory: 335Gi, of which 96Gi are used, expected 336Gi",
        quota(memory="335Gi"),
        quota(memory="336Gi"),
    ),
    Case(
        "a quota of another priority",
        quotas.quota_of_the_floors,
        "requests.nvidia.com/gpu: 6",
        both(quota(gpus="6"), scoped("DoesNotExist")),
        scoped("In", "batch"),
    ),
    Case(
        "a quota of CPU limits",
        quotas.quota_needs_words,
        "no limits.cpu in container weights, engine",
        quota(limits_cpu="500"),
        both(quota(limits_cpu="500"), limit_range(default={"cpu": "8"}, defaultRequest={"cpu": "1"})),
    ),
    Case(
        "a range below the request",
        quotas.limit_ranges,
        "LimitRange team, container engine: got request memory 48Gi, expected at most 32Gi",
        both(
            limit_range(max={"memory": "32Gi"}, default={"memory": "32Gi"}),
            setting(lambda w: w.engine["resources"]["limits"], memory="48Gi"),
        ),
        limit_range(max={"memory": "48Gi"}, default={"memory": "48Gi"}),
    ),
    Case(
        "a range above the request",
        quotas.limit_ranges,
        "container weights: got request cpu 1, expected at least 2",
        limit_range(min={"cpu": "2"}),
        limit_range(min={"cpu": "1"}),
    ),
    Case(
        "a ratio of limit to request",
        quotas.limit_ranges,
        "limit memory 48Gi of request 1Gi, expected at most 4 x the request",
        limit_range(maxLimitRequestRatio={"memory": "4"}, default={"memory": "48Gi"}),
        limit_range(maxLimitRequestRatio={"memory": "48"}, default={"memory": "48Gi"}),
    ),
    Case(
        "a default limit below the request",
        quotas.requests_above_limits,
        "request cpu 6 above its limit 4",
        limit_range(default={"cpu": "4"}),
        limit_range(default={"cpu": "6"}),
    ),
    Case(
        "a class nobody made",
        priorities.class_is_there,
        "PriorityClass serving: got nothing",
        template(priorityClassName="serving"),
        lambda w: w.add(CLASSES, "serving", value=1000),
    ),
    Case(
        "others above ours",
        priorities.taken_by_others,
        "got 0, below that of batch/guest (1000)",
        lambda w: w.guest("l40s-17", priority=1000),
        both(template(priorityClassName="serving"), lambda w: w.add(CLASSES, "serving", value=1000)),
    ),
    Case(
        "others above ours that wait",
        priorities.taken_by_others,
        "batch/guest (1000)",
        lambda w: w.guest("", priority=1000)["spec"].update(tolerations=[{"operator": "Exists"}]),
        lambda w: w.pods[-1]["spec"].update(preemptionPolicy="Never"),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_found_and_gone_when_mended(case: Case) -> None:
    holds(case)
