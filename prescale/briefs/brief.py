"""What a run goes by: of its stack, what it has to know as long as nothing is to be done.

It is plain data, so that it can be kept (`prescale.briefs.keeping`): to read and check the files takes most runs
longer than all the rest. Whatever else a run needs, it reads from the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

import msgspec
from whenever import Instant

from prescale.windows.window import Timetable, Window
from stacks.scaler import Kind


class Adopted(msgspec.Struct, frozen=True):
    """The object that scales a service which others built."""

    kind: Kind
    name: str


class ColdStart(msgspec.Struct, frozen=True):
    """What platform.yaml says of a start, in seconds."""

    node_s: int
    image_s: int
    weights_s: int
    engine_start_s: int
    measured: Literal["if_longer", "replaces", "ignored"]


class Served(msgspec.Struct, frozen=True):
    """One service: its baseline in replicas, and which starts are its own (`prescale.lead_time.kind.kind_of`)."""

    baseline: int
    kind: str
    cold_start: ColdStart
    adopted: Adopted | None = None


class Brief(msgspec.Struct, frozen=True, dict=True):
    """One stack's. `table` is by platform.yaml's lead times; `notes` are for a person, and change no floor."""

    stack: str
    context: str | None
    namespace: str
    zone: str
    services: dict[str, Served]
    table: Timetable
    notes: tuple[str, ...] = ()

    @cached_property
    def adopted(self) -> Mapping[str, Adopted]:
        """By service."""
        return {name: served.adopted for name, served in self.services.items() if served.adopted}

    @property
    def baselines(self) -> Mapping[str, int]:
        """By service."""
        return {name: served.baseline for name, served in self.services.items()}

    def depends_on_starts(self, now: Instant) -> bool:
        """Whether a timetable by measured starts may have another floor in force at `now` than `table`."""
        return any(self._may_differ(window, now) for window in self.table.windows)

    def _may_differ(self, window: Window, now: Instant) -> bool:
        is_replaced = self.services[window.service].cold_start.measured == "replaces"
        return window.floor_early(now) > window.floor_at(now) or (is_replaced and window.state(now) == "raised")
