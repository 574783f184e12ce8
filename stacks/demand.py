"""What an event asks of one service."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from stacks.field_types import Percent, Positive, Spec, fault

Headroom = Annotated[Percent, Field(ge=0, le=400)]


class Demand(Spec):
    """What an event asks of one service: `rps`, or a `multiplier` of the service's usual load.

    `request_duration_s` is the usual load's where it is not said. `headroom_pct` lies on top of the load for what
    nobody foresaw; it is the simple form of a reserve (the field's range is 20 to 40).
    """

    rps: Positive | None = None
    multiplier: Positive | None = None
    request_duration_s: Positive | None = None
    headroom_pct: Headroom | None = None

    @model_validator(mode="after")
    def _one_load(self) -> Demand:
        if (self.rps is None) == (self.multiplier is None):
            got = "neither" if self.rps is None else "both"
            raise fault("demand", (), got, "either rps or multiplier", "Keep one of the two.")
        return self
