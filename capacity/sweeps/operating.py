"""One replica's number: what it sustains, and what it is to be run at, with the evidence of both.

    sustainable = the highest measured load at which the objective holds
    target      = the lesser of it and 75 % of the knee (70 to 80 % is the range)

What belongs to a load (requests in flight, tokens per second) is read off the curve at that load; between two measured
loads the amount per unit of load is a straight line, and the answer says so (`is_interpolated`).
Everything is a `Fraction`: nothing was rounded that is still to be divided by and rounded up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from capacity.shown import shown
from capacity.sweeps.curve import Axis, Curve, Judged, Step, curve_of, judge
from capacity.sweeps.derived import in_flight
from capacity.sweeps.goodput import Goodput, Spread, goodput, spreads
from capacity.sweeps.knee import Knee, knee
from capacity.sweeps.objective import Objective
from capacity.sweeps.sweep import Point, Sweep, exact
from capacity.sweeps.worth import mixed_configurations, mixed_work

AXES: tuple[Axis, Axis] = ("rps", "in_flight")
OF_THE_KNEE = Fraction(75, 100)
OF_THE_KNEE_RANGE = (Fraction(70, 100), Fraction(80, 100))


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """One load, in every unit that is known of it. rps is None for closed loops: their rate was not set.

    evidence: the runs it rests on.
    """

    rps: Fraction | None
    in_flight: Fraction | None
    output_tokens_per_s: Fraction | None
    input_tokens_per_s: Fraction | None
    is_interpolated: bool
    evidence: tuple[Judged, ...]


@dataclass(frozen=True, slots=True)
class ReplicaCapacity:
    """What one replica carries: `sustainable` at most, `target` to scale and to size by. Nothing discounts it again."""

    axis: Axis
    sustainable: OperatingPoint
    target: OperatingPoint
    why: str


@dataclass(frozen=True, slots=True)
class Reading:
    """All that one sweep says.

    refused: why nothing is concluded from it, a line each. remarks: of the sweep as a whole. curve: over requests per
    second where there is any open-loop evidence, else over requests in flight. capacity: None without an objective, or
    where no load is shown to keep it.
    """

    sweep: Sweep
    objective: Objective | None
    runs: tuple[Judged, ...]
    refused: tuple[str, ...]
    remarks: tuple[str, ...]
    curve: Curve
    knee: Knee | None
    goodput: Goodput | None
    spreads: tuple[Spread, ...]
    capacity: ReplicaCapacity | None


def read(sweep: Sweep, objective: Objective | None = None) -> Reading:
    """Judge every point of `sweep` and draw the conclusions."""
    runs = tuple(judge(point, objective) for point in sweep.points)
    mixed = mixed_configurations(sweep)
    over_rps, over_in_flight = (curve_of(() if mixed else runs, axis) for axis in AXES)
    curve = over_rps if over_rps.steps or not over_in_flight.steps else over_in_flight
    bend = knee(curve)
    kept = goodput(curve, objective) if objective else None
    return Reading(
        sweep=sweep,
        objective=objective,
        runs=runs,
        refused=tuple(f"different serving configurations, {line}" for line in mixed),
        remarks=tuple(f"different work: {line}" for line in mixed_work(sweep)),
        curve=curve,
        knee=bend,
        goodput=kept,
        spreads=spreads(curve),
        capacity=_capacity(curve, bend, kept),
    )


def _capacity(curve: Curve, bend: Knee | None, kept: Goodput | None) -> ReplicaCapacity | None:
    if kept is None or kept.load is None:
        return None
    unit = {"rps": "requests/s", "in_flight": "in flight"}[curve.axis]
    of_the_knee = OF_THE_KNEE * (bend.load if bend else kept.load)
    target = min(kept.load, of_the_knee)
    whose = "the knee" if bend else "the highest load that keeps the objective, for want of a knee"
    bound = "at least " if bend and bend.is_at_or_above else "at most " if bend and bend.is_at_or_below else ""
    where = f"{bound}{shown(bend.load if bend else kept.load)} {unit}"
    share = f"{shown(100 * OF_THE_KNEE)} % of {whose} ({where})"
    why = share if target == of_the_knee else f"the objective, which holds no higher; it is less than {share}"
    return ReplicaCapacity(curve.axis, at_load(curve, kept.load), at_load(curve, target), why)


def at_load(curve: Curve, load: Fraction) -> OperatingPoint:
    """What `curve` says of `load`, which is above 0 and not above its last step."""
    for step in curve.steps:
        if step.load == load:
            return _point(curve.axis, load, [(step, Fraction(1))])
    for before, after in pairwise(curve.steps):
        if before.load < load < after.load:
            way = (load - before.load) / (after.load - before.load)
            return _point(curve.axis, load, [(before, 1 - way), (after, way)])
    return _point(curve.axis, load, [(curve.steps[0], Fraction(1))])  # lower than measured: as much for each unit


def _point(axis: Axis, load: Fraction, weights: list[tuple[Step, Fraction]]) -> OperatingPoint:
    def amount(field: str) -> Fraction | None:
        each = [(_least(step, field), weight / step.load) for step, weight in weights]
        if any(value is None for value, _ in each):
            return None
        return load * sum((value * weight for value, weight in each if value is not None), Fraction(0))

    return OperatingPoint(
        rps=load if axis == "rps" else None,
        in_flight=amount("in_flight") if axis == "rps" else load,
        output_tokens_per_s=amount("output_tokens_per_s"),
        input_tokens_per_s=amount("input_tokens_per_s"),
        is_interpolated=all(step.load != load for step, _ in weights),
        evidence=tuple(run for step, _ in weights for run in step.runs),
    )


def _least(step: Step, field: str) -> Fraction | None:
    """The least that any run of `step` had; None where one does not say."""
    values = [_amount(run.point, field) for run in step.runs]
    known = [value for value in values if value is not None]
    return min(known) if known and len(known) == len(values) else None


def _amount(point: Point, field: str) -> Fraction | None:
    if field == "in_flight":
        held = in_flight(point)
        return held.value if held else None
    value: float | None = getattr(point, field)
    return None if value is None else exact(value)
