"""How far one pod is on its way to Ready, and what keeps it there if it says so. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from whenever import Instant

from prescale.lead_time.pod import Pod, moments, since
from prescale.lead_time.reckoning import LeadTime
from prescale.lead_time.start import PHASES

Stage = Literal["unscheduled", "pulling", "init", "starting", "ready"]
STAGES: tuple[Stage, ...] = ("unscheduled", "pulling", "init", "starting", "ready")

NODES, IMAGE, WEIGHTS, ENGINE_START, GATES = range(len(PHASES))

# What a container that waits says when nothing is wrong.
_AS_USUAL = {"PodInitializing", "ContainerCreating"}


@dataclass(frozen=True)
class Progress:
    """`phase` (its place in `PHASES`) is the last one known to have begun, at `began`; None: whenever, it may end now.

    `why` is what the scheduler or the kubelet says of it, where that is more than patience.
    """

    stage: Stage
    phase: int
    began: Instant | None
    why: str | None = None

    def ready_at(self, lead: LeadTime, now: Instant) -> Instant:
        """When it should be Ready, by what is left from that phase's begin; what comes after it is still to come."""
        if self.stage == "ready":
            return now
        still_to_come = now.add(seconds=lead.remaining_s(self.phase + 1))
        return max(still_to_come, (self.began or now).add(seconds=lead.remaining_s(self.phase)))


def progress(pod: Pod) -> Progress:
    """Read it off a pod's moments: the last that has come says where it is."""
    times, why = moments(pod), _why(pod)
    if times.ready:
        return Progress("ready", GATES, times.ready)
    if _is_restarted(pod) and times.engine_started is None:
        return Progress("starting", ENGINE_START, None, why)
    not_ready = since(pod, "Ready", "False")
    if times.engine_started and not_ready and not_ready > times.engine_started and not _is_restarted(pod):
        return Progress("starting", GATES, None, "it was Ready before")
    begun = [begin for begin, _ in times.loads if begin]
    ended = [end for _, end in times.loads if end]
    reached: list[tuple[Instant | None, Stage, int]] = [
        (times.containers_ready, "starting", GATES),
        (times.engine_started, "starting", ENGINE_START),
        (max(ended) if ended and len(ended) == len(times.loads) else None, "pulling", ENGINE_START),
        (min(begun, default=None), "init", WEIGHTS),
        (times.scheduled, "pulling", IMAGE),
        (times.created, "unscheduled", NODES),
    ]
    began, stage, phase = next(one for one in reached if one[0])
    return Progress(stage, phase, began, why)


def _is_restarted(pod: Pod) -> bool:
    return any(one.restart_count for one in pod.status.container_statuses)


def _why(pod: Pod) -> str | None:
    for one in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        reason = one.state.waiting.reason if one.state.waiting else None
        if reason and reason not in _AS_USUAL:
            return f"{reason} of container {one.name}"
        if one.restart_count:
            return f"container {one.name} was restarted {one.restart_count} x"
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "False" and condition.message:
            return condition.message
    return None
