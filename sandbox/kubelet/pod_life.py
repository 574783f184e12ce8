"""A pod from its scheduling to its deletion."""

from __future__ import annotations

import asyncio
import time

from lightkube.models.core_v1 import Container, PodSpec
from lightkube.resources.core_v1 import Pod

from sandbox.kubelet.container import outlives_pod, weights_key
from sandbox.kubelet.container_life import ContainerLife
from sandbox.kubelet.image import image_present
from sandbox.kubelet.status import CONDITION_TYPES, ContainerView, PodView, clock_text
from sandbox.kubelet.world import PodWorld

WEIGHTS_CONTAINER = "weights"


class PodLife:
    """Init containers one after the other, then the containers, until the pod is deleted or its node is gone."""

    def __init__(self, world: PodWorld) -> None:
        """`world.pod` must be scheduled and its address given."""
        self.world = world
        self.spec: PodSpec = world.pod.spec or PodSpec(containers=[])
        self.view = _view_of(world.pod, self.spec, world.pod_ip)
        policy = self.view.restart_policy
        views = zip(self.spec.containers, self.view.containers, strict=True)
        self._lives = [ContainerLife(container, view, world, policy) for container, view in views]
        self._deletion_seen = asyncio.Event()
        self._seen_s = 0.0
        if is_deleted(world.pod):
            self.observe(world.pod)

    def observe(self, pod: Pod) -> None:
        """The API server shows a newer version of the pod."""
        self.world.pod = pod
        if is_deleted(pod) and not self._deletion_seen.is_set():
            self._seen_s = time.monotonic()
            self._deletion_seen.set()

    async def run(self) -> None:
        """Returns once every process of a deleted pod has ended; its object may then go."""
        if self._deletion_seen.is_set():
            # First seen on its way out: nothing of it runs here.
            return
        living = asyncio.create_task(self._live())
        deleting = asyncio.create_task(self._deletion_seen.wait())
        try:
            await asyncio.wait({living, deleting}, return_when=asyncio.FIRST_COMPLETED)
            if living.done():
                living.result()
                await deleting
            await asyncio.gather(*(life.stop(self._seen_s) for life in self._lives))
        finally:
            living.cancel()
            deleting.cancel()
            self.kill()

    def kill(self) -> None:
        """End every process at once: the object or the node is gone, or the double ends."""
        for life in self._lives:
            life.kill()

    async def _live(self) -> None:
        self.view.pod_ip = self.world.pod_ip
        self.world.changed()
        for container, view in zip(self.spec.initContainers or [], self.view.inits, strict=True):
            await self._init(container, view)
        self.world.changed()
        await asyncio.gather(*(life.live() for life in self._lives))

    async def _init(self, container: Container, view: ContainerView) -> None:
        if not await image_present(container, self.world):
            view.state = {"waiting": {"reason": "ErrImageNeverPull"}}
            self.world.changed()
            await asyncio.Event().wait()
        begun = clock_text()
        view.state = {"running": {"startedAt": begun}}
        self.world.record("Normal", "Started", f"Started container {container.name}")
        self.world.changed()
        if container.restartPolicy == "Always":
            view.is_started = view.is_ready = True
            return
        if container.name == WEIGHTS_CONTAINER:
            await self._load_weights(container)
        ended = {"exitCode": 0, "reason": "Completed", "startedAt": begun, "finishedAt": clock_text()}
        view.state, view.is_ready = {"terminated": ended}, True

    async def _load_weights(self, container: Container) -> None:
        world = self.world
        load_s = world.settings.jittered(world.times.weights_s, world.node_name, world.name)
        loaded = await world.disk.load_weights(
            weights_key(container), load_s, outlives_pod=outlives_pod(container, self.spec)
        )
        said = f"Loaded weights in {load_s:.3f}s" if loaded else "Weights already present on machine"
        world.record("Normal", "WeightsLoaded", said)


def is_deleted(pod: Pod) -> bool:
    """Whether the pod is on its way out."""
    return pod.metadata is not None and pod.metadata.deletionTimestamp is not None


def _view_of(pod: Pod, spec: PodSpec, pod_ip: str) -> PodView:
    """A fresh view; what an earlier life left in the status is kept: start time, transition times, restarts."""
    status = pod.status
    before = {item.name: item for item in (status.containerStatuses if status else None) or []}
    view = PodView(
        inits=[ContainerView(item.name, item.image or "") for item in spec.initContainers or []],
        containers=[ContainerView(item.name, item.image or "") for item in spec.containers],
        restart_policy=spec.restartPolicy or "Always",
        gates=[gate.conditionType for gate in spec.readinessGates or []],
        pod_ip=pod_ip,
        start_time=clock_text(status.startTime if status else None),
    )
    for container in view.containers:
        if known := before.get(container.name):
            ran = known.state is not None and known.state.running is not None
            container.restarts = known.restartCount + int(ran)
    for condition in (status.conditions if status else None) or []:
        if condition.type in CONDITION_TYPES:
            changed = clock_text(condition.lastTransitionTime)
            view.conditions[condition.type] = (condition.status, changed)
    return view
