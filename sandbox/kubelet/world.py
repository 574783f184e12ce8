"""What every pod's life needs from the double around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lightkube.resources.core_v1 import Pod

from sandbox.kubelet.disk import NodeDisk
from sandbox.kubelet.process import ChildRegister
from sandbox.kubelet.settings import KubeletSettings, ServiceTimes

EventKind = Literal["Normal", "Warning"]
NAME_LABEL = "app.kubernetes.io/name"


@dataclass(slots=True)
class PodWorld:
    """One pod with its node, its settings and the ways to speak to the outside.

    Args:
        pod: as last seen; replaced when the API server shows a newer one.
        record: emits an Event of the pod: kind, reason, message.
        changed: something that the status shows has changed.
    """

    pod: Pod
    node_name: str
    disk: NodeDisk
    settings: KubeletSettings
    directory: Path
    register: ChildRegister
    record: Callable[[EventKind, str, str], None]
    changed: Callable[[], None]
    pod_ip: str = ""

    @property
    def namespace(self) -> str:
        """Of the pod."""
        return str(self.pod.metadata.namespace) if self.pod.metadata else ""

    @property
    def name(self) -> str:
        """Of the pod."""
        return str(self.pod.metadata.name) if self.pod.metadata else ""

    @property
    def times(self) -> ServiceTimes:
        """Times of the pod's service."""
        labels = self.pod.metadata.labels if self.pod.metadata else None
        return self.settings.times_of((labels or {}).get(NAME_LABEL))

    @property
    def grace_s(self) -> float:
        """Seconds the pod may take to end: the deletion's, before one the manifest's."""
        deletion = self.pod.metadata.deletionGracePeriodSeconds if self.pod.metadata else None
        manifest = self.pod.spec.terminationGracePeriodSeconds if self.pod.spec else None
        return float(deletion if deletion is not None else 30 if manifest is None else manifest)

    def log_file(self, container: str) -> Path:
        """Where the container's output goes."""
        return self.directory / "logs" / f"{self.namespace}_{self.name}_{container}.log"
