"""Keep a copy of all objects of one kind, whatever happens to the API server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from lightkube import AsyncClient
from lightkube.core.resource import NamespacedResourceG
from lightkube.resources.core_v1 import Node, Pod, Service

Kind = TypeVar("Kind", Node, Pod, Service)
_LOG = logging.getLogger(__name__)
_FIRST_RETRY_S, _LAST_RETRY_S = 0.2, 5.0


class Followed(Generic[Kind]):
    """List, then watch; after any fault list again. `changed` hears of each object, with None when it is gone."""

    def __init__(self, client: AsyncClient, kind: type[Kind], changed: Callable[[str, Kind | None], None]) -> None:
        """`changed` is called with the object's uid."""
        # Any: one of lightkube's overloads takes a namespace and the other refuses it.
        self._client: Any = client
        self._kind: type[Kind] = kind
        self._changed: Callable[[str, Kind | None], None] = changed
        self._retry_s = _FIRST_RETRY_S
        self.objects: dict[str, Kind] = {}
        self.synced = asyncio.Event()

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            try:
                await self._list_and_watch()
            except Exception as failure:  # noqa: BLE001 -- also a line cut in the middle; whatever it is, list again
                _LOG.warning("%s: %r; lists again in %.1f s", self._kind.__name__, failure, self._retry_s)
            await asyncio.sleep(self._retry_s)
            self._retry_s = min(_LAST_RETRY_S, self._retry_s * 2)

    async def _list_and_watch(self) -> None:
        everywhere = {"namespace": "*"} if issubclass(self._kind, NamespacedResourceG) else {}
        listing = self._client.list(self._kind, **everywhere)
        fresh = {_uid(item): item async for item in listing}
        for uid in set(self.objects) - set(fresh):
            del self.objects[uid]
            self._changed(uid, None)
        for uid, item in fresh.items():
            self._set(uid, item)
        self.synced.set()
        self._retry_s = _FIRST_RETRY_S
        version = listing.resourceVersion
        async for event, item in self._client.watch(self._kind, resource_version=version, **everywhere):
            uid = _uid(item)
            if event == "DELETED":
                self.objects.pop(uid, None)
                self._changed(uid, None)
            elif event in ("ADDED", "MODIFIED"):
                self._set(uid, item)

    def _set(self, uid: str, item: Kind) -> None:
        self.objects[uid] = item
        self._changed(uid, item)


def _uid(item: Node | Pod | Service) -> str:
    return str(item.metadata.uid if item.metadata else "")
