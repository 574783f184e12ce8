"""`warmline bench`: what result files of load generators are worth, and what they say of one replica."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cli.exits import FINDING
from cli.options import examples, optional_stack_option, output_option

if TYPE_CHECKING:
    from capacity.objective import Objective
    from capacity.operating import Reading
    from evidence.files import Evidence

F = TypeVar("F", bound=Callable[..., Any])

ATTAINMENT_PCT = Decimal(99)
"""As `slo.attainment_pct` of a service has it where nothing else is said."""


class Amount(click.ParamType[Decimal]):
    """A number above 0, kept as it was written."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """The number, exactly."""
        try:
            amount = Decimal(value)
        except InvalidOperation:
            self.fail(f"{value!r} is no number.", param, ctx)
        if not (amount.is_finite() and amount > 0):
            self.fail(f"{value} is not above 0.", param, ctx)
        return amount


def objective_options(command: F) -> F:
    """The objective: by its limits, or as a service's `slo`."""
    options = (
        click.option("--ttft-p95-ms", type=Amount(), help="Limit of the time to first token."),
        click.option("--tpot-p95-ms", type=Amount(), help="Limit of the time per output token after it."),
        click.option("--e2e-p95-ms", type=Amount(), help="Limit of the whole answer."),
        click.option(
            "--attainment-pct",
            type=Amount(),
            help=f"Of all requests sent, the share that keeps every limit at once.  [default: {ATTAINMENT_PCT}]",
        ),
        optional_stack_option,
        click.option("--service", metavar="NAME", help="Take the objective from this service's slo."),
    )
    for option in reversed(options):
        command = option(command)
    return command


paths_argument = click.argument(
    "paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(exists=True, path_type=Path)
)


@click.group(
    epilog=examples(
        "warmline bench read stacks/prod/benchmarks/support-8b -s prod --service support-bot",
        "warmline bench plot results/ --ttft-p95-ms 600 --out curve.html",
    )
)
def bench() -> None:
    """Read what load generators measured: worth, knee, goodput, one replica's number.

    Known are the result files of vLLM, SGLang, GuideLLM, AIPerf, GenAI-Perf, inference-perf, llm-d-benchmark and
    InferenceX, by their content. A folder is one sweep.
    """


@bench.command(
    epilog=examples(
        "warmline bench read results/ --ttft-p95-ms 600 --tpot-p95-ms 20",
        "warmline bench read stacks/prod/benchmarks/support-8b -s prod --service support-bot --strict -o json",
    )
)
@paths_argument
@objective_options
@click.option("--strict", is_flag=True, help="Exit 1 for any remark, too.")
@output_option("table", "json")
@click.pass_context
def read(ctx: click.Context, /, paths: tuple[Path, ...], strict: bool, output: str, **asked: Any) -> None:
    """Print each point and its worth, then knee, goodput and target.

    The knee is where the load for each second of response is greatest: up to there waiting grows less than the load.
    Only open-loop points count, or closed ones for requests in flight where there are no others.

    Exits 1 if a file or a sweep was refused, 2 if there is no evidence at all.
    """
    objective = _objective(**asked)
    evidence, readings = _read(paths, objective)

    from cli import bench_data, bench_text
    from cli.output import emit, table

    if output == "json":
        data = {
            "objective": bench_data.objective_data(objective),
            "sweeps": [bench_data.reading_data(reading) for reading in readings],
            "refused": [{"file": one.file, "reason": one.reason} for one in evidence.refused],
            "skipped": [{"file": one.file, "reason": one.reason} for one in evidence.skipped],
        }
        emit(data, output)
    else:
        click.echo(bench_text.promise(objective))
        for reading in readings:
            click.echo()
            table(bench_text.COLUMNS, bench_text.rows(reading), title=reading.sweep.name)
            click.echo("\n".join([*bench_text.remark_lines(reading), "", *bench_text.conclusions(reading)]))
    _end(ctx, evidence, readings, strict=strict)


