"""What `warmline bench read -o json` prints: every number with its file and key, or with what it was reckoned from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from capacity.sweeps.curve import Judged
from capacity.sweeps.derived import Reckoned, answer_s, in_flight
from capacity.sweeps.goodput import Goodput, Spread
from capacity.sweeps.knee import Knee
from capacity.sweeps.objective import Attainment, Objective, Share
from capacity.sweeps.operating import OF_THE_KNEE_RANGE, OperatingPoint, Reading
from capacity.sweeps.sweep import Latency, Point
from cli.bench import record
from cli.bench.answer import Answer
from cli.bench.picture import is_evidence
from cli.output import number

_FIGURES = tuple(each.name for each in fields(Point) if each.name not in {"origin", "per_request", "goodput", "keys"})


def answer_data(answer: Answer) -> dict[str, Any]:
    """Everything that was read, and what was not."""
    evidence = answer.evidence
    return {
        "objective": _objective(answer.objective),
        "sweeps": [{**_reading(told.reading), "record": record.data(told.recorded)} for told in answer.sweeps],
        "refused": [{"file": one.file, "reason": one.reason} for one in evidence.refused],
        "skipped": [{"file": one.file, "reason": one.reason} for one in evidence.skipped],
    }


def _reading(reading: Reading) -> dict[str, Any]:
    """One sweep: points, remarks, knee, goodput, capacity. Seconds, amounts per second, shares of 1."""
    capacity = reading.capacity
    return {
        "sweep": reading.sweep.name,
        "refused": list(reading.refused),
        "remarks": list(reading.remarks),
        "points": [_point(run, reading) for run in reading.runs],
        "axis": reading.curve.axis,
        "last_evidence": number(reading.curve.steps[-1].load) if reading.curve.steps else None,
        "not_reached": number(reading.curve.not_reached),
        "requests_failed_at": [number(load) for load in reading.curve.broken],
        "knee": _knee(reading.knee),
        "goodput": _goodput(reading.goodput),
        "repeats": [_spread(spread) for spread in reading.spreads],
        "capacity": capacity
        and {
            "sustainable": _operating(capacity.sustainable),
            "target": _operating(capacity.target),
            "target_of_knee": [number(bound) for bound in OF_THE_KNEE_RANGE],
            "why": capacity.why,
        },
    }


def _objective(objective: Objective | None) -> dict[str, Any] | None:
    """The objective, limits in seconds."""
    if objective is None:
        return None
    limits = {f"{limit.latency}_p95_s": number(limit.limit_s) for limit in objective.limits}
    return {**limits, "attainment_pct": number(objective.attainment_pct)}


def _point(run: Judged, reading: Reading) -> dict[str, Any]:
    point = run.point
    return {
        "file": point.origin.file,
        "place": point.origin.place,
        "is_evidence": is_evidence(run, reading),
        "figures": dict(_figures(point)),
        "reckoned": _reckoned({"in_flight": in_flight(point), "answer_s": answer_s(point)}),
        "remarks": [{"code": each.code, "rules_out": each.rules_out, "text": each.text} for each in run.remarks],
        "attainment": run.attainment and _attainment(run.attainment),
    }


def _figures(point: Point) -> Iterable[tuple[str, dict[str, Any]]]:
    for name in _FIGURES:
        value = getattr(point, name)
        if isinstance(value, Latency):
            amounts = {"mean": value.mean_s, **{f"p{each:g}": at_s for each, at_s in value.percentiles_s.items()}}
            named = {f"{name}.{each}": amount for each, amount in amounts.items()}
        elif isinstance(value, Mapping):
            named = {f"{name}.{each}": amount for each, amount in value.items()}
        else:
            named = {name: value}
        for full_name, amount in named.items():
            if amount is not None:
                yield full_name, {"value": amount, "key": point.keys.get(full_name)}
    if point.goodput:
        yield "goodput", {"value": point.goodput.rps, "key": point.keys.get("goodput")}


def _reckoned(found: Mapping[str, Reckoned | None]) -> dict[str, Any]:
    return {name: {"value": number(each.value), "by": each.by} for name, each in found.items() if each}


def _attainment(attainment: Attainment) -> dict[str, Any]:
    return {
        "verdict": attainment.verdict,
        "source": attainment.source,
        "share": _share(attainment.share),
        "within": {name: _share(share) for name, share in attainment.within.items()},
    }


def _share(share: Share) -> dict[str, Any]:
    return {"low": number(share.low), "high": number(share.high), "is_below_high": share.is_below_high}


def _knee(knee: Knee | None) -> dict[str, Any] | None:
    if knee is None:
        return None
    return {
        "load": number(knee.load),
        "above": number(knee.above),
        "below": number(knee.below),
        "is_at_or_above": knee.is_at_or_above,
        "is_at_or_below": knee.is_at_or_below,
        "response": knee.response,
    }


def _goodput(goodput: Goodput | None) -> dict[str, Any] | None:
    if goodput is None:
        return None
    return {
        "load": number(goodput.load),
        "fails_at": number(goodput.fails_at),
        "interpolated_crossing": number(goodput.crossing),
        "unknown": [number(load) for load in goodput.unknown],
        "holds_again_not_counted": [number(load) for load in goodput.again],
    }


def _spread(spread: Spread) -> dict[str, Any]:
    return {
        "load": number(spread.load),
        "runs": spread.runs,
        "held": spread.held,
        "p95_s": {name: [number(least), number(greatest)] for name, (least, greatest) in spread.p95_s.items()},
    }


def _operating(point: OperatingPoint) -> dict[str, Any]:
    return {
        "rps": number(point.rps),
        "in_flight": number(point.in_flight),
        "output_tokens_per_s": number(point.output_tokens_per_s),
        "input_tokens_per_s": number(point.input_tokens_per_s),
        "is_interpolated": point.is_interpolated,
        "evidence": [str(run.point.origin) for run in point.evidence],
    }
