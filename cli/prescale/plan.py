"""`warmline prescale plan`: the timetable in every form, and why the floor is what it is at one time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.exits import FINDING
from cli.options import examples, output_option, stack_option
from cli.prescale.at import at_option, moment

if TYPE_CHECKING:
    from whenever import Instant

    from cli.prescale.plan_answer import Answer
    from prescale.on_time.planning import Plan
    from prescale.windows.window import Timetable
    from stacks.loader import Stack

written = click.Path(dir_okay=False, writable=True, path_type=Path)


@click.command(
    epilog=examples(
        "warmline prescale plan -s prod",
        "warmline prescale plan -s prod --at 2027-10-29T14:00:00Z -o json",
        "warmline prescale plan -s prod --measured",
        "warmline prescale plan -s prod --explain '2027-10-29 19:40'",
        "warmline prescale plan -s prod --out plan.html --ics plan.ics",
    )
)
@stack_option
@at_option
@click.option("--measured", is_flag=True, help="Ask the cluster for measured lead times, by which sync raises.")
@click.option("--explain", metavar="TIME", help="Say instead why the floor of each service is what it is then.")
@click.option("--out", type=written, metavar="FILE", help="Draw it, too: the bars of all events as .svg or .html.")
@click.option("--ics", type=written, metavar="FILE", help="Write the events, too, for calendar programs.")
@output_option("table", "json", "yaml")
@click.pass_context
def plan(
    ctx: click.Context,
    /,
    *,
    stack: str,
    at: str | None,
    measured: bool,
    explain: str | None,
    out: Path | None,
    ics: Path | None,
    output: str,
) -> None:
    """Print the timetable of all events, with its arithmetic.

    Asks no cluster unless --measured is said: lead times are platform.yaml's, and what the cluster did may have `sync`
    raise an event earlier.

    Of an event that repeats it reckons what may be raised in the next four weeks, and the next occurrence in any case.
    Exits 1 where floors that are in force together need more GPUs than their node pool has, where no entry of a
    calendar file comes to a row that is there for it, and where nobody knows the next day of a holiday.
    """
    if explain and (at or out or ics):
        raise click.UsageError("--explain tells of its own time alone: leave --at, --out and --ics out.")
    if out is not None and out.suffix not in {".svg", ".html"}:
        raise click.BadParameter(f"{out} ends neither with .svg nor with .html.", param_hint="--out")
    from prescale.windows.timetable import timetable
    from stacks.loader import load_stack

    loaded = load_stack(stack)
    now = moment(explain or at, loaded, "--explain" if explain else "--at")
    planned = timetable(loaded, now)
    by = _measured(loaded, now) if measured else None
    planned = by.table if by else planned
    if explain:
        _explain(loaded, planned, now, output)
        return
    from cli.prescale.plan_answer import answer

    told = answer(loaded, planned, now, by)
    _print(told, output)
    if ics is not None:
        from cli.prescale import calendar_file

        _write(ics, calendar_file.ics(loaded, planned, now), "--ics")
    if out is not None:
        from cli.prescale import gantt

        _write(out, gantt.page(told) if out.suffix == ".html" else gantt.svg(told), "--out")
    if told.is_finding:
        ctx.exit(FINDING)


def _measured(stack: Stack, now: Instant) -> Plan:
    from prescale.api.cluster import Cluster
    from prescale.briefs.making import brief_of
    from prescale.on_time import planning

    brief = brief_of(stack, now)
    return planning.plan(Cluster.of(brief.context, brief.namespace), brief, now)


def _explain(loaded: Stack, planned: Timetable, now: Instant, output: str) -> None:
    from cli.output import emit
    from cli.prescale import explained

    if output == "table":
        click.echo("\n".join(explained.lines(loaded, planned, now)))
    else:
        emit(explained.data(loaded, planned, now), output)


def _print(told: Answer, output: str) -> None:
    from cli.output import emit, table
    from cli.prescale.plan_answer import COLUMNS

    if output != "table":
        emit(told.data, output)
        return
    click.echo(f"{told.heading}\n")
    rows, more = told.rows
    if rows:
        table(COLUMNS, rows)
        click.echo("\n".join([*more, ""]))
    else:
        click.echo("No events.\n")
    click.echo("\n".join(told.lines))


def _write(path: Path, text: str, option: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be written: {error.strerror}.", param_hint=option) from None
    click.echo(f"written: {path}", err=True)
