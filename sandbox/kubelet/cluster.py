"""What the double tells the API server: statuses, Events, and that a pod is gone."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import httpx2
from lightkube import ApiError, AsyncClient
from lightkube.models.core_v1 import EventSource, ObjectReference
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Event, Pod

_LOG = logging.getLogger("kubelet")
_FIRST_RETRY_S, _LAST_RETRY_S = 0.1, 5.0
_GONE = (404, 409)
COMPONENT = "kubelet-double"


async def insist(what: str, call: Callable[[], Awaitable[Any]]) -> bool:
    """Call until it succeeds; False if the object is gone or another one, which no retry changes."""
    retry_s = _FIRST_RETRY_S
    while True:
        try:
            await call()
        except ApiError as failure:
            if failure.status.code in _GONE:
                return False
            _LOG.warning("%s: %s", what, failure)
        except httpx2.HTTPError as failure:
            _LOG.warning("%s: %r", what, failure)
        else:
            return True
        await asyncio.sleep(retry_s)
        retry_s = min(_LAST_RETRY_S, retry_s * 2)


class StatusWriter:
    """Publishes one pod's status whenever it differs from what was published; changes in between are skipped."""

    def __init__(self, client: AsyncClient, pod: Pod, status: Callable[[], dict[str, Any]]) -> None:
        """`status` makes the status to publish."""
        self._client = client
        self._pod = pod
        self._status = status
        self._published: dict[str, Any] | None = None
        self._dirty = asyncio.Event()

    def changed(self) -> None:
        """Something may differ."""
        self._dirty.set()

    async def run(self) -> None:
        """Publish until cancelled or the pod is gone."""
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            if not await self.publish():
                return

    async def publish(self) -> bool:
        """Publish now; False if the pod is gone."""
        metadata, status = self._pod.metadata, self._status()
        if status == self._published or metadata is None:
            return True
        # The uid is a precondition: never write into another pod of the same name.
        patch = {"metadata": {"uid": metadata.uid}, "status": status}
        is_there = await insist(
            f"status of {metadata.name}",
            lambda: self._client.patch(Pod.Status, str(metadata.name), patch, namespace=metadata.namespace),
        )
        self._published = status
        return is_there


async def delete_pod(client: AsyncClient, pod: Pod) -> None:
    """Tell the API server that every process has ended; the object goes."""
    metadata = pod.metadata
    if metadata is not None:
        await insist(
            f"deletion of {metadata.name}",
            lambda: client.delete(Pod, str(metadata.name), namespace=metadata.namespace, grace_period=0),
        )


class EventRecorder:
    """Writes Events in the background; they may be lost, pods may not wait for them."""

    def __init__(self, client: AsyncClient) -> None:
        """Call `run` once."""
        self._client = client
        self._queue: asyncio.Queue[Event] = asyncio.Queue(1000)

    def record(self, pod: Pod, kind: str, reason: str, message: str) -> None:
        """Queue an Event of a pod."""
        metadata, now = pod.metadata, datetime.now(UTC)
        if metadata is None:
            return
        event = Event(
            metadata=ObjectMeta(name=f"{metadata.name}.{time.time_ns():x}", namespace=metadata.namespace),
            involvedObject=ObjectReference(
                apiVersion="v1", kind="Pod", name=metadata.name, namespace=metadata.namespace, uid=metadata.uid
            ),
            type=kind,
            reason=reason,
            message=message,
            source=EventSource(component=COMPONENT, host=pod.spec.nodeName if pod.spec else None),
            reportingComponent=COMPONENT,
            firstTimestamp=now,
            lastTimestamp=now,
            count=1,
        )
        with contextlib.suppress(asyncio.QueueFull):
            self._queue.put_nowait(event)

    async def run(self) -> None:
        """Write until cancelled; a namespace that is going away takes no Events, so one refusal is final."""
        while True:
            event = await self._queue.get()
            try:
                await self._client.create(event)
            except httpx2.HTTPError as failure:
                _LOG.debug("event %s: %r", event.reason, failure)
