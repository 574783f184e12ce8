"""The timetable by measured lead times: asked of the cluster where it can matter, and no more often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whenever import Instant

from prescale.lead_time import keeping
from prescale.lead_time.reckoning import LeadTime, of_spec
from prescale.timetable import Timetable, Window, timetable
from stacks.loader import Stack


@dataclass(frozen=True)
class Plan:
    """The timetable to run by, the lead times it rests on, and what a person should know of them.

    `is_measured` says that the cluster was asked for its starts, whatever it had.
    """

    table: Timetable
    lead_times: Mapping[str, LeadTime]
    notes: tuple[str, ...] = ()
    is_measured: bool = True


def plan(cluster: keeping.ConfigMaps, stack: Stack, now: Instant) -> Plan:
    """The timetable by measured lead times, in one call."""
    remembered = keeping.read(cluster, stack.name)
    known = keeping.lead_times(stack.platform, remembered.history, now)
    return Plan(timetable(stack, now, known if remembered.is_known else None), known, remembered.notes)


def plan_if_it_may_differ(cluster: keeping.ConfigMaps, stack: Stack, table: Timetable, now: Instant) -> Plan:
    """The same; but `table`, which is platform.yaml's, where nothing measured can change what is in force at `now`."""
    if any(_may_differ(stack, window, now) for window in table.windows):
        return plan(cluster, stack, now)
    said = {name: of_spec(service.cold_start) for name, service in stack.platform.services.items()}
    return Plan(table, said, is_measured=False)


def plan_with(
    cluster: keeping.ConfigMaps, stack: Stack, pods: Sequence[Mapping[str, Any]], at: Instant, now: Instant
) -> Plan:
    """The timetable at `at` by measured lead times, those of `pods` among them, which are remembered.

    Args:
        now: the API server's time.
    """
    starts, left_out = keeping.measured(stack.platform, pods, now)
    remembered = keeping.remember(cluster, stack.name, starts, len(stack.platform.services), now)
    known = keeping.lead_times(stack.platform, remembered.history, now)
    return Plan(timetable(stack, at, known), known, (*remembered.notes, *left_out))


def _may_differ(stack: Stack, window: Window, now: Instant) -> bool:
    replaces = stack.platform.services[window.service].cold_start.measured == "replaces"
    return window.floor_early(now) > window.floor_at(now) or (replaces and window.state(now) == "raised")
