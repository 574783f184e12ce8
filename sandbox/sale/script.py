"""How the sale is played: when it starts, which load comes when. Pure; everything counts from T0."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from stacks.demand import OF_REQUESTS
from stacks.events import CalendarSpec
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


def script(platform: Platform, calendar: CalendarSpec, factor: int) -> Script:
    """The play of the calendar's first event: the planned load, a surge beyond it, the usual load again.

    Args:
        factor: the time scale the platform's durations were divided by.
    """
    event = calendar.events[0]
    service, demand = next(iter(event.services.items()))
    usual = platform.services[service].usual_load
    if usual is None:
        raise ValueError(f"services.{service}.usual_load: got nothing, expected the load before and after the sale")
    if demand.unit not in OF_REQUESTS:
        raise ValueError(f"an event in {demand.unit} says no arrivals to play: give it rps or multiplier")
    planned = demand.rps if demand.rps is not None else usual.rps * (demand.multiplier or 1)
    phases = (
        Phase("the sale as planned", PLANNED_S // factor, planned),
        Phase("more than anyone planned", BEYOND_S // factor, planned * BEYOND),
        Phase("the crowd leaves", SUBSIDE_S // factor, usual.rps),
    )
    window_s = sum(phase.seconds for phase in phases)
    return Script(service, usual.rps, phases, window_s=window_s, planned_s=phases[0].seconds)
