"""What one replica carries of a class at the SLO, and what that number is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from capacity.sizing.offered import DIMENSIONS, Dimension
from stacks.spec import Service
from stacks.workload_class import WorkloadClass

Kind = Literal["measured", "sandbox", "illustrative"]
KINDS: tuple[Kind, ...] = ("measured", "sandbox", "illustrative")
"""The most trustworthy first; a plan is worth what its weakest number is."""

LengthName = Literal["input_tokens", "output_tokens"]
LENGTHS: tuple[LengthName, ...] = ("input_tokens", "output_tokens")


@dataclass(frozen=True)
class Carries:
    """What one replica carries of one class at the SLO, in each dimension that was measured, and where from.

    why: how result files came to it; empty for a number that was typed. at_slo: they were judged by the request's own
    SLO. sequences: `max_num_seqs` of the engine that was measured, where its record says it. sustains: most requests in
    flight at which the SLO was seen to be kept. lengths: mean tokens of the requests that were measured. is_refuted:
    there are result files, and they show no load that keeps the SLO: the number is what was typed, and worth nothing.
    """

    load: dict[Dimension, Fraction]
    kind: Kind
    evidence: str
    why: str = ""
    at_slo: bool = False
    sequences: int | None = None
    sustains: Fraction | None = None
    lengths: Mapping[LengthName, Fraction] = field(default_factory=dict)
    is_refuted: bool = False


def typed(load: WorkloadClass, service: Service) -> Carries:
    """What is typed: the class's own measurement where there is one; what it leaves out, the service's."""
    in_flight: dict[Dimension, Fraction] = {"in_flight": Fraction(service.capacity.in_flight_per_replica)}
    own = load.per_replica
    if own is None:
        return Carries(in_flight, service.capacity.kind, service.capacity.evidence)
    said = {name: Fraction(value) for name in DIMENSIONS if (value := getattr(own, name)) is not None}
    kind = own.kind if "in_flight" in said else max(own.kind, service.capacity.kind, key=KINDS.index)
    return Carries(in_flight | said, kind, own.evidence)
