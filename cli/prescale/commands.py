"""`warmline prescale`: the group, and its plan."""

from __future__ import annotations

import click

from cli.exits import FINDING
from cli.options import examples, output_option, stack_option
from cli.prescale.at import at_option, moment
from cli.prescale.preflight import preflight
from cli.prescale.schedule import schedule
from cli.prescale.status import status
from cli.prescale.sync import sync


@click.group(
    epilog=examples(
        "warmline prescale plan -s prod",
        "*/2 * * * * warmline prescale sync -s prod",
        "warmline prescale status -s prod --at '2027-10-29 20:00'",
    )
)
def prescale() -> None:
    """Raise capacity ahead of known events, and let go after.

    `sync` is run every few minutes by cron; it reckons the floor anew each time, so a missed or killed run, or two at
    once, do no harm.
    """


@prescale.command(
    epilog=examples(
        "warmline prescale plan -s prod",
        "warmline prescale plan -s prod --at 2027-10-29T14:00:00Z -o json",
    )
)
@stack_option
@at_option
@output_option("table", "json", "yaml")
@click.pass_context
def plan(ctx: click.Context, stack: str, at: str | None, output: str) -> None:
    """Print the timetable of all events, with its arithmetic. Asks no cluster.

    Of an event that repeats it reckons what may be raised in the next four weeks, and the next occurrence in any case.
    Exits 1 where floors that are in force together need more GPUs than their node pool has, and where a row for
    entries of a calendar file matches none of them.
    """
    from cli.output import emit, table
    from cli.prescale import plan_text, shortage_text
    from cli.prescale.plan_rows import plan_rows
    from cli.prescale.text import both
    from prescale.shortage import shortages
    from prescale.timetable import timetable
    from stacks.loader import load_stack

    loaded = load_stack(stack)
    now = moment(at, loaded)
    planned = timetable(loaded, now)
    short = shortages(loaded, planned, now)
    if output == "table":
        zone = loaded.calendar.timezone
        click.echo(f"Stack {loaded.name}, calendar {planned.calendar}, at {both(now, zone)}\n")
        if planned.windows:
            columns = ("event", "service", "state", "floor", "raise at", "start", "end")
            rows, more = plan_rows(planned, now)
            table(columns, rows)
            click.echo("\n".join([*more, ""]))
        else:
            click.echo("No events.\n")
        click.echo(
            "\n".join(
                [
                    *plan_text.plan_arithmetic(loaded, planned),
                    *shortage_text.lines(short, zone),
                    *plan_text.remarks(loaded.calendar),
                ]
            )
        )
    else:
        data = plan_text.plan_data(loaded, planned, now)
        emit({**data, **shortage_text.data(loaded, short)}, output)
    if short or loaded.calendar.findings:
        ctx.exit(FINDING)


prescale.add_command(sync)
prescale.add_command(status)
prescale.add_command(preflight)
prescale.add_command(schedule)
