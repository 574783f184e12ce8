"""Replicas that are Ready on a ground where nothing runs: pods by name and status only."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from lightkube import ApiError
from lightkube.models.core_v1 import Container, PodCondition, PodSpec, PodStatus
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Pod, ServiceAccount

from sandbox.reliability.ground import Ground
from sandbox.reliability.stack_on_disk import STACK
from stacks import ownership

ACCOUNT = "default"


def serve(ground: Ground, replicas: int) -> None:
    """Make `replicas` Ready pods of each service; they stay until the namespace goes."""
    with suppress(ApiError):  # no controller makes the account that every pod has; an earlier call did
        ground.api.create(ServiceAccount(metadata=ObjectMeta(name=ACCOUNT, namespace=ground.namespace)))
    names = [(service.name, f"{service.name}-{number}") for service in ground.services for number in range(replicas)]
    with ThreadPoolExecutor(4) as makers:
        list(makers.map(lambda one: _ready(ground, *one), names))


def _ready(ground: Ground, service: str, name: str) -> None:
    labels = {ownership.STACK_LABEL: STACK, ownership.SERVICE_LABEL: service}
    metadata = ObjectMeta(name=name, namespace=ground.namespace, labels=labels)
    ground.api.create(Pod(metadata=metadata, spec=PodSpec(containers=[Container(name="engine", image="none")])))
    status = PodStatus(phase="Running", podIP="127.0.0.1", conditions=[PodCondition(type="Ready", status="True")])
    ground.api.patch(Pod.Status, name, {"status": status.to_dict()}, namespace=ground.namespace)
