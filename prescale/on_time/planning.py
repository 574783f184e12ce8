"""The timetable by measured lead times, which the cluster is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whenever import Instant

from prescale.briefs.brief import Brief
from prescale.lead_time import keeping
from prescale.lead_time.keeping import Remembered
from prescale.lead_time.reckoning import LeadTime
from prescale.windows.timing import by_lead_times
from prescale.windows.window import Timetable

if TYPE_CHECKING:
    from stacks.spec import Platform


@dataclass(frozen=True)
class Plan:
    """The timetable to run by, the lead times it rests on, and what a person should know of them."""

    table: Timetable
    lead_times: Mapping[str, LeadTime]
    notes: tuple[str, ...] = ()


def plan(cluster: keeping.ConfigMaps, brief: Brief, now: Instant) -> Plan:
    """The timetable by measured lead times, in one call."""
    return _by(brief, keeping.read(cluster, brief.stack), now)


def plan_with(
    cluster: keeping.ConfigMaps, brief: Brief, platform: Platform, pods: Sequence[Mapping[str, Any]], now: Instant
) -> Plan:
    """The same with the starts of `pods`, which are remembered.

    Args:
        now: the API server's time.
    """
    from prescale.lead_time import measuring  # what most runs have no need to load

    starts, left_out = measuring.measured(platform, pods, now)
    found = _by(brief, keeping.remember(cluster, brief.stack, starts, len(brief.services), now), now)
    return Plan(found.table, found.lead_times, (*found.notes, *left_out))


def _by(brief: Brief, remembered: Remembered, now: Instant) -> Plan:
    known = keeping.lead_times(brief.services, remembered.history, now)
    # Where the starts could not be read nobody knows that they are not longer.
    table = by_lead_times(brief.table, known) if remembered.is_known else brief.table
    return Plan(table, known, remembered.notes)
