"""What `warmline bench` is asked, and everything that answers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import click

from capacity.sweeps.objective import Objective, objective, of_slo
from capacity.sweeps.operating import Reading, read
from cli.bench.record import Recorded, recorded
from cli.output import busy
from evidence import files
from stacks.faults import Fault, InputError
from stacks.spec import NodePool, Service

ATTAINMENT_PCT = Decimal(99)
"""As `slo.attainment_pct` of a service has it where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Question:
    """The objective to judge by, None for none; the service that it is of, with its node pool."""

    objective: Objective | None
    served: tuple[Service, NodePool] | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What one sweep says, and what was served meanwhile."""

    reading: Reading
    recorded: Recorded | None

    @property
    def kind(self) -> str | None:
        """How real it is; None if nobody wrote it down."""
        return self.recorded.record.kind if self.recorded else None

    @property
    def is_finding(self) -> bool:
        """Whether nothing can be concluded, or not for what was asked: an objective that no load is shown to keep."""
        reading = self.reading
        nothing = bool(reading.refused) or not reading.curve.steps
        nothing = nothing or (reading.goodput is not None and reading.goodput.load is None)
        return nothing or bool(self.recorded and (self.recorded.wrong or self.recorded.other))

    @property
    def is_remarked(self) -> bool:
        """Whether there is anything to be said of it."""
        return self.recorded is None or bool(self.reading.remarks) or any(run.remarks for run in self.reading.runs)


@dataclass(frozen=True, slots=True)
class Answer:
    """Every sweep of the paths, and what was not read."""

    objective: Objective | None
    evidence: files.Evidence
    sweeps: tuple[Told, ...]

    @property
    def is_finding(self) -> bool:
        """Whether a person has to look."""
        return bool(self.evidence.refused) or any(told.is_finding for told in self.sweeps)

    @property
    def is_remarked(self) -> bool:
        """Whether a sweep is less than it could be."""
        return any(told.is_remarked for told in self.sweeps)


def question(
    stack: str | None, service: str | None, attainment_pct: Decimal | None, **limits_ms: Decimal | None
) -> Question:
    """What the options ask: limits of their own, or those of a service.

    Raises:
        click.UsageError: they contradict each other, or name nothing.
        InputError: the stack is not well.
    """
    given = {name: limit for name, limit in limits_ms.items() if limit is not None}
    if attainment_pct is not None and not 1 <= attainment_pct <= 100:
        raise click.BadParameter(f"{attainment_pct} is not from 1 to 100.", param_hint="--attainment-pct")
    if service is None:
        if attainment_pct is not None and not given:
            raise click.UsageError("--attainment-pct is a share that keeps limits: give one of them, too.")
        limits = {option.removesuffix("_p95_ms"): Fraction(limit) for option, limit in given.items()}
        share = Fraction(attainment_pct or ATTAINMENT_PCT)
        return Question(objective(limits, share) if limits else None)  # type: ignore[arg-type]
    if given or attainment_pct is not None:
        raise click.UsageError("Give either limits or --service, whose slo has them.")
    if stack is None:
        raise click.UsageError("--service is of a stack: give -s STACK.")
    return _of_service(stack, service)


def _of_service(stack: str, name: str) -> Question:
    from stacks.loader import load_stack

    platform = load_stack(stack).platform
    if name not in platform.services:
        known = ", ".join(platform.services)
        raise click.BadParameter(f"no service {name!r}, expected one of {known}.", param_hint="--service")
    service = platform.services[name]
    return Question(of_slo(service.slo), (service, platform.node_pools[service.node_pool]))


def answered(paths: Sequence[Path], asked: Question) -> Answer:
    """Read all of `paths` and judge it.

    Raises:
        InputError: there is no evidence, or a record beside it is none.
    """
    with busy("reading benchmark results"):
        evidence = files.read(paths)
    if not evidence.sweeps:
        expected, fix = "a result file of a load generator", "Name the folder that holds the results."
        reasons = [(one.file, one.reason) for one in evidence.refused]
        reasons += [(skip.file, skip.reason) for skip in evidence.skipped]
        found = reasons or [(str(path), "nothing in it") for path in paths]
        raise InputError(Fault(file, 0, "", reason, expected, fix) for file, reason in found)
    sweeps = tuple(
        Told(read(sweep, asked.objective), recorded(sweep, paths, asked.served)) for sweep in evidence.sweeps
    )
    return Answer(asked.objective, evidence, sweeps)
