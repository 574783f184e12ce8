"""SLO-constrained goodput: the highest measured load at which the objective holds.

A load holds where every run of it holds. A failing load ends the search, whatever holds above it: a replica that keeps
its promise at 10, breaks it at 20 and keeps it at 30 has been shown to keep it up to 10. So does a load at which too
many requests failed: the latencies of the others are no evidence, that those failed is. A load of which it cannot be
told is passed over. The load at which the objective would just be kept, between the last that holds and the first that
fails, is reckoned by a straight line and only ever said beside the answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from capacity.sweeps.curve import Curve, Step
from capacity.sweeps.objective import Objective, Verdict
from capacity.sweeps.sweep import Latency, LatencyName, exact


@dataclass(frozen=True, slots=True)
class Goodput:
    """The answer, and what it leaves open; loads on the curve's axis.

    load: the highest load that holds below every failing one; None if there is none. fails_at: the lowest load that
    fails; None if none was seen to, and the goodput is at least `load`. crossing: where a straight line between the two
    puts the limit. unknown: loads of which it cannot be told. again: loads that hold above `fails_at` and do not count.
    """

    load: Fraction | None
    fails_at: Fraction | None
    crossing: Fraction | None
    unknown: tuple[Fraction, ...]
    again: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """The runs of one load that was measured more than once: least and greatest of what they measured."""

    load: Fraction
    runs: int
    held: int
    p95_s: dict[LatencyName, tuple[Fraction, Fraction]]


def goodput(curve: Curve, objective: Objective) -> Goodput:
    """The goodput that `curve`, judged by `objective`, shows."""
    verdicts = [(step, verdict(step)) for step in curve.steps]
    failing = {step.load: step for step, said in verdicts if said == "fails"}
    fails_at = min((*failing, *curve.broken), default=None)
    fails = None if fails_at is None else failing.get(fails_at)
    holding = [step for step, said in verdicts if said == "holds"]
    counted = [step for step in holding if fails_at is None or step.load < fails_at]
    best = counted[-1] if counted else None
    return Goodput(
        load=best.load if best else None,
        fails_at=fails_at,
        crossing=_crossing(best, fails, objective) if best and fails else None,
        unknown=tuple(step.load for step, said in verdicts if said == "unknown"),
        again=tuple(step.load for step in holding if step not in counted),
    )


def verdict(step: Step) -> Verdict:
    """Holds where every run holds; fails where one fails; else unknown."""
    said = {run.attainment.verdict if run.attainment else "unknown" for run in step.runs}
    return "fails" if "fails" in said else "holds" if said == {"holds"} else "unknown"


def spreads(curve: Curve, latencies: Iterable[LatencyName] = ("ttft", "tpot", "e2e")) -> tuple[Spread, ...]:
    """How far the repeats of one load lie apart."""
    return tuple(_spread(step, tuple(latencies)) for step in curve.steps if len(step.runs) > 1)


def _spread(step: Step, latencies: tuple[LatencyName, ...]) -> Spread:
    p95_s = {}
    for name in latencies:
        values = [value for run in step.runs if (value := percentile_s(run.point.latency(name), 95.0)) is not None]
        if values:
            p95_s[name] = (min(values), max(values))
    held = sum(run.attainment is not None and run.attainment.verdict == "holds" for run in step.runs)
    return Spread(step.load, len(step.runs), held, p95_s)


def _crossing(holds: Step, fails: Step, objective: Objective) -> Fraction | None:
    """The least load at which a straight line from `holds` to `fails` meets the required share or one of the limits."""
    pairs = [(_exact_share(holds), _exact_share(fails), objective.required)]
    for limit in objective.limits:
        pairs += [(*_worst_s(holds, fails, limit.latency, objective), limit.limit_s)]
    met = [
        holds.load + (fails.load - holds.load) * (limit - before) / (after - before)
        for before, after, limit in pairs
        if before is not None and after is not None and min(before, after) <= limit <= max(before, after)
        if before != after
    ]
    return min(met, default=None)


def _exact_share(step: Step) -> Fraction | None:
    shares = [run.attainment.share for run in step.runs if run.attainment]
    return min(share.low for share in shares) if shares and all(each.low == each.high for each in shares) else None


def _worst_s(
    holds: Step, fails: Step, name: LatencyName, objective: Objective
) -> tuple[Fraction, Fraction] | tuple[None, None]:
    """The latency of both steps, worst run, at the percentile nearest to what the objective asks that all runs have."""
    latencies = [run.point.latency(name) for step in (holds, fails) for run in step.runs]
    common = set.intersection(*(set(latency.percentiles_s) if latency else set() for latency in latencies))
    if not common:
        return None, None
    percentile = min(common, key=lambda each: (abs(each - 100 * objective.strictest), each))
    before, after = (
        max(exact(latency.percentiles_s[percentile]) for run in step.runs if (latency := run.point.latency(name)))
        for step in (holds, fails)
    )
    return before, after


def percentile_s(latency: Latency | None, percentile: float) -> Fraction | None:
    """One percentile of `latency`, where it has it."""
    value = latency.percentiles_s.get(percentile) if latency else None
    return None if value is None else exact(value)
