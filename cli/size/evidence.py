"""What result files say of one replica, for the classes of a request; and whether they are of what is to be sized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from capacity.recordings.promise import attainment_pct, limits
from capacity.request import Request
from capacity.sizing.carries import KINDS, LENGTHS, Carries, LengthName, typed
from capacity.sizing.offered import DIMENSIONS, Dimension
from capacity.sweeps.objective import Limit, Objective
from capacity.sweeps.operating import OperatingPoint, Reading
from capacity.sweeps.operating import read as judge
from capacity.sweeps.sweep import exact
from evidence import files
from evidence.comparison import Difference, contradictions, differences
from evidence.record import ServingRecord, beside, line, load
from stacks.faults import Fault, InputError
from stacks.folders import shown
from stacks.workload_class import WorkloadClass

SEQUENCES = "max-num-seqs"
"""What a record's settings call `engine.max_num_seqs`; `evidence.comparison` compares the two by it."""


@dataclass
class Measured:
    """Class -> what one replica carries of it; and what a person has to know of the evidence."""

    carries: dict[str, Carries] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)


@dataclass(frozen=True)
class _Sweep:
    """One folder's reading, and the record beside it."""

    reading: Reading
    record: ServingRecord | None


@dataclass(frozen=True)
class _Evidence:
    """One name's sweeps; `record` is that of evidence without any, which is a person's word."""

    name: str
    sweeps: tuple[_Sweep, ...]
    record: ServingRecord | None


def measured(request: Request, beside: Sequence[Request], folder: Path) -> Measured:
    """Read the evidence of every class of `request`; the stack's `folder` is what its names are relative to.

    It is judged by the strictest that it and the requests `beside` it, to the same service, ask for: they share its
    replicas. Evidence of another configuration than the service's is a fault, each difference by name.
    """
    found = Measured()
    asked = _objective([request, *beside])
    read: dict[str, _Evidence] = {}
    for kind, work in request.workload.profile.classes.items():
        name = work.per_replica.evidence if work.per_replica else request.service.capacity.evidence
        if name not in read:
            read[name] = _read(folder / name, name, request, asked, found)
        found.carries[kind] = _carries(kind, work, read[name], request, found)
    return found


def _read(place: Path, name: str, request: Request, asked: Objective, found: Measured) -> _Evidence:
    evidence = files.read([place])
    found.findings += [f"{request.name}: evidence {one.file} is refused: {one.reason}" for one in evidence.refused]
    records: dict[Path, ServingRecord | None] = {}
    sweeps = []
    for sweep in evidence.sweeps:
        path = beside(Path(sweep.points[0].origin.file), place)
        record = _record(path, records, request, found) if path else None
        if path and record:
            _differ(path, contradictions(record, [sweep]), found)
        reading = judge(sweep, asked)
        found.findings += [f"{request.name}: evidence {sweep.name}: {text}" for text in reading.refused]
        found.readings.append(reading)
        sweeps.append(_Sweep(reading, record))
    if sweeps and not records:
        found.remarks.append(f"{name} has no record of what was served: nothing shows that it is of this service")
    path = None if sweeps else beside(place, place)
    return _Evidence(name, tuple(sweeps), _record(path, records, request, found) if path else None)


def _record(
    path: Path, records: dict[Path, ServingRecord | None], request: Request, found: Measured
) -> ServingRecord | None:
    if path not in records:
        records[path] = None
        try:
            record = records[path] = load(path)
        except InputError as error:
            found.faults += error.faults
        else:
            comparison = differences(record, request.service, request.pool)
            _differ(path, comparison.differences, found)
            if comparison.not_compared:
                found.remarks.append(f"{shown(path)}: not compared with the service: {comparison.not_compared}")
    return records[path]


def _differ(path: Path, different: tuple[Difference, ...], found: Measured) -> None:
    for one in different:
        expected = f"{one.other}, as {one.where} has it"
        fix = "Measure the configuration that is to be sized, size the one that was measured, or correct the record."
        found.faults.append(Fault(shown(path), line(path, one.name), one.name, one.recorded, expected, fix))


def _objective(requests: Sequence[Request]) -> Objective:
    """What the requests want together, and the service promises where they say nothing.

    How long an engine's queue is, no load generator sees: `queue_p95_ms` bounds the queue instead.
    """
    seen = [Limit(name, limit_s) for name, limit_s in limits(requests).items() if name != "queue"]
    return Objective(tuple(seen), attainment_pct(requests))


def _carries(kind: str, work: WorkloadClass, evidence: _Evidence, request: Request, found: Measured) -> Carries:
    """What the class's own sweeps say, else those of the whole mix, else what is typed."""
    word = typed(work, request.service)
    own = [one for one in evidence.sweeps if one.record and one.record.workload_class == kind]
    ours = own or [one for one in evidence.sweeps if not (one.record and one.record.workload_class)]
    known = [(one.record, one.reading.capacity) for one in ours if one.reading.capacity]
    if evidence.sweeps and not known:
        found.findings.append(
            f"{request.name}: evidence {evidence.name} shows no load at which one replica keeps the SLO for class "
            f"{kind}{_unseen(evidence)}: the number that is typed is not supported"
        )
    if not known:
        word = replace(word, is_refuted=bool(evidence.sweeps))
        return _worth(word, next((one.record for one in ours if one.record), evidence.record))
    # Of several measurements of one configuration the least: what holds on a bad day.
    record, capacity = min(known, key=lambda pair: pair[1].target.in_flight or pair[1].target.rps or Fraction(0))
    each = [_loads(one.target) for _, one in known]
    loads = {
        name: min(one[name] for one in each if name in one) for name in DIMENSIONS if any(name in one for one in each)
    }
    if "in_flight" not in loads:
        loads = word.load | loads
    read = replace(
        word,
        load=loads,
        evidence=evidence.name,
        why=capacity.why,
        at_slo=True,
        sustains=min((most for _, one in known if (most := one.sustainable.in_flight)), default=None),
        lengths=_lengths(capacity.target),
    )
    return _worth(read, record)


def _lengths(target: OperatingPoint) -> dict[LengthName, Fraction]:
    """Mean tokens of the requests that the target rests on."""
    found: dict[LengthName, Fraction] = {}
    for name in LENGTHS:
        means = [getattr(run.point, f"{name}_mean") for run in target.evidence]
        known = [exact(mean) for mean in means if mean]
        if known:
            found[name] = sum(known, Fraction(0)) / len(known)
    return found


def _unseen(evidence: _Evidence) -> str:
    """Limits that no point of it can be held against, as a clause."""
    readings = [one.reading for one in evidence.sweeps]
    asked = [limit.latency for reading in readings[:1] if reading.objective for limit in reading.objective.limits]
    unseen = [name for name in asked if not any(run.point.latency(name) for one in readings for run in one.runs)]
    return f", and no {' or '.join(unseen)} at all" if unseen else ""


def _worth(carries: Carries, record: ServingRecord | None) -> Carries:
    """No more than the record's kind says, and of the engine that it says."""
    if record is None:
        return carries
    said = record.settings.get(SEQUENCES, "")
    kind = max(carries.kind, record.kind, key=KINDS.index)
    return replace(carries, kind=kind, sequences=int(said) if said.isdecimal() else None)


def _loads(target: OperatingPoint) -> dict[Dimension, Fraction]:
    known: dict[Dimension, Fraction | None] = {
        "in_flight": target.in_flight,
        "rps": target.rps,
        "prefill_tokens_per_s": target.input_tokens_per_s,
        "output_tokens_per_s": target.output_tokens_per_s,
    }
    return {name: value for name, value in known.items() if value}
