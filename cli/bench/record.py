"""What was served while a sweep was measured: the record beside it, against its files and a service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capacity.sweeps.sweep import Sweep
from evidence.comparison import Comparison, Difference, contradictions, differences
from evidence.record import RECORD_FILE, ServingRecord, beside, load
from stacks.spec import NodePool, Service


@dataclass(frozen=True, slots=True)
class Recorded:
    """The record of one sweep. `wrong`: where its files say otherwise; `compared`: with a service, if one is named."""

    file: Path
    record: ServingRecord
    wrong: tuple[Difference, ...]
    compared: Comparison | None

    @property
    def other(self) -> tuple[Difference, ...]:
        """Where the service is another."""
        return self.compared.differences if self.compared else ()


def recorded(sweep: Sweep, paths: Iterable[Path], served: tuple[Service, NodePool] | None) -> Recorded | None:
    """The record beside `sweep`, or above it up to the path that was asked for; None if there is none.

    Raises:
        InputError: it is no record.
    """
    place = Path(sweep.points[0].origin.file)
    tops = (path if path.is_dir() else path.parent for path in paths)
    file = next((found for top in tops if place.is_relative_to(top) and (found := beside(place, top))), None)
    if file is None:
        return None
    record = load(file)
    compared = differences(record, *served) if served else None
    return Recorded(file, record, contradictions(record, [sweep]), compared)


def lines(found: Recorded | None) -> Iterator[str]:
    """Kind and configuration first: numbers that nobody measured say so before anything else."""
    if found is None:
        yield f"! no {RECORD_FILE} beside it: what was served is not on record"
        return
    record = found.record
    kinds = {"measured": "Measured", "sandbox": "NOT MEASURED on GPUs, but on a double", "illustrative": "NOT MEASURED"}
    model = " ".join(filter(None, (record.model.name, record.model.revision)))
    runtime = " ".join(filter(None, (record.runtime.name, record.runtime.version)))
    gpus = f"{record.gpu.count} x {record.gpu.type}" if record.gpu.count else record.gpu.type
    mix = f", class {record.workload_class}" if record.workload_class else ""
    yield f"{kinds[record.kind]}: {model}, {runtime}, {gpus}{mix} ({found.file})"
    yield from (f"! {each}" for each in (*found.wrong, *found.other))
    if found.compared and found.compared.not_compared:
        yield f"Not compared: {found.compared.not_compared}"


def data(found: Recorded | None) -> dict[str, Any] | None:
    """As `bench read -o json` has it."""
    if found is None:
        return None
    return {
        "file": str(found.file),
        "kind": found.record.kind,
        "workload_class": found.record.workload_class,
        "facts": found.record.facts(),
        "contradictions": [str(each) for each in found.wrong],
        "differences_from_service": [str(each) for each in found.other],
        "not_compared": found.compared and [*found.compared.only_recorded, *found.compared.not_recorded],
    }
