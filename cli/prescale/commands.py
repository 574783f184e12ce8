"""`warmline prescale`: plan, sync, status."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.exits import FINDING
from cli.options import examples, output_option, stack_option

if TYPE_CHECKING:
    from whenever import Instant

    from stacks.loader import Stack

at_option = click.option(
    "--at", metavar="TIME", help="Another time than now: RFC 3339, or 'YYYY-MM-DD HH:MM' in the calendar's zone."
)


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
    Exits 1 where floors that are in force together need more GPUs than their node pool has.
    """
    from cli.output import emit, table
    from cli.prescale import shortage_text, text
    from cli.prescale.plan_rows import plan_rows
    from prescale.shortage import shortages
    from prescale.timetable import timetable
    from stacks.loader import load_stack

    loaded = load_stack(stack)
    now = _moment(at, loaded)
    planned = timetable(loaded, now)
    short = shortages(loaded, planned, now)
    if output == "table":
        zone = loaded.calendar.timezone
        click.echo(f"Stack {loaded.name}, calendar {planned.calendar}, at {text.both(now, zone)}\n")
        if planned.windows:
            columns = ("event", "service", "state", "floor", "raise at", "start", "end")
            rows, more = plan_rows(planned, now)
            table(columns, rows)
            click.echo("\n".join([*more, ""]))
        else:
            click.echo("No events.\n")
        click.echo("\n".join([*text.plan_arithmetic(loaded, planned), *shortage_text.lines(short, zone)]))
    else:
        data = text.plan_data(loaded, planned, now)
        emit({**data, **shortage_text.data(loaded, short)}, output)
    if short:
        ctx.exit(FINDING)


@prescale.command(
    short_help="Make the floor true: raise for events, let go after.",
    epilog=examples(
        "warmline prescale sync -s prod",
        "warmline prescale sync -s prod --dry-run --at '2027-10-29 19:30'",
    ),
)
@stack_option
@click.option("--dry-run", is_flag=True, help="Show the patches and change nothing.")
@at_option
@output_option("table", "json", "yaml")
@click.pass_context
def sync(ctx: click.Context, stack: str, dry_run: bool, at: str | None, output: str) -> None:
    """Make the floor true: raise what an active event asks for, let go of what is over.

    Exits 1 if something needs a person: a floor refused or not in force, a clock that is wrong, a target that is
    missing, a stack that is not built yet. --at works together with --dry-run only.
    """
    if at and not dry_run:
        raise click.UsageError("--at shows what would be done at another time: use it together with --dry-run.")
    from prescale.clock import now as read_clock
    from prescale.timetable import timetable
    from stacks.loader import load_stack

    loaded = load_stack(stack)
    now = _moment(at, loaded)
    planned = timetable(loaded, now)

    from prescale.cluster import Cluster
    from prescale.sync import Run
    from prescale.sync import sync as run_once

    cluster = Cluster.of(loaded.platform.cluster.context, loaded.platform.namespace)
    services = tuple(loaded.platform.services)
    run = Run(stack, planned, services, cluster, read_clock, dry_run=dry_run, at=now if at else None)
    outcomes = run_once(run)

    from cli.output import emit
    from cli.prescale import text

    if output == "table":
        click.echo("\n".join(text.sync_lines(outcomes, planned, now, dry_run=dry_run)))
    else:
        emit(text.sync_data(stack, now, outcomes, dry_run=dry_run), output)
    if any(outcome.findings for outcome in outcomes):
        ctx.exit(FINDING)


@prescale.command(
    short_help="Say whether it is warm, what is missing, and by when.",
    epilog=examples(
        "warmline prescale status -s prod",
        "warmline prescale status -s prod --at '2027-10-29 20:00' -o json",
    ),
)
@stack_option
@at_option
@click.option(
    "--pods-via",
    type=click.Choice(["api", "direct"]),
    default="api",
    envvar="WARMLINE_PODS_VIA",
    show_default=True,
    show_envvar=True,
    help="How pods are asked: through the API server's pod proxy, or at their own addresses.",
)
@output_option("table", "json", "yaml")
@click.pass_context
def status(ctx: click.Context, stack: str, at: str | None, pods_via: str, output: str) -> None:
    """Say whether it is warm: floor in force on the HPA, that many Ready, that many answering one token.

    Exits 1 if not, and says what is missing and by when it will be there. With --at, against the floor of that time.
    """
    from prescale.clock import now as read_clock
    from prescale.timetable import timetable
    from stacks.loader import load_stack

    loaded = load_stack(stack)
    asked = _moment(at, loaded)
    planned = timetable(loaded, asked)

    from prescale.asking import asker
    from prescale.cluster import Cluster
    from prescale.warmth import Sighting, look, pod_states

    cluster = Cluster.of(loaded.platform.cluster.context, loaded.platform.namespace)
    seen = cluster.scaled_objects(stack), cluster.minimums(), pod_states(cluster.pods(stack))
    sighting = Sighting(stack, cluster.where, *seen)
    ask = asker(cluster, "direct" if pods_via == "direct" else "api")
    warmths = look(planned, loaded.platform.services, sighting, ask, at=asked, now=read_clock())

    from cli.output import emit
    from cli.prescale import text

    if output == "table":
        click.echo("\n".join(text.status_lines(warmths, loaded.calendar.timezone)))
    else:
        emit(text.status_data(stack, asked, warmths), output)
    if not all(warmth.is_warm for warmth in warmths):
        ctx.exit(FINDING)


def _moment(at: str | None, stack: Stack) -> Instant:
    from prescale import clock

    if at is None:
        return clock.now()
    try:
        return clock.moment(at, stack.calendar.timezone)
    except ValueError as error:
        hint = f"{error}. Write 2027-10-29T14:30:00Z, or '2027-10-29 20:00' in {stack.calendar.timezone}."
        raise click.BadParameter(hint, param_hint="--at") from None
