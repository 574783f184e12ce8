"""What a run needs of a cluster, apart from any client: `prescale.api.cluster.Cluster` is the real one."""

from __future__ import annotations

from typing import Any, Protocol

from whenever import Instant

from prescale.clock import Clock
from stacks.reach import OutOfReach
from stacks.scaler import Kind


class Conflict(Exception):  # noqa: N818 - it names the state
    """Somebody wrote between our read and our write; read again and decide again."""


class Refused(Exception):  # noqa: N818 - it names the state
    """The API server or an admission webhook does not want the patch; the text says why."""


class Denied(Exception):  # noqa: N818 - it names the state
    """The API server does not show one kind (403), or does not know it (404); others it may."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


class NoKeda(OutOfReach):
    """The cluster does not know ScaledObjects: nothing of that kind can be raised there, HPAs can."""

    def __init__(self, address: str) -> None:
        super().__init__(address, "it does not know ScaledObjects", "Install KEDA, or correct the context.")


class Objects(Protocol):
    """The reads and the writes. Each may raise `stacks.reach.OutOfReach`; of ConfigMaps also `Refused`."""

    @property
    def where(self) -> str:
        """Namespace and cluster, as they are named to a person."""

    def clock(self, now: Instant) -> Clock:
        """`now` beside the API server's time."""

    def scaled_objects(self, stack: str) -> list[dict[str, Any]]:
        """Every ScaledObject that carries the stack's label, in one call. Raises `NoKeda`."""

    def hpas(self) -> list[dict[str, Any]]:
        """Every HPA of the namespace, in one call."""

    def target(self, kind: Kind, name: str) -> dict[str, Any] | None:
        """One object that scales a service; None if it is gone."""

    def patch(self, kind: Kind, name: str, patch: dict[str, Any]) -> None:
        """Send a JSON merge patch for one. Raises `Conflict` or `Refused`."""

    def config_map(self, name: str) -> dict[str, Any] | None:
        """One ConfigMap; None if there is none."""

    def create_config_map(self, name: str, labels: dict[str, str], data: dict[str, str]) -> None:
        """Make one. Raises `Conflict` if it is there."""

    def patch_config_map(self, name: str, patch: dict[str, Any]) -> None:
        """Send a JSON merge patch. Raises `Conflict`."""

    def delete_config_map(self, name: str) -> None:
        """Delete it if it is there."""
