"""How long things may take: probes, drain and await timeouts, each derived from what the spec promises. Pure.

All results are whole seconds unless the name says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

from stacks.spec import Service

ENDPOINT_PROPAGATION_S = 15
"""From a pod's deletion until no balancer sends it requests. Source: KServe's LLM preset sleeps 15 s in preStop."""

EXIT_SLACK_S = 30
"""For an engine to leave after its drain: abort what is left, free the GPU, flush."""

START_SLACK_S = 60
"""On top of twice the p95 engine start: a first start also compiles, and the p95 was measured on warm caches."""

AWAIT_SLACK_S = 300
"""On top of the derived rollout time: scheduling, image pulls on single nodes, controllers' own delays."""

KUBERNETES_PROGRESS_DEADLINE_S = 600
"""Source: apps/v1 DeploymentSpec.progressDeadlineSeconds, default."""

PULUMI_AWAIT_S = 600
"""Source: pulumi-kubernetes, await timeout of a Deployment when none is set."""


@dataclass(frozen=True)
class ProbeTiming:
    """Fields of a Kubernetes probe."""

    period_s: int
    timeout_s: int
    failures: int


@dataclass(frozen=True)
class AwaitTimeouts:
    """How long `pulumi up` waits for the Deployment in each of its ways to change."""

    create_s: int
    update_s: int
    delete_s: int


def drain_s(service: Service) -> int:
    """What the engine gets to end its streams after SIGTERM: the longest one's length."""
    return service.longest_stream_s


def grace_s(service: Service) -> int:
    """`terminationGracePeriodSeconds`. It counts from the deletion, so preStop eats of it too."""
    return ENDPOINT_PROPAGATION_S + drain_s(service) + EXIT_SLACK_S


def startup_probe(service: Service) -> ProbeTiming:
    """Allow twice the p95 engine start and slack; ask every 1/30 of the start, so that asking costs at most 3 % of it.

    The probe begins when the engine's container starts: nodes, images and weights are behind it by then.
    """
    start_s = service.cold_start.engine_start_s
    period_s = min(10, max(1, start_s // 30))
    return ProbeTiming(period_s, 5, -(-(2 * start_s + START_SLACK_S) // period_s))


def readiness_probe() -> ProbeTiming:
    """Six seconds of silence take a pod out of the balance; a busy event loop answers late, so 5 s for one answer."""
    return ProbeTiming(2, 5, 3)


def liveness_probe() -> ProbeTiming:
    """A minute without an answer restarts the engine: a restart costs a cold start, so doubt is in its favour."""
    return ProbeTiming(10, 10, 6)


def rollout_waves(service: Service) -> int:
    """Waves to replace every replica at the ceiling: a rollout may meet the floor of an event."""
    step = service.rollout.surge + service.rollout.unavailable
    return -(-service.replicas.max // step)


def wave_s(service: Service) -> int:
    """One wave: a cold start, and before it the drain of the pod whose GPU it takes, where no GPU is spare."""
    return service.cold_start.total_s + grace_s(service)


def progress_deadline_s(service: Service) -> int:
    """`progressDeadlineSeconds`: two waves without a new Ready pod, and not below Kubernetes' default."""
    return max(KUBERNETES_PROGRESS_DEADLINE_S, 2 * wave_s(service) + START_SLACK_S)


def await_timeouts(service: Service) -> AwaitTimeouts:
    """How long `pulumi up` may wait before it calls the Deployment failed.

    On create all pods start at once: twice a cold start. On update the waves follow each other. Both outlast the
    progress deadline, for Kubernetes says why it gave up and Pulumi says that time ran out.
    """
    verdict_s = progress_deadline_s(service) + START_SLACK_S
    create_s = 2 * service.cold_start.total_s + AWAIT_SLACK_S
    update_s = (rollout_waves(service) + 1) * wave_s(service) + AWAIT_SLACK_S
    return AwaitTimeouts(
        create_s=max(verdict_s, create_s),
        update_s=max(verdict_s, update_s),
        delete_s=max(PULUMI_AWAIT_S, grace_s(service) + AWAIT_SLACK_S),
    )
