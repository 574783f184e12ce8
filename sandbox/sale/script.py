"""How the sale is played: when it starts, which load comes when. Pure; everything counts from T0."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from stacks.events import EventSpec
from stacks.spec import Platform


@dataclass(frozen=True)
class Phase:
    """`seconds` at `rps`; `what` is said when it begins."""

    what: str
    seconds: int
    rps: Decimal


@dataclass(frozen=True)
class Script:
    """The sale in phases from T0. `usual_rps` runs before T0 and after the last phase until the end of the play."""

    service: str
    usual_rps: Decimal
    phases: tuple[Phase, ...]
    window_s: int
    planned_s: int

    @property
    def loud_s(self) -> int:
        """Length of all phases."""
        return sum(phase.seconds for phase in self.phases)


PLANNED_S, BEYOND_S, SUBSIDE_S = 700, 800, 200
"""Lengths of the phases in real time; the time scale divides them as it does the stack's durations."""

BEYOND = Decimal(2)
"""The surge nobody planned, as a multiple of the planned load: more than the floor holds, less than the ceiling."""


def script(platform: Platform, event: EventSpec, factor: int) -> Script:
    """The play of an event: the planned load of its first service, a surge beyond it, the usual load again.

    Args:
        factor: the time scale the platform's durations were divided by.

    Raises:
        ValueError: it says no arrivals, which `playable` finds before.
    """
    service, demand = next(iter(event.services.items()))
    usual = platform.services[service].usual_load
    if usual is None or (demand.rps is None and demand.multiplier is None):
        raise ValueError(f"no arrivals of {service} to play")
    planned = demand.rps if demand.rps is not None else usual.rps * (demand.multiplier or 1)
    phases = (
        Phase("the sale as planned", PLANNED_S // factor, planned),
        Phase("more than anyone planned", BEYOND_S // factor, planned * BEYOND),
        Phase("the crowd leaves", SUBSIDE_S // factor, usual.rps),
    )
    window_s = sum(phase.seconds for phase in phases)
    return Script(service, usual.rps, phases, window_s=window_s, planned_s=phases[0].seconds)
