"""Whether a pod gets the time it takes: to start, to end its streams, and to be called started."""

from __future__ import annotations

import re
from collections.abc import Iterator

from prescale.preflight.finding import Found
from prescale.preflight.kinds.pod import Container, Probe
from prescale.preflight.scene import Target

SLEEPS = re.compile(r"\bsleep\s+(\d+)\b")


def startup(target: Target) -> Iterator[Found]:
    """A probe that gives up before the p95 of a start kills one start in twenty, just when all start together."""
    cold = target.service.cold_start
    # Without an init container that fetches them the engine loads the weights itself.
    loads = "" if target.template.init_containers else " and weights"
    needs_s = cold.engine_start_s + (cold.weights_s if loads else 0)
    for container in target.template.containers:
        kind, probe = _judge_of_start(container)
        if probe is not None and probe.budget_s < needs_s:
            yield Found(
                what=f"{kind} of container {container.name}",
                got=f"{probe.budget_s} s ({probe.failure_threshold} x {probe.period_seconds} s)",
                expected=f"at least the {needs_s} s of a start's p95 (engine{loads})",
                fix="Raise failureThreshold: a start that is killed begins anew.",
            )


def _judge_of_start(container: Container) -> tuple[str, Probe | None]:
    """A startup probe holds the liveness probe off."""
    if container.startup_probe is not None:
        return "startupProbe", container.startup_probe
    return "livenessProbe", container.liveness_probe


def grace(target: Target) -> Iterator[Found]:
    """From a pod's deletion on: preStop first, then the longest stream, then the end."""
    stops = [_pre_stop_s(container) for container in target.template.containers]
    needs_s = max(stops, default=0) + target.service.longest_stream_s
    given_s = target.template.termination_grace_period_seconds
    if given_s <= needs_s:
        yield Found(
            what="terminationGracePeriodSeconds",
            got=f"{given_s} s",
            expected=f"more than {needs_s} s: preStop {max(stops, default=0)} s and the longest stream",
            fix="Raise it, or streams are cut when replicas are let go.",
        )


def _pre_stop_s(container: Container) -> int:
    hook = container.lifecycle.pre_stop
    if hook is None:
        return 0
    if hook.sleep is not None:
        return hook.sleep.seconds
    said = SLEEPS.search(" ".join(hook.exec.command)) if hook.exec else None
    return int(said[1]) if said else 0


def progress_deadline(target: Target) -> Iterator[Found]:
    given_s, needs_s = target.deployment.spec.progress_deadline_seconds, target.service.cold_start.total_s
    if given_s <= needs_s:
        yield Found(
            what="progressDeadlineSeconds",
            got=f"{given_s} s",
            expected=f"more than a cold start of {needs_s} s (p95)",
            fix="Raise it: a Deployment that only starts slowly is called failed.",
        )