@bench.command(
    epilog=examples(
        "warmline bench plot results/ --ttft-p95-ms 600 --tpot-p95-ms 20",
        "warmline bench plot results/ -s prod --service support-bot --out curve.html",
    )
)
@paths_argument
@objective_options
@click.option(
    "--out",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Write an .svg or .html file instead of drawing in the terminal.",
)
@click.pass_context
def plot(ctx: click.Context, /, paths: tuple[Path, ...], out: Path | None, **asked: Any) -> None:
    """Draw latency over load, with limits, knee and target.

    Points that are no evidence are hollow. Exits as `bench read` does.
    """
    if out is not None and out.suffix not in {".svg", ".html"}:
        raise click.BadParameter(f"{out} ends neither with .svg nor with .html.", param_hint="--out")
    objective = _objective(**asked)
    evidence, readings = _read(paths, objective)

    from cli.bench_picture import picture

    pictures = [picture(reading) for reading in readings]
    if out is None:
        import shutil

        from cli import bench_plot

        for drawn in pictures:
            click.echo("\n".join([*bench_plot.lines(drawn, min(shutil.get_terminal_size().columns, 120)), ""]))
    else:
        from cli import bench_chart

        text = bench_chart.svg(pictures) if out.suffix == ".svg" else bench_chart.html(objective, readings)
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise click.BadParameter(f"{out} cannot be written: {error.strerror}.", param_hint="--out") from None
        click.echo(str(out))
    _end(ctx, evidence, readings, strict=False)


def _objective(
    stack: str | None, service: str | None, attainment_pct: Decimal | None, **limits_ms: Decimal | None
) -> Objective | None:
    from capacity.objective import objective, of_slo

    given = {name: limit for name, limit in limits_ms.items() if limit is not None}
    if attainment_pct is not None and not 1 <= attainment_pct <= 100:
        raise click.BadParameter(f"{attainment_pct} is not from 1 to 100.", param_hint="--attainment-pct")
    if service is None:
        if attainment_pct is not None and not given:
            raise click.UsageError("--attainment-pct is a share that keeps limits: give one of them, too.")
        names = {option.removesuffix("_p95_ms"): Fraction(limit) for option, limit in given.items()}
        return objective(names, Fraction(attainment_pct or ATTAINMENT_PCT)) if names else None  # type: ignore[arg-type]
    if given or attainment_pct is not None:
        raise click.UsageError("Give either limits or --service, whose slo has them.")
    if stack is None:
        raise click.UsageError("--service is of a stack: give -s STACK.")
    from stacks.loader import load_stack

    services = load_stack(stack).platform.services
    if service not in services:
        raise click.BadParameter(
            f"no service {service!r}, expected one of {', '.join(services)}.", param_hint="--service"
        )
    return of_slo(services[service].slo)


def _read(paths: tuple[Path, ...], objective: Objective | None) -> tuple[Evidence, list[Reading]]:
    """Everything that is evidence, judged.

    Raises:
        InputError: nothing is.
    """
    from capacity.operating import read as read_sweep
    from cli.output import busy
    from evidence import files
    from stacks.faults import Fault, InputError

    with busy("reading benchmark results"):
        evidence = files.read(paths)
    if not evidence.sweeps:
        expected, fix = "a result file of a load generator", "Name the folder that holds the results."
        reasons = [(one.file, one.reason) for one in evidence.refused]
        reasons += [(skip.file, skip.reason) for skip in evidence.skipped]
        found = reasons or [(str(path), "nothing in it") for path in paths]
        raise InputError(Fault(file, 0, "", reason, expected, fix) for file, reason in found)
    return evidence, [read_sweep(sweep, objective) for sweep in evidence.sweeps]


def _end(ctx: click.Context, evidence: Evidence, readings: list[Reading], *, strict: bool) -> None:
    for one in evidence.refused:
        click.echo(f"{one.file}: refused, {one.reason}", err=True)
    remarked = any(reading.remarks or any(run.remarks for run in reading.runs) for reading in readings)
    if evidence.refused or any(reading.refused for reading in readings) or (strict and remarked):
        ctx.exit(FINDING)
