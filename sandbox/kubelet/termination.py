"""When a container that must go gets its signals. Pure.

Source: Kubernetes v1.34 `pkg/kubelet/kuberuntime/kuberuntime_container.go`, killContainer: the grace period runs
from the deletion, preStop is paid from it, and what is left is never less than two seconds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lightkube.models.core_v1 import Container, LifecycleHandler

MINIMUM_GRACE_S = 2.0
_SLEEP = re.compile(r"^(?:exec\s+)?(?:/(?:usr/)?bin/)?sleep\s+(\d+(?:\.\d+)?)s?\s*;?$")


@dataclass(frozen=True, slots=True)
class TerminationTimes:
    """Seconds after the deletion."""

    sigterm_s: float
    sigkill_s: float


def termination_times(grace_s: float, pre_stop_s: float) -> TerminationTimes:
    """When the signals come if preStop takes `pre_stop_s` and the pod's grace is `grace_s`."""
    sigterm_s = min(pre_stop_s, grace_s)
    return TerminationTimes(sigterm_s, max(grace_s, sigterm_s + MINIMUM_GRACE_S))


def pre_stop_of(container: Container) -> LifecycleHandler | None:
    """The container's preStop handler, if any."""
    return container.lifecycle.preStop if container.lifecycle else None


def sleep_s_of(handler: LifecycleHandler) -> float | None:
    """Seconds of a handler that only sleeps, by `sleep:` or by an exec of sleep; None if it does something else."""
    if handler.sleep is not None:
        return float(handler.sleep.seconds)
    if handler.exec is None or not handler.exec.command:
        return None
    command = list(handler.exec.command)
    if len(command) == 3 and command[0].rsplit("/", 1)[-1] in ("sh", "bash") and command[1] == "-c":
        text = command[2]
    else:
        text = " ".join(command)
    found = _SLEEP.match(text.strip())
    return float(found.group(1)) if found else None
