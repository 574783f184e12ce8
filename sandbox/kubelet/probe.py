"""When a probe's answers change what is thought of a container. Pure.

Source: Kubernetes v1.34 `pkg/kubelet/prober/worker.go` and the API's defaults for `core/v1 Probe`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lightkube.models.core_v1 import Probe

Verdict = Literal["passed", "failed", "undecided"]


@dataclass(frozen=True, slots=True)
class ProbeTimes:
    """The numbers of a probe, defaults filled in."""

    initial_delay_s: float
    period_s: float
    timeout_s: float
    success_threshold: int
    failure_threshold: int


def times_of(probe: Probe) -> ProbeTimes:
    """Numbers of a probe as the API server would default them."""
    return ProbeTimes(
        initial_delay_s=probe.initialDelaySeconds or 0,
        period_s=probe.periodSeconds or 10,
        timeout_s=probe.timeoutSeconds or 1,
        success_threshold=probe.successThreshold or 1,
        failure_threshold=probe.failureThreshold or 3,
    )


@dataclass(frozen=True, slots=True)
class ProbeStreak:
    """The last answers that were alike."""

    is_success: bool = False
    length: int = 0

    def after(self, *, is_success: bool) -> ProbeStreak:
        """The streak with one more answer."""
        return ProbeStreak(is_success, self.length + 1 if is_success == self.is_success else 1)

    def verdict(self, times: ProbeTimes) -> Verdict:
        """What the streak is enough for; undecided leaves everything as it was."""
        if self.is_success and self.length >= times.success_threshold:
            return "passed"
        if not self.is_success and self.length >= times.failure_threshold:
            return "failed"
        return "undecided"
