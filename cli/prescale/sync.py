"""`warmline prescale sync`: make the floors of one stack or several true."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from cli.exits import DONE, FINDING
from cli.options import examples, output_option, stacks_option
from cli.prescale.at import at_option, moment
from cli.prescale.in_turn import Ran, emit_runs, heading, in_turn, worst
from cli.prescale.telling import Telling, telling_options
from stacks.faults import InputError
from stacks.reach import OutOfReach

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whenever import Instant

    from prescale.cluster import Cluster
    from prescale.outcome import Outcome
    from prescale.runs.report import RunReport
    from prescale.timetable import Timetable
    from stacks.spec import Platform


@dataclass(frozen=True)
class _Synced:
    """One stack's run that came to its end. `zone` is its calendar's."""

    stack: str
    at: Instant
    platform: Platform
    zone: str
    table: Timetable
    outcomes: Sequence[Outcome]
    notes: Sequence[str]
    cluster: Cluster
    ready: Mapping[str, int] | None


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
@telling_options
@click.pass_context
def sync(
    ctx: click.Context,
    stack_names: tuple[str, ...],
    *,
    dry_run: bool,
    at: str | None,
    output: str,
    telling: Telling,
) -> None:
    """Make the floor true: raise what an active event or an order asks for, let go of what is over.

    Exits 1 if something needs a person: a floor refused or not in force, an event that is not Ready by its start, a
    clock that is wrong, a target that is missing, a stack that is not built yet. --at works together with --dry-run
    only.

    Floors are raised by what the cluster's own starts took, where that is longer than platform.yaml says. Until what an
    event asks for is Ready, runs look at its pods: where it comes too late they say about when, and where it is Ready
    they keep how long it took. A dry run does not look.

    Several stacks are run one after the other, and what is wrong with one keeps none of the others from its run. The
    exit code is the worst of theirs: 2 before 3 before 1 before 0.

    Log, metrics and webhook tell of runs that happened, so a dry run leaves them alone; what goes wrong with them is
    said on stderr and changes neither floor nor exit code.
    """
    if at and not dry_run:
        raise click.UsageError("--at shows what would be done at another time: use it together with --dry-run.")
    if telling.takes_stdout and output != "table":
        raise click.UsageError(f"--log-file - and -o {output} both want standard output: leave one of them out.")
    from cli.prescale import sync_text

    telling = replace(telling, is_silent=dry_run)
    runs = []
    for ran in in_turn(stack_names, lambda stack: _run(stack, at, dry_run=dry_run, tells=telling.has_readers)):
        runs.append(ran)
        if telling.has_readers or telling.has_webhook:
            telling.tell(_report(ran), _cluster(ran, asks=telling.asks_the_cluster))
        if output == "table" and not telling.takes_stdout and (done := ran.result):
            lines = sync_text.lines(done.outcomes, done.table, done.at, done.zone, dry_run=dry_run)
            click.echo("\n".join([*heading(ran.stack, stack_names), *lines, *done.notes]))
    if output != "table" and not telling.takes_stdout:
        emit_runs(stack_names, runs, lambda done: _data(done, dry_run=dry_run), output)
    telling.end()
    ctx.exit(worst(_exit_code(ran) for ran in runs))


def _run(stack: str, at: str | None, *, dry_run: bool, tells: bool) -> _Synced:
    from prescale.clock import now as read_clock
    from prescale.timetable import timetable
    from stacks.loader import load_stack

    loaded = load_stack(stack)
    now = moment(at, loaded)
    planned = timetable(loaded, now)

    from prescale.cluster import Cluster
    from prescale.on_time import following, planning
    from prescale.sync import Run
    from prescale.sync import sync as run_once
    from stacks.stray import stray_cancels

    cluster = Cluster.of(loaded.platform.cluster.context, loaded.platform.namespace)
    services = tuple(loaded.platform.services)
    by = planning.plan_if_it_may_differ(cluster, loaded, planned, now)
    adopted = loaded.platform.adopted
    run = Run(stack, by.table, services, cluster, read_clock, dry_run=dry_run, at=now if at else None, adopted=adopted)
    outcomes = run_once(run)
    seen = following.Followed(outcomes)
    if not dry_run:
        seen = following.follow(cluster, loaded, by, outcomes, run.clock().best)
    outcomes, ready = seen.outcomes, seen.ready
    if tells:
        from prescale.runs.looking import count_ready, with_minimums

        outcomes = with_minimums(cluster, outcomes)
        ready = count_ready(cluster, loaded, outcomes) if ready is None else ready
    zone = loaded.calendar.timezone
    notes = (*stray_cancels(loaded, now.to_tz(zone).date().to_stdlib()), *by.notes, *seen.notes)
    return _Synced(stack, now, loaded.platform, zone, by.table, outcomes, notes, cluster, ready)


def _data(done: _Synced, *, dry_run: bool) -> dict[str, Any]:
    from cli.prescale import sync_text

    return {**sync_text.data(done.stack, done.at, done.outcomes, dry_run=dry_run), "notes": list(done.notes)}


def _report(ran: Ran[_Synced]) -> RunReport:
    from whenever import Instant

    from prescale.runs.report import RunReport, service_reports

    report = RunReport(ran.stack, Instant.from_timestamp(int(ran.ended_s)), ran.duration_s, _exit_code(ran))
    done = ran.result
    if done is None:
        return replace(report, errors=tuple(ran.said))
    baselines = {name: service.replicas.min for name, service in done.platform.services.items()}
    return replace(
        report,
        calendar=done.table.calendar,
        namespace=done.platform.namespace,
        api_calls=done.cluster.calls,
        services=service_reports(done.table, baselines, done.outcomes, report.at, done.ready),
    )


def _cluster(ran: Ran[_Synced], *, asks: bool) -> Cluster | None:
    """The run's cluster; also that of a run which found its calendar bad, if somebody has to ask it something.

    None where it was out of reach, and where platform.yaml does not say which it is.
    """
    if ran.result or not asks or not isinstance(ran.error, InputError):
        return ran.result.cluster if ran.result else None
    from prescale.cluster import Cluster
    from stacks.loader import load_platform

    try:
        platform = load_platform(ran.stack)
        return Cluster.of(platform.cluster.context, platform.namespace)
    except (InputError, OutOfReach):
        return None


def _exit_code(ran: Ran[_Synced]) -> int:
    if ran.result is None:
        return ran.failed
    return FINDING if any(outcome.findings for outcome in ran.result.outcomes) else DONE
