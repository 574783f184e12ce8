"""A stack's files as the brief of its runs."""

from __future__ import annotations

from whenever import Instant

from prescale.briefs.brief import Adopted, Brief, ColdStart, Served
from prescale.lead_time.kind import kind_of
from prescale.windows.timetable import timetable
from stacks.loader import Stack
from stacks.spec import NodePool, Platform, Service
from stacks.stray import stray_cancels


def brief_of(stack: Stack, now: Instant) -> Brief:
    """What the runs at `now`, and for a while after it, go by.

    Raises:
        InputError: one fault for each floor above its service's ceiling.
    """
    platform, zone = stack.platform, stack.calendar.timezone
    return Brief(
        stack=stack.name,
        context=platform.cluster.context,
        namespace=platform.namespace,
        zone=zone,
        services=served(platform),
        table=timetable(stack, now),
        notes=tuple(stray_cancels(stack, now.to_tz(zone).date().to_stdlib())),
    )


def served(platform: Platform) -> dict[str, Served]:
    """By service."""
    return {name: _served(one, platform.node_pools[one.node_pool]) for name, one in platform.services.items()}


def _served(service: Service, pool: NodePool) -> Served:
    said, theirs = service.cold_start, service.adopted
    return Served(
        baseline=service.replicas.min,
        kind=kind_of(service, pool),
        cold_start=ColdStart(said.node_s, said.image_s, said.weights_s, said.engine_start_s, said.measured),
        adopted=Adopted(theirs.kind, theirs.name) if theirs else None,
    )
