"""`warmline bench`: what result files of load generators are worth, and what they say of one replica."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cli.exits import FINDING
from cli.options import examples, optional_stack_option, output_option

if TYPE_CHECKING:
    from cli.bench.answer import Answer

F = TypeVar("F", bound=Callable[..., Any])


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
            help="Of all requests sent, the share that keeps every limit at once; 95: no more than p95.  [default: 99]",
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

    Exits 1 if a file was refused, if nothing can be concluded from a sweep, if no load of it is shown to keep the
    objective, or if its record, its files or the service disagree on what was served; 2 if there is no result file at
    all.
    """
    from cli.bench import data, record, text
    from cli.bench.answer import answered, question
    from cli.output import emit, table, terminal_columns, wrapped

    answer = answered(paths, question(**asked))
    if output == "json":
        emit(data.answer_data(answer), output)
    else:
        click.echo(wrapped(text.promise(answer.objective)))
        for told in answer.sweeps:
            reading = told.reading
            click.echo("\n".join(["", *map(wrapped, [reading.sweep.name, *record.lines(told.recorded)])]))
            columns, *rows = text.table_of(reading, terminal_columns())
            table(columns, rows)
            click.echo("\n".join(map(wrapped, [*text.remark_lines(reading), "", *text.conclusions(reading)])))
    _end(ctx, answer, strict=strict)


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
    from cli.bench.answer import answered, question
    from cli.bench.picture import picture

    answer = answered(paths, question(**asked))
    pictures = [picture(told.reading, told.kind) for told in answer.sweeps]
    if out is None:
        import shutil

        from cli.bench import terminal

        for drawn in pictures:
            click.echo("\n".join([*terminal.lines(drawn, min(shutil.get_terminal_size().columns, 120)), ""]))
    else:
        from cli.bench import chart

        text = chart.svg(pictures) if out.suffix == ".svg" else chart.html(answer)
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise click.BadParameter(f"{out} cannot be written: {error.strerror}.", param_hint="--out") from None
        click.echo(str(out))
    _end(ctx, answer, strict=False)


def _end(ctx: click.Context, answer: Answer, *, strict: bool) -> None:
    for one in answer.evidence.refused:
        click.echo(f"{one.file}: refused, {one.reason}", err=True)
    if answer.is_finding or (strict and answer.is_remarked):
        ctx.exit(FINDING)
