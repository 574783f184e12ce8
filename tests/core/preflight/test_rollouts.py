"""Preflight of how replicas start, end and are rolled out: probes, grace, deadlines, Deployments."""

from __future__ import annotations

from typing import Any

import pytest

from prescale.preflight.checks import lifetimes, rollouts
from tests.core.preflight.bends import deployment, engine, template
from tests.core.preflight.cases import Case, both, holds, setting
from tests.core.preflight.world import World


def deployment_spec(bent: World) -> dict[str, Any]:
    part: dict[str, Any] = bent.deployment["spec"]
    return part


def said(kind: str, value: str, reason: str) -> Any:
    return deployment(conditions=[{"type": kind, "status": value, "reason": reason, "message": "why"}])


CASES = [
    Case(
        "a startup probe that gives up",
        lifetimes.startup,
        "startupProbe of container engine: got 174 s (29 x 6 s), expected at least the 180 s",
        setting(lambda w: w.engine["startupProbe"], failureThreshold=29),
        setting(lambda w: w.engine["startupProbe"], failureThreshold=30),
    ),
    Case(
        "a liveness probe that does not wait",
        lifetimes.startup,
        "livenessProbe of container engine: got 60 s",
        engine(startupProbe=None),
        setting(lambda w: w.engine["livenessProbe"], initialDelaySeconds=120),
    ),
    Case(
        "weights that the engine loads",
        lifetimes.startup,
        "at least the 300 s of a start's p95 (engine and weights)",
        both(template(initContainers=[]), setting(lambda w: w.engine["startupProbe"], failureThreshold=49)),
        setting(lambda w: w.engine["startupProbe"], failureThreshold=50),
    ),
    Case(
        "a grace that cuts streams",
        lifetimes.grace,
        "got 195 s, expected more than 195 s: preStop 15 s and the longest stream",
        template(terminationGracePeriodSeconds=195),
        template(terminationGracePeriodSeconds=196),
    ),
    Case(
        "a grace that a shell's sleep eats",
        lifetimes.grace,
        "preStop 60 s",
        engine(lifecycle={"preStop": {"exec": {"command": ["sh", "-c", "sleep 60 && true"]}}}),
        template(terminationGracePeriodSeconds=241),
    ),
    Case(
        "a deadline within a cold start",
        lifetimes.progress_deadline,
        "got 300 s, expected more than a cold start of 300 s",
        setting(deployment_spec, progressDeadlineSeconds=300),
        setting(deployment_spec, progressDeadlineSeconds=301),
    ),
    Case(
        "a Deployment paused",
        rollouts.paused,
        "got spec.paused",
        setting(deployment_spec, paused=True),
        setting(deployment_spec, paused=False),
    ),
    Case(
        "a rollout",
        rollouts.in_progress,
        "1 of 3 pods are of the new template",
        deployment(updatedReplicas=1, replicas=3),
        deployment(updatedReplicas=2, replicas=2),
    ),
    Case(
        "a template nobody has looked at",
        rollouts.in_progress,
        "a rollout in progress: a template that its controller has not looked at yet",
        setting(lambda w: w.deployment["metadata"], generation=2),
        deployment(observedGeneration=2),
    ),
    Case(
        "a rollout given up",
        rollouts.failed,
        "ProgressDeadlineExceeded: why",
        said("Progressing", "False", "ProgressDeadlineExceeded"),
        said("Progressing", "True", "ReplicaSetUpdated"),
    ),
    Case(
        "pods refused",
        rollouts.failed,
        "FailedCreate: why",
        said("ReplicaFailure", "True", "FailedCreate"),
        said("ReplicaFailure", "False", ""),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_found_and_gone_when_mended(case: Case) -> None:
    holds(case)
