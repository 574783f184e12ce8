"""`warmline prescale plan`: the timetable, and why the floor is what it is at one time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.exits import FINDING
from cli.options import examples, output_option, stack_option
from cli.prescale.at import at_option, moment

if TYPE_CHECKING:
    from whenever import Instant

    from prescale.timetable import Timetable
    from stacks.loader import Stack


@click.command(
    epilog=examples(
        "warmline prescale plan -s prod",
        "warmline prescale plan -s prod --at 2027-10-29T14:00:00Z -o json",
        "warmline prescale plan -s prod --explain '2027-10-29 19:40'",
    )
)
@stack_option
@at_option
@click.option("--explain", metavar="TIME", help="Say instead why the floor of each service is what it is then.")
@output_option("table", "json", "yaml")
@click.pass_context
def plan(ctx: click.Context, stack: str, at: str | None, explain: str | None, output: str) -> None:
    """Print the timetable of all events, with its arithmetic. Asks no cluster.

    Of an event that repeats it reckons what may be raised in the next four weeks, and the next occurrence in any case.
    Exits 1 where floors that are in force together need more GPUs than their node pool has, and where a row for
    entries of a calendar file matches none of them.
    """
    if at and explain:
        raise click.UsageError("--explain has a time of its own: leave --at out.")
    from prescale.timetable import timetable
    from stacks.loader import load_stack

    loaded = load_stack(stack)
    now = moment(explain or at, loaded, "--explain" if explain else "--at")
    planned = timetable(loaded, now)
    if explain:
        _explain(loaded, planned, now, output)
    elif _print(loaded, planned, now, output):
        ctx.exit(FINDING)


def _explain(loaded: Stack, planned: Timetable, now: Instant, output: str) -> None:
    from cli.output import emit
    from cli.prescale import explained

    if output == "table":
        click.echo("\n".join(explained.lines(loaded, planned, now)))
    else:
        emit(explained.data(loaded, planned, now), output)


def _print(loaded: Stack, planned: Timetable, now: Instant, output: str) -> bool:
    """Whether there is a finding."""
    from cli.output import emit, table
    from cli.prescale import plan_text, shortage_text
    from cli.prescale.plan_rows import plan_rows
    from cli.prescale.text import both
    from prescale.shortage import shortages

    short = shortages(loaded, planned, now)
    is_finding = bool(short or loaded.calendar.findings)
    if output != "table":
        data = plan_text.plan_data(loaded, planned, now)
        emit({**data, **shortage_text.data(loaded, short)}, output)
        return is_finding
    zone = loaded.calendar.timezone
    click.echo(f"Stack {loaded.name}, calendar {planned.calendar}, at {both(now, zone)}\n")
    if planned.windows:
        columns = ("event", "service", "state", "floor", "raise at", "start", "end")
        rows, more = plan_rows(planned, now)
        table(columns, rows)
        click.echo("\n".join([*more, ""]))
    else:
        click.echo("No events.\n")
    lines = [
        *plan_text.plan_arithmetic(loaded, planned),
        *plan_text.gap_lines(planned, now, zone),
        *shortage_text.lines(short, zone),
        *plan_text.remarks(loaded.calendar),
    ]
    click.echo("\n".join(lines))
    return is_finding
