"""What the cluster did, second by second: read from the API server and Prometheus, written to memory."""

from __future__ import annotations

import json
import threading
import time
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from typing import Any

from lightkube import Client
from lightkube.core.exceptions import ApiError
from lightkube.resources.autoscaling_v2 import HorizontalPodAutoscaler
from lightkube.resources.core_v1 import Pod

from stacks.ownership import SERVICE_LABEL


@dataclass(frozen=True)
class Sample:
    """One look. `at` is Unix time; replicas and requests are counts; None is unknown, never 0."""

    at: float
    floor: int | None
    desired: int | None
    ready: int
    starting: int
    in_flight: float | None


@dataclass(frozen=True)
class PodStart:
    """One pod's cold start by its own conditions; Unix times, to the second as the API server keeps them."""

    name: str
    created: float
    ready: float

    @property
    def cold_start_s(self) -> float:
        return self.ready - self.created


@dataclass
class Watch:
    """Samples one service in a thread until told to stop.

    Args:
        client: of the API server.
        prometheus_url: asked the scaler's own query.
        query: the query; None reads no load.
    """

    client: Client
    namespace: str
    service: str
    prometheus_url: str
    query: str | None
    period_s: float = 0.5
    samples: list[Sample] = field(default_factory=list)
    starts: dict[str, PodStart] = field(default_factory=dict)
    misses: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name=f"watch-{self.service}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread:
            self._thread.join(timeout=10)

    def latest(self) -> Sample | None:
        return self.samples[-1] if self.samples else None

    def _run(self) -> None:
        while not self._stop.wait(self.period_s):
            try:
                self.samples.append(self._look())
            except Exception:  # noqa: BLE001 - the API server may be away; a missing sample is counted, not fatal
                self.misses += 1

    def _look(self) -> Sample:
        floor = desired = None
        try:
            hpa = self.client.get(HorizontalPodAutoscaler, f"keda-hpa-{self.service}", namespace=self.namespace)
            floor = hpa.spec.minReplicas if hpa.spec else None
            desired = hpa.status.desiredReplicas if hpa.status else None
        except ApiError as error:
            if error.status.code != 404:
                raise
        ready = starting = 0
        for pod in self.client.list(Pod, namespace=self.namespace, labels={SERVICE_LABEL: self.service}):
            if pod.metadata is None or pod.metadata.deletionTimestamp is not None:
                continue
            became_ready = _ready_since(pod)
            if became_ready is None:
                starting += 1
                continue
            ready += 1
            name = str(pod.metadata.name)
            created = pod.metadata.creationTimestamp
            if name not in self.starts and created is not None:
                self.starts[name] = PodStart(name, created.timestamp(), became_ready)
        return Sample(time.time(), floor, desired, ready, starting, self._load())

    def _load(self) -> float | None:
        if self.query is None:
            return None
        try:
            result = ask_prometheus(self.prometheus_url, self.query)
        except (OSError, ValueError, KeyError):
            return None
        return float(result[0]["value"][1]) if result else None


def ask_prometheus(url: str, query: str, timeout_s: float = 2) -> list[Any]:
    """The series of an instant query; empty for none.

    Raises:
        OSError, ValueError, KeyError: it is away, or its answer is none.
    """
    address = f"{url}/api/v1/query?" + urllib.parse.urlencode({"query": query})
    with urllib.request.urlopen(address, timeout=timeout_s) as answer:  # noqa: S310 - loopback http
        series: list[Any] = json.load(answer)["data"]["result"]
        return series


def _ready_since(pod: Pod) -> float | None:
    conditions = (pod.status.conditions if pod.status else None) or []
    for condition in conditions:
        if condition.type == "Ready" and condition.status == "True" and condition.lastTransitionTime is not None:
            return condition.lastTransitionTime.timestamp()
    return None
