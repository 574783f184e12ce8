"""A pod's start, measured from the pod alone; and why it is left out where the pod does not say enough.

What cannot be known: a readiness probe that fails for a moment moves the time of Ready, and nothing in the pod counts
that. So a Ready that came later than the engine's startup probe allows a first one is no first one; one that flapped
within that time looks like a slower start, which errs on the early side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from whenever import Instant

from prescale.lead_time.kind import is_of, kind_of
from prescale.lead_time.pod import Moments, Pod, moments, read
from prescale.lead_time.start import Phases, Start
from stacks import ownership
from stacks.spec import NodePool, Platform, Service

# A node's clock may be ahead of the API server's by so much without a word.
AHEAD_S = 10
# Beyond what the probes allow: a kubelet under load asks and answers later.
SLACK_S = 30
# A load balancer's readiness gate opens within minutes; one that opens later had closed before.
GATE_S = 900


class LeftOut(Exception):  # noqa: N818 - it names the state
    """The pod is Ready and its start is not measured: the text says why."""


def start_of(pod: Mapping[str, Any], service: Service, pool: NodePool, now: Instant) -> Start | None:
    """The pod's start; None while it is still on its way, or on its way out, or not of the service's kind.

    Args:
        pod: as the API server returned it.
        now: the API server's time, as far as it is known.

    Raises:
        LeftOut: it is Ready and says too little.
    """
    try:
        known = read(pod)
    except msgspec.ValidationError as error:
        raise LeftOut(f"it is not as a pod should be ({error})") from None
    times = moments(known)
    if known.is_going or times.ready is None or not is_of(known, service, pool):
        return None
    _check(known, times, times.ready, now)
    total_s = _seconds(times.created, times.ready) or 0
    # The part of a Deployment's pod name that no other pod of the same second has.
    name = known.metadata.name.rpartition("-")[2]
    return Start(kind_of(service, pool), times.created, name, total_s, phases(times))


def phases(times: Moments) -> Phases:
    """How long each phase took. One that would be negative, by two clocks that differ, is unknown."""
    loads_s = [_seconds(*load) for load in times.loads]
    on_node_s = _seconds(times.scheduled, times.engine_started)
    weights_s = None if None in loads_s else sum(one for one in loads_s if one is not None)
    image_s = None if on_node_s is None or weights_s is None or on_node_s < weights_s else on_node_s - weights_s
    return Phases(
        node_s=_seconds(times.created, times.scheduled),
        image_s=image_s,
        weights_s=weights_s,
        engine_start_s=_seconds(times.engine_started, times.containers_ready),
        ready_s=_seconds(times.containers_ready, times.ready),
    )


def _check(pod: Pod, times: Moments, ready: Instant, now: Instant) -> None:
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    if any(one.restart_count for one in statuses):
        raise LeftOut("a container of it was restarted, so its Ready may not be the first")
    if ready > now.add(seconds=AHEAD_S):
        raise LeftOut("it is Ready in the future: its node's clock is ahead of the API server's")
    if times.engine_started is None or times.containers_ready is None:
        raise LeftOut("it does not say when its engine was started")
    if not times.created <= times.engine_started <= times.containers_ready:
        raise LeftOut("its times run backwards: its node's clock differs from the API server's")
    engine = pod.engine
    if engine is None or engine.startup_probe is None:
        raise LeftOut("without a startup probe nothing says whether its Ready is the first")
    readiness_s = engine.readiness_probe.allows_s if engine.readiness_probe else 0
    allowed_s = engine.startup_probe.allows_s + readiness_s + SLACK_S
    started_s = _seconds(times.engine_started, times.containers_ready) or 0
    gate_s = _seconds(times.containers_ready, ready) or 0
    if started_s > allowed_s or gate_s > GATE_S:
        raise LeftOut("it is Ready since later than a first Ready can be: it was not Ready for a while")


def _seconds(begin: Instant | None, end: Instant | None) -> int | None:
    if begin is None or end is None or end < begin:
        return None
    return round((end - begin).total("seconds"))


def measured(
    platform: Platform, pods: Iterable[Mapping[str, Any]], now: Instant
) -> tuple[dict[str, list[Start]], tuple[str, ...]]:
    """Service -> the starts that its pods tell of; and of those that are left out the reasons, each once."""
    starts: dict[str, list[Start]] = {}
    reasons: dict[tuple[str, str], int] = {}
    for pod in pods:
        name = (pod["metadata"].get("labels") or {}).get(ownership.SERVICE_LABEL, "")
        service = platform.services.get(name)
        if service is None:
            continue
        try:
            start = start_of(pod, service, platform.node_pools[service.node_pool], now)
        except LeftOut as error:
            reasons[name, str(error)] = reasons.get((name, str(error)), 0) + 1
        else:
            starts.setdefault(name, []).extend([start] if start else [])
    notes = (f"{name}: {_pods(count)} not measured: {reason}" for (name, reason), count in reasons.items())
    return {name: found for name, found in starts.items() if found}, tuple(notes)


def _pods(count: int) -> str:
    return "the start of 1 pod is" if count == 1 else f"the starts of {count} pods are"
