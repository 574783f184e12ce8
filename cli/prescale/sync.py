"""`warmline prescale sync`: make the floors of one stack or several true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from cli.exits import DONE, FINDING
from cli.options import examples, output_option, stacks_option
from cli.prescale.at import at_option, moment
from cli.prescale.in_turn import Ran, emit_runs, heading, in_turn, worst

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whenever import Instant

    from prescale.sync import Outcome
    from prescale.timetable import Timetable


@dataclass(frozen=True)
class _Synced:
    """One stack's run that came to its end."""

    stack: str
    at: Instant
    table: Timetable
    outcomes: Sequence[Outcome]


@click.command(
    short_help="Make the floor true: raise for events, let go after.",
    epilog=examples(
        "warmline prescale sync -s prod",
        "warmline prescale sync -s prod -s staging",
        "warmline prescale sync -s prod --dry-run --at '2027-10-29 19:30'",
    ),
)
@stacks_option
@click.option("--dry-run", is_flag=True, help="Show the patches and change nothing.")
@at_option
@output_option("table", "json", "yaml")
@click.pass_context
def sync(ctx: click.Context, stack_names: tuple[str, ...], dry_run: bool, at: str | None, output: str) -> None:
    """Make the floor true: raise what an active event asks for, let go of what is over.

    Exits 1 if something needs a person: a floor refused or not in force, a clock that is wrong, a target that is
    missing, a stack that is not built yet. --at works together with --dry-run only.

    Several stacks are run one after the other, and what is wrong with one keeps none of the others from its run. The
    exit code is the worst of theirs: 2 before 3 before 1 before 0.
    """
    if at and not dry_run:
        raise click.UsageError("--at shows what would be done at another time: use it together with --dry-run.")
    from cli.prescale import text

    runs = []
    for ran in in_turn(stack_names, lambda stack: _run(stack, at, dry_run=dry_run)):
        runs.append(ran)
        if output == "table" and (done := ran.result):
            lines = text.sync_lines(done.outcomes, done.table, done.at, dry_run=dry_run)
            click.echo("\n".join([*heading(ran.stack, stack_names), *lines]))
    if output != "table":
        emit_runs(
            stack_names, runs, lambda done: text.sync_data(done.stack, done.at, done.outcomes, dry_run=dry_run), output
        )
    ctx.exit(worst(_exit_code(ran) for ran in runs))


def _run(stack: str, at: str | None, *, dry_run: bool) -> _Synced:
    from prescale.clock import now as read_clock
    from prescale.timetable import timetable
    from stacks.loader import load_stack

    loaded = load_stack(stack)
    now = moment(at, loaded)
    planned = timetable(loaded, now)

    from prescale.cluster import Cluster
    from prescale.sync import Run
    from prescale.sync import sync as run_once

    cluster = Cluster.of(loaded.platform.cluster.context, loaded.platform.namespace)
    services = tuple(loaded.platform.services)
    run = Run(stack, planned, services, cluster, read_clock, dry_run=dry_run, at=now if at else None)
    return _Synced(stack, now, planned, run_once(run))


def _exit_code(ran: Ran[_Synced]) -> int:
    if ran.result is None:
        return ran.failed
    return FINDING if any(outcome.findings for outcome in ran.result.outcomes) else DONE
