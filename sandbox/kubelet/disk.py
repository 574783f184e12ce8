"""What lies on a node's disk: images and model revisions. It outlives pods and the double, not the node."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(slots=True)
class DiskContents:
    """Keys of what is there; `node_uid` tells a new node of the same name from the old one."""

    node_uid: str
    images: list[str] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)


class NodeDisk:
    """One node's disk. Pulls are one at a time, the kubelet's default (serializeImagePulls)."""

    def __init__(self, file: Path, node_uid: str) -> None:
        """Reads `file` if it is this very node's."""
        self._file = file
        self._pulling = asyncio.Lock()
        self._loading: dict[str, asyncio.Lock] = {}
        self.contents = DiskContents(node_uid)
        if file.exists() and (known := json.loads(file.read_text())).get("node_uid") == node_uid:
            self.contents = DiskContents(**known)

    def has_image(self, key: str) -> bool:
        """Whether the image needs no pull."""
        return key in self.contents.images

    async def pull(self, key: str, seconds: float) -> None:
        """Wait for the pull; at once if another pod's pull has brought the image meanwhile."""
        async with self._pulling:
            if key not in self.contents.images:
                await asyncio.sleep(seconds)
                self.contents.images.append(key)
                self._save()

    async def load_weights(self, key: str, seconds: float, *, outlives_pod: bool) -> bool:
        """Wait for the weights; returns whether they had to be loaded."""
        if not outlives_pod:
            # Into the pod's own emptyDir: nobody else can use them, so nobody waits for them either.
            await asyncio.sleep(seconds)
            return True
        async with self._loading.setdefault(key, asyncio.Lock()):
            if key in self.contents.weights:
                return False
            await asyncio.sleep(seconds)
            self.contents.weights.append(key)
            self._save()
            return True

    def _save(self) -> None:
        fresh = self._file.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(self.contents)))
        fresh.replace(self._file)
