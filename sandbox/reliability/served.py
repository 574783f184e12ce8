"""One service that KEDA and the HPA really scale, and the programs around it that can be stopped and started again."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from lightkube import ApiError
from lightkube.resources.apps_v1 import Deployment

from sandbox import lifecycle
from sandbox.control_plane import keda, kubernetes, prometheus, startup
from sandbox.control_plane.component import Component
from sandbox.directory import record_of
from sandbox.layout import Layout, Settings, read_settings
from sandbox.reliability.course import rps_for
from sandbox.reliability.ground import BUILDER, Autoscaler, Ground, scaled_object
from sandbox.reliability.oracle import Event, Service
from sandbox.reliability.stack_on_disk import ScaledObject, calendar_text
from sandbox.toolchain.ensure import ensure

CHAT = Service("chat", baseline=2, ceiling=18, lead_s=60)
FLOOR = 12
HOUR_S = 3600

PROGRAMS: dict[str, Callable[[Layout, Settings], Component]] = {
    "etcd": kubernetes.etcd,
    "kube-apiserver": kubernetes.apiserver,
    "keda-operator": keda.operator,
    "prometheus": prometheus.component,
}


@dataclass
class Served(Ground):
    """One service whose Deployment KEDA and the HPA really scale; the load is for as many replicas as `asks_for`.

    It begins with `begins_with` replicas.
    """

    asks_for: int = 1
    begins_with: int = 1

    def deploy(self, name: str) -> None:
        """A Deployment of pods that nobody runs."""
        labels = {"app": name}
        pods = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "engine", "image": "none"}]}}
        spec = {"replicas": self.begins_with, "selector": {"matchLabels": labels}, "template": pods}
        made = {"metadata": {"name": name, "namespace": self.namespace}, "spec": spec}
        self.api.create(cast("Deployment", Deployment.from_dict(made)))

    def _build(self, service: Service) -> None:
        self.deploy(service.name)
        self.api.apply(ScaledObject(**self._object(service)), field_manager=BUILDER, force=True)

    def _object(self, service: Service) -> dict[str, Any]:
        made = scaled_object(self.namespace, service)
        query = {"serverAddress": lifecycle.prometheus_url(self.layout.directory), "query": f"vector({self.asks_for})"}
        trigger = {"type": "prometheus", "metadata": {**query, "threshold": "1", "ignoreNullValues": "false"}}
        fallback = {"failureThreshold": 3, "replicas": service.baseline, "behavior": "currentReplicasIfHigher"}
        made["spec"] = {**made["spec"], "triggers": [trigger], "pollingInterval": 2, "fallback": fallback}
        return made

    def clear(self) -> None:
        """Nothing: the sandbox goes with it."""

    def floor(self) -> int:
        return self.seen()[CHAT.name][0]

    def in_force(self) -> int | None:
        """What the HPA shows."""
        with suppress(ApiError):
            found: int = self.api.get(Autoscaler, f"keda-hpa-{CHAT.name}", namespace=self.namespace)["spec"][
                "minReplicas"
            ]
            return found
        return None

    def replicas(self, name: str = CHAT.name) -> int:
        """As many as are asked for."""
        spec = self.api.get(Deployment, name, namespace=self.namespace).spec
        return (spec.replicas or 0) if spec else 0

    def counted(self, name: str) -> int:
        """As many as there are."""
        status = self.api.get(Deployment, name, namespace=self.namespace).status
        return (status.replicas or 0) if status else 0

    def sale(self, *, is_on: bool, floor: int = FLOOR) -> None:
        """The sale is raised, half an hour before it begins: nothing becomes Ready here, and that is no matter yet.

        Or it was over an hour ago.
        """
        start = int(time.time()) + (HOUR_S // 2 if is_on else -3 * HOUR_S)
        sale = Event("sale", start, start + 2 * HOUR_S, {CHAT.name: rps_for(floor)})
        self.calendar.write_text(calendar_text([sale], margin_s=HOUR_S))


def start_again(layout: Layout, name: str) -> None:
    settings = read_settings(layout)
    if settings is None:
        raise AssertionError("the sandbox went away")
    tools = ensure(startup.TOOLS, lambda _: None)
    starting = startup.Starting(layout, settings, record_of(layout, settings), tools, lambda _: None)
    starting.ready(starting.launch(PROGRAMS[name]))
