"""The Deployment at rest: nothing half rolled out, paused, failed or set by hand when the raise begins."""

from __future__ import annotations

from collections.abc import Iterator

from prescale.preflight.finding import Found
from prescale.preflight.kinds.meta import condition
from prescale.preflight.scene import Target, is_rolling

DEADLINE = "ProgressDeadlineExceeded"


def paused(target: Target) -> Iterator[Found]:
    if target.deployment.spec.paused:
        yield Found(
            what=f"Deployment {target.deployment.metadata.name}",
            got="spec.paused",
            expected="not paused: a new template waits until it is resumed, whenever that is",
            fix=f"`kubectl rollout resume deployment/{target.deployment.metadata.name}`.",
        )


def in_progress(target: Target) -> Iterator[Found]:
    deployment, status = target.deployment, target.deployment.status
    if is_rolling(deployment) and not deployment.spec.paused:
        told = f"{status.updated_replicas} of {status.replicas} pods are of the new template"
        if status.observed_generation < deployment.metadata.generation:
            told = "a template that its controller has not looked at yet"
        yield Found(
            what=f"Deployment {deployment.metadata.name}",
            got=f"a rollout in progress: {told}",
            expected="none when the raise begins: both at once need the surge's GPUs and start cold",
            fix=f"Wait for `kubectl rollout status deployment/{deployment.metadata.name}`, or undo it.",
        )


def failed(target: Target) -> Iterator[Found]:
    """What the Deployment says of its own pods: they do not come, or are refused."""
    conditions = target.deployment.status.conditions
    progress, refusal = condition(conditions, "Progressing"), condition(conditions, "ReplicaFailure")
    if progress is not None and progress.status == "False" and progress.reason == DEADLINE:
        yield Found(
            what="condition Progressing of the Deployment",
            got=f"{progress.reason}: {progress.message}",
            expected="a rollout that ends",
            fix="Look at the newest pods, and mend or undo the rollout.",
        )
    if refusal is not None and refusal.status == "True":
        yield Found(
            what="condition ReplicaFailure of the Deployment",
            got=f"{refusal.reason}: {refusal.message}",
            expected="pods that the API server takes",
            fix="Mend what it says: a quota, a LimitRange, a policy, a missing ServiceAccount.",
        )
