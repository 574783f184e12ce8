"""The knee: the load beyond which waiting grows faster than the load.

It is the measured load of the greatest power, load over response time: up to there 1 % more load costs less than 1 % of
response time, beyond it more. Nothing is fitted and there is nothing to set, units cancel out, and the answer is always
a load that was measured, with its measured neighbours as the bracket.

Response time of an open loop is the time until the answer begins (TTFT), where answers are streamed: it is where a
request waits while others are served. That tokens come slower as a batch fills is no queue but what batching is bought
with; the objective's TPOT limit is its judge. Of a closed loop, where a client waits for whole answers before it sends
again, and of answers that are not streamed, it is the time until the answer ends.

Known truths: M/M/1 and processor sharing have their greatest power at half of what they can carry; flat latency up to
a limit at the limit.

Source: L. Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in computer communications",
ICC 1979; R. Jain, "The Art of Computer Systems Performance Analysis", 1991, 3.3 (knee capacity, response time).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import Literal

from capacity.sweeps.curve import Axis, Curve, Step
from capacity.sweeps.derived import answer_s, typical_s
from capacity.sweeps.sweep import Point, exact

Response = Literal["ttft", "e2e"]


@dataclass(frozen=True, slots=True)
class Knee:
    """The load of greatest power, on the curve's axis, between the loads that bracket it.

    above: the load measured next below, None if there is none: then the knee may be lower than `load`. below: the load
    measured next above, or, past the last step, the least of what a client could send and of where requests failed;
    None if neither: then nothing says how far above `load` the knee is. is_at_or_above: power still rose at the last
    step. powers: of each step, per second.
    """

    load: Fraction
    above: Fraction | None
    below: Fraction | None
    is_at_or_above: bool
    response: Response
    powers: tuple[Fraction, ...]

    @property
    def is_at_or_below(self) -> bool:
        """Power fell from the first step on."""
        return self.above is None


def knee(curve: Curve) -> Knee | None:
    """The knee of `curve`; None where fewer than two loads have a response time.

    Repeats of one load count as their median. Of equal powers the lowest load is the knee. It lies below every load at
    which requests failed: there nothing came of the load.
    """
    failed_at = curve.broken[0] if curve.broken else None
    steps = tuple(step for step in curve.steps if failed_at is None or step.load < failed_at)
    if len(steps) < 2:
        return None
    responses: tuple[Response, ...] = ("ttft", "e2e") if curve.axis == "rps" else ("e2e",)
    measured = [(response, powers) for response in responses if (powers := _powers(steps, curve.axis, response))]
    if not measured:
        return None
    response, powers = measured[0]
    best = powers.index(max(powers))
    is_last = best == len(powers) - 1
    load = steps[best].load
    bounds = (curve.not_reached, failed_at) if is_last else (steps[best + 1].load,)
    return Knee(
        load=load,
        above=steps[best - 1].load if best else None,
        below=min((bound for bound in bounds if bound is not None and bound > load), default=None),
        is_at_or_above=is_last,
        response=response,
        powers=powers,
    )


def _powers(steps: Sequence[Step], axis: Axis, response: Response) -> tuple[Fraction, ...] | None:
    powers = []
    for step in steps:
        runs = [_power(run.point, step.load, axis, response) for run in step.runs]
        known = [power for power in runs if power is not None]
        if not known:
            return None
        powers.append(median(known))
    return tuple(powers)


def _power(point: Point, load: Fraction, axis: Axis, response: Response) -> Fraction | None:
    """Requests per second, over seconds of response."""
    whole = answer_s(point)
    response_s = typical_s(point.ttft) if response == "ttft" else whole.value if whole else None
    throughput_rps = load if axis == "rps" else None if point.throughput_rps is None else exact(point.throughput_rps)
    if axis == "in_flight":  # of the three in Little's law one may be missing
        throughput_rps = load / response_s if throughput_rps is None and response_s else throughput_rps
        response_s = load / throughput_rps if response_s is None and throughput_rps else response_s
    return throughput_rps / response_s if throughput_rps is not None and response_s else None
