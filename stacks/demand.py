"""What an event asks of each service."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from stacks.field_types import Count, Name, Percent, Positive, Spec, Text, fault
from stacks.units import OF_REQUESTS, UNITS, Unit

Headroom = Annotated[Percent, Field(ge=0, le=400)]


class Demand(Spec):
    """What an event asks of one service, in exactly one unit.

    `rps` arrivals; a `multiplier` of the service's usual load; requests `in_flight`; output tokens (`tokens_per_s`,
    held against `capacity.tokens_per_s_per_replica` of platform.yaml); or `replicas`, as many as are said.

    `request_duration_s` belongs to the first two and is the usual load's where it is not said. `headroom_pct` lies on
    top of a load for what nobody foresaw; it is the simple form of a reserve (the field's range is 20 to 40).
    `replicas` are no load: they get headroom only where `headroom_pct` stands beside them, never the calendar's.
    """

    rps: Positive | None = None
    multiplier: Positive | None = None
    in_flight: Positive | None = None
    tokens_per_s: Positive | None = None
    replicas: Count | None = None
    request_duration_s: Positive | None = None
    headroom_pct: Headroom | None = None

    @property
    def unit(self) -> Unit:
        """What the load is said in."""
        return next(unit for unit in UNITS if getattr(self, unit) is not None)

    @model_validator(mode="after")
    def _one_load(self) -> Demand:
        said = [unit for unit in UNITS if getattr(self, unit) is not None]
        if len(said) != 1:
            expected = f"one of {', '.join(UNITS)}"
            fix = "Keep one of them." if said else "Say the load in one of them."
            raise fault("demand", (), " and ".join(said) or "no load", expected, fix)
        if self.request_duration_s is not None and said[0] not in OF_REQUESTS:
            fix = "Remove it: the replicas follow without it."
            got = f"request_duration_s beside {said[0]}"
            raise fault("demand", ("request_duration_s",), got, "it beside rps or multiplier", fix)
        return self


SHORTEST_RAMP_S = 60


class Ramp(Spec):
    """A floor that rises from the baseline in `steps` of equal height, the first of them `over_s` before T0.

    Each is Ready when a straight line from the baseline (at T0 less `over_s`) to the whole (at T0) has it begin, so the
    load may rise on that line; the last one is there before T0. At no time is the floor lower than without the ramp.
    """

    steps: Annotated[int, Field(ge=2, le=20)]
    over_s: Annotated[int, Field(ge=SHORTEST_RAMP_S, le=86400)]


class Asked(Spec):
    """What an event asks, whenever it is. Of events whose floors do not fit on a pool together, the higher `priority`
    is to keep its floor: `prescale plan` names the other. Nothing is lowered by it.
    """

    owner: Text | None = Field(None, description="who answers for it")
    priority: Annotated[int, Field(ge=0, le=1000)] = 0
    ramp: Ramp | None = None
    services: Annotated[dict[Name, Demand], Field(min_length=1)]
