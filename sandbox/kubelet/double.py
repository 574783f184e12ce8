"""The acting shell: follows nodes and pods, gives each pod of a fake node its life, and cleans up behind it."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

from lightkube import AsyncClient
from lightkube.resources.core_v1 import Node, Pod

from sandbox.control_plane.follow import Followed
from sandbox.kubelet.address import NoAddressError, is_loopback_network, next_address
from sandbox.kubelet.cluster import EventRecorder, StatusWriter, delete_pod
from sandbox.kubelet.disk import NodeDisk
from sandbox.kubelet.pod_life import PodLife, is_deleted
from sandbox.kubelet.process import ChildRegister
from sandbox.kubelet.settings import KubeletSettings
from sandbox.kubelet.status import clock_text, pod_status
from sandbox.kubelet.world import EventKind, PodWorld

_LOG = logging.getLogger("kubelet")
_NO_ADDRESS_RETRY_S = 2.0


def is_fake(node: Node) -> bool:
    """Whether no machine stands behind the node: it carries kwok's mark, or its pods live on loopback."""
    metadata = node.metadata
    labels = (metadata.labels if metadata else None) or {}
    annotations = (metadata.annotations if metadata else None) or {}
    is_marked = labels.get("type") == "kwok" or annotations.get("kwok.x-k8s.io/node") == "fake"
    return is_marked or is_loopback_network(node.spec.podCIDR if node.spec else None)


class KubeletDouble:
    """One process plays the kubelet of every fake node."""

    def __init__(self, client: AsyncClient, settings: KubeletSettings, directory: Path) -> None:
        """`directory` keeps disks, logs and child pids over a restart."""
        self._client = client
        self._settings = settings
        self._directory = directory
        self._nodes = Followed(client, Node, lambda _, __: self._look_at_all())
        self._pods = Followed(client, Pod, self._look_at)
        self._events = EventRecorder(client)
        self._register = ChildRegister(directory / "children.json")
        self._lives: dict[str, PodLife] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._over: set[str] = set()
        self._disks: dict[str, NodeDisk] = {}
        self._addresses: dict[str, dict[str, str]] = {}
        self._last_address: dict[str, str] = {}

    async def run(self) -> None:
        """Until cancelled; then every child is killed, as when a machine is switched off."""
        for folder in ("logs", "disks"):
            (self._directory / folder).mkdir(parents=True, exist_ok=True)
        if killed := self._register.kill_orphans():
            _LOG.warning("ended what an earlier run left: %s", killed)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._events.run())
                tasks.create_task(self._nodes.run())
                await self._nodes.synced.wait()
                tasks.create_task(self._pods.run())
        finally:
            for life in self._lives.values():
                life.kill()
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _node_of(self, pod: Pod) -> Node | None:
        name = pod.spec.nodeName if pod.spec else None
        found = (item for item in self._nodes.objects.values() if item.metadata and item.metadata.name == name)
        return next((item for item in found if is_fake(item)), None) if name else None

    def _look_at_all(self) -> None:
        if self._pods.synced.is_set():
            for uid, pod in list(self._pods.objects.items()):
                self._look_at(uid, pod)

    def _look_at(self, uid: str, pod: Pod | None) -> None:
        if pod is None:
            self._over.discard(uid)
        life = self._lives.get(uid)
        node = self._node_of(pod) if pod is not None else None
        if uid in self._tasks and (pod is None or node is None):
            # The object was removed by force, or the machine under it is gone.
            self._tasks[uid].cancel()
        elif life is not None and pod is not None:
            life.observe(pod)
        elif pod is not None and node is not None and uid not in self._over | set(self._tasks) and not _has_ended(pod):
            # A pod first seen on its way out has nothing here that could end.
            work = delete_pod(self._client, pod) if is_deleted(pod) else self._live(uid, pod, node)
            task = asyncio.get_running_loop().create_task(work)
            self._tasks[uid] = task
            task.add_done_callback(lambda done: self._forget(uid, done))

    def _forget(self, uid: str, task: asyncio.Task[None]) -> None:
        self._tasks.pop(uid, None)
        self._lives.pop(uid, None)
        for addresses in self._addresses.values():
            addresses.pop(uid, None)
        if not task.cancelled() and uid in self._pods.objects:
            # A finalizer may keep the object; its life is over all the same.
            self._over.add(uid)
        if not task.cancelled() and (failure := task.exception()):
            _LOG.error("pod %s: %r", uid, failure, exc_info=failure)

    async def _live(self, uid: str, pod: Pod, node: Node) -> None:
        node_name = str(node.metadata.name) if node.metadata else ""

        def record(kind: EventKind, reason: str, message: str) -> None:
            _LOG.info("%s: %s: %s", pod.metadata.name if pod.metadata else uid, reason, message)
            self._events.record(pod, kind, reason, message)

        world = PodWorld(
            pod=pod,
            node_name=node_name,
            disk=self._disk_of(node),
            settings=self._settings,
            directory=self._directory,
            register=self._register,
            record=record,
            changed=lambda: writer.changed(),  # noqa: PLW0108 -- made below
        )
        world.pod_ip = await self._address(uid, node_name, node.spec.podCIDR if node.spec else None, world)
        life = PodLife(world)

        def status() -> dict[str, Any]:
            return pod_status(life.view, _outside_conditions(world.pod), clock_text())

        writer = StatusWriter(self._client, pod, status)
        self._lives[uid] = life
        life.observe(self._pods.objects.get(uid, pod))
        writing = asyncio.create_task(writer.run())
        try:
            await life.run()
        finally:
            writing.cancel()
        if await writer.publish():
            await delete_pod(self._client, pod)

    def _disk_of(self, node: Node) -> NodeDisk:
        name, uid = (str(node.metadata.name), str(node.metadata.uid)) if node.metadata else ("", "")
        disk = self._disks.get(name)
        if disk is None or disk.contents.node_uid != uid:
            disk = self._disks[name] = NodeDisk(self._directory / "disks" / f"{name}.json", uid)
        return disk

    async def _address(self, uid: str, node_name: str, pod_cidr: str | None, world: PodWorld) -> str:
        used = self._addresses.setdefault(node_name, {})
        before = world.pod.status.podIP if world.pod.status else None
        if before and before not in used.values():
            used[uid] = before
            return before
        while True:
            try:
                address = next_address(pod_cidr, used.values(), self._last_address.get(node_name))
            except NoAddressError as failure:
                world.record("Warning", "FailedCreatePodSandBox", str(failure))
                await asyncio.sleep(_NO_ADDRESS_RETRY_S)
            else:
                used[uid] = self._last_address[node_name] = address
                return address


def _has_ended(pod: Pod) -> bool:
    """Succeeded and failed pods need nothing more until someone deletes them."""
    return not is_deleted(pod) and pod.status is not None and pod.status.phase in ("Succeeded", "Failed")


def _outside_conditions(pod: Pod) -> dict[str, str]:
    conditions = (pod.status.conditions if pod.status else None) or []
    return {item.type: item.status for item in conditions}
