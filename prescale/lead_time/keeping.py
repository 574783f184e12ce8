"""The history in the cluster, where every runner sees it: one ConfigMap beside the stack's ScaledObjects.

It is read where it may change when a floor is raised, or where pods were looked at; whatever goes wrong with it is a
note: platform.yaml says a lead time as well, and no floor may depend on a memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from whenever import Instant

from prescale.api.objects import Conflict, Refused
from prescale.lead_time.history import NOTHING, History, parse_data
from prescale.lead_time.reckoning import ColdStart, LeadTime, lead_time
from prescale.lead_time.start import Start
from stacks import ownership
from stacks.reach import OutOfReach

ATTEMPTS = 4


class ConfigMaps(Protocol):
    """`prescale.api.objects.Objects`, as far as it is needed here."""

    def config_map(self, name: str) -> dict[str, Any] | None:
        """One ConfigMap; None if there is none. Raises `Refused`."""

    def create_config_map(self, name: str, labels: dict[str, str], data: dict[str, str]) -> None:
        """Make one. Raises `Conflict` if it is there, or `Refused`."""

    def patch_config_map(self, name: str, patch: dict[str, Any]) -> None:
        """Send a JSON merge patch. Raises `Conflict` or `Refused`."""


class Starting(Protocol):
    """A service as far as its starts go. `kind` is `prescale.lead_time.kind.kind_of` it."""

    @property
    def cold_start(self) -> ColdStart: ...
    @property
    def kind(self) -> str: ...


@dataclass(frozen=True)
class Remembered:
    """The history as it is in the cluster, and what a person should know of it; not known where it was not read."""

    history: History = NOTHING
    notes: tuple[str, ...] = ()
    is_known: bool = True


def read(cluster: ConfigMaps, stack: str) -> Remembered:
    """One call. What cannot be read counts as no history."""
    try:
        found = cluster.config_map(ownership.starts_name(stack))
    except (Refused, OutOfReach) as error:
        said = f"the measured starts cannot be read, platform.yaml's lead times count: {error}"
        return Remembered(notes=(said,), is_known=False)
    return Remembered(parse_data((found or {}).get("data") or {}))


def lead_times(services: Mapping[str, Starting], history: History, now: Instant) -> dict[str, LeadTime]:
    """Service -> lead time, of each of `services`."""
    return {name: lead_time(one.cold_start, history.of(name, one.kind, now)) for name, one in services.items()}


def remember(
    cluster: ConfigMaps, stack: str, seen: Mapping[str, Sequence[Start]], services: int, now: Instant
) -> Remembered:
    """Put what was `seen` into the cluster's history, unless it is there; returns the history with it.

    Somebody who writes at the same time is read again. Two calls where there is something new, else one.
    """
    name = ownership.starts_name(stack)
    history = NOTHING
    for _ in range(ATTEMPTS):
        try:
            found = cluster.config_map(name)
            before = parse_data((found or {}).get("data") or {})
            history = before.with_seen(seen, services, now)
            if history.starts == before.starts:
                return Remembered(history)
            if found is None:
                cluster.create_config_map(name, {ownership.STACK_LABEL: stack}, history.data())
            else:
                cluster.patch_config_map(name, _patch(found, history))
        except Conflict:
            continue
        except (Refused, OutOfReach) as error:
            return Remembered(history.with_seen(seen, services, now), (f"the starts seen are not kept: {error}",))
        return Remembered(history)
    return Remembered(history, (f"the starts seen are not kept: somebody else wrote {name} {ATTEMPTS} times",))


def _patch(found: Mapping[str, Any], history: History) -> dict[str, Any]:
    before: Mapping[str, str] = found.get("data") or {}
    after = history.data()
    changed: dict[str, str | None] = {
        name: after.get(name) for name in {*before, *after} if before.get(name) != after.get(name)
    }
    return {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}, "data": changed}
