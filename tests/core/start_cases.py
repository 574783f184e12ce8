"""Pods as the API server returns them in and after a start, by the seconds at which things happened."""

from __future__ import annotations

from typing import Any

from whenever import Instant

from prescale.clock import now
from stacks import ownership
from stacks.loader import load_platform
from stacks.node_contract import INSTANCE_TYPE_LABEL, POOL_LABEL, weights_folder
from tests.core.stack_files import LOCAL

PLATFORM = load_platform("local", LOCAL.parent)
SERVICE = PLATFORM.services["support-bot"]
POOL = PLATFORM.node_pools["l40s"]
BEGAN = Instant.from_utc(2027, 10, 29, 14)


def at(seconds: float) -> Instant:
    """Seconds after `BEGAN`."""
    return BEGAN.add(seconds=seconds)


def text(seconds: float) -> str:
    return at(seconds).format_iso()


def condition(kind: str, seconds: float | None, since_s: float = 0) -> dict[str, Any]:
    """True since `seconds`, or False since `since_s`."""
    status, when = ("False", since_s) if seconds is None else ("True", seconds)
    return {"type": kind, "status": status, "lastTransitionTime": text(when)}


def spec() -> dict[str, Any]:
    """As `infra` makes it of stack local, as far as a start is concerned."""
    expressions = [
        {"key": POOL_LABEL, "operator": "In", "values": [SERVICE.node_pool]},
        {"key": INSTANCE_TYPE_LABEL, "operator": "In", "values": list(POOL.instance_types)},
    ]
    required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    health = {"httpGet": {"path": "/health", "port": "http"}}
    engine = {
        "name": "engine",
        "image": SERVICE.engine.image,
        "args": [f"/weights/{weights_folder(SERVICE.model)}", "--port=8000"],
        "ports": [{"name": "http", "containerPort": 8000}],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
        "startupProbe": {**health, "periodSeconds": 6, "timeoutSeconds": 5, "failureThreshold": 70},
        "readinessProbe": {**health, "periodSeconds": 2, "timeoutSeconds": 5, "failureThreshold": 3},
    }
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
        "initContainers": [{"name": "weights", "image": PLATFORM.weights_loader.image}],
        "containers": [engine],
    }


def pod(
    name: str = "support-bot-5c9-x2x4z",
    *,
    created: float = 0,
    scheduled: float | None = 1,
    loads: tuple[float, float | None] | None = (3, 123),
    engine: float | None = 124,
    containers_ready: float | None = 306,
    ready: float | None = 306,
    restarts: int = 0,
    **metadata: Any,
) -> dict[str, Any]:
    """Each moment in seconds after `BEGAN`; None has not come."""
    load: dict[str, Any] = {"waiting": {"reason": "PodInitializing"}}
    if loads is not None and loads[1] is None:
        load = {"running": {"startedAt": text(loads[0])}}
    elif loads is not None:
        load = {"terminated": {"exitCode": 0, "startedAt": text(loads[0]), "finishedAt": text(loads[1] or 0)}}
    state = {"waiting": {"reason": "PodInitializing"}} if engine is None else {"running": {"startedAt": text(engine)}}
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": text(created),
            "labels": {ownership.SERVICE_LABEL: "support-bot", ownership.STACK_LABEL: "local"},
            **metadata,
        },
        "spec": spec(),
        "status": {
            "phase": "Running",
            "podIP": "127.10.1.2",
            "conditions": [
                {"type": "PodReadyToStartContainers", "status": "True", "lastTransitionTime": None},
                condition("PodScheduled", scheduled, created),
                condition("ContainersReady", containers_ready, created + 2),
                condition("Ready", ready, created + 2),
            ],
            "initContainerStatuses": [{"name": "weights", "restartCount": 0, "state": load}],
            "containerStatuses": [{"name": "engine", "restartCount": restarts, "state": state}],
        },
    }


def a_day_ago(total_s: float = 305) -> dict[str, Any]:
    """The moments of a `pod` that was made a day ago by this machine's clock."""
    began = (now().subtract(hours=24) - BEGAN).total("seconds")
    on_the_way = {"scheduled": began + 1, "loads": (began + 2, began + 122), "engine": began + 123}
    return {"created": began, **on_the_way, "containers_ready": began + total_s, "ready": began + total_s}
