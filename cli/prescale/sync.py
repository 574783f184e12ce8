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
    from collections.abc import Callable

    from whenever import Instant

    from prescale.api.cluster import Cluster
    from prescale.briefs.brief import Brief
    from prescale.runs.report import RunReport
    from prescale.whole_run import Done
    from stacks.loader import Stack


@dataclass(frozen=True)
class _Synced:
    """One stack's run that came to its end."""

    stack: str
    at: Instant
    brief: Brief
    cluster: Cluster
    done: Done


@click.command(
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
    telling = replace(telling, is_silent=dry_run)
    runs = []
    for ran in in_turn(stack_names, lambda stack: _run(stack, at, dry_run=dry_run, tells=telling.has_readers)):
        runs.append(ran)
        if telling.has_readers or telling.has_webhook:
            telling.tell(_report(ran), _cluster(ran, asks=telling.asks_the_cluster))
        if output == "table" and not telling.takes_stdout and (synced := ran.result):
            click.echo("\n".join([*heading(ran.stack, stack_names), *_lines(synced, dry_run=dry_run)]))
    if output != "table" and not telling.takes_stdout:
        emit_runs(stack_names, runs, lambda synced: _data(synced, dry_run=dry_run), output)
    telling.end()
    ctx.exit(worst(_exit_code(ran) for ran in runs))


def _run(stack: str, at: str | None, *, dry_run: bool, tells: bool) -> _Synced:
    brief, load, now = _brief(stack, at)

    from prescale.api.cluster import Cluster
    from prescale.clock import now as read_clock
    from prescale.whole_run import run

    cluster = Cluster.of(brief.context, brief.namespace)
    done = run(cluster, brief, load, now, read_clock, dry_run=dry_run, at=now if at else None)
    if tells:
        from prescale.runs.looking import count_ready, with_minimums

        done = replace(done, outcomes=with_minimums(cluster, done.outcomes))
        if done.ready is None:
            done = replace(done, ready=count_ready(cluster, load, done.outcomes))
    return _Synced(stack, now, brief, cluster, done)


def _brief(stack: str, at: str | None) -> tuple[Brief, Callable[[], Stack], Instant]:
    """What the run goes by, what reads all of the stack if that is needed, and the run's time."""
    from functools import cache

    from prescale.briefs import keeping
    from prescale.clock import now as read_clock
    from stacks.folders import stack_folder

    if at is None and (kept := keeping.recall(stack_folder(stack), now := read_clock())):

        @cache
        def load() -> Stack:
            from stacks.loader import load_stack

            return load_stack(stack)

        return kept, load, now
    from prescale.briefs.making import brief_of
    from stacks.loader import load_stack

    loaded = load_stack(stack)
    now = moment(at, loaded)
    brief = brief_of(loaded, now)
    if at is None:
        keeping.keep(loaded, brief, now)
    return brief, lambda: loaded, now


def _lines(synced: _Synced, *, dry_run: bool) -> list[str]:
    from cli.prescale import sync_text

    done = synced.done
    return [*sync_text.lines(done.outcomes, done.table, synced.at, synced.brief.zone, dry_run=dry_run), *done.notes]


def _data(synced: _Synced, *, dry_run: bool) -> dict[str, Any]:
    from cli.prescale import sync_text

    done = synced.done
    return {**sync_text.data(synced.stack, synced.at, done.outcomes, dry_run=dry_run), "notes": list(done.notes)}


def _report(ran: Ran[_Synced]) -> RunReport:
    from whenever import Instant

    from prescale.runs.report import RunReport, service_reports

    report = RunReport(ran.stack, Instant.from_timestamp(int(ran.ended_s)), ran.duration_s, _exit_code(ran))
    synced = ran.result
    if synced is None:
        return replace(report, errors=tuple(ran.said))
    brief, done = synced.brief, synced.done
    return replace(
        report,
        calendar=done.table.calendar,
        namespace=brief.namespace,
        api_calls=synced.cluster.calls,
        services=service_reports(done.table, brief.baselines, done.outcomes, report.at, done.ready),
    )


def _cluster(ran: Ran[_Synced], *, asks: bool) -> Cluster | None:
    """The run's cluster; also that of a run which found its calendar bad, if somebody has to ask it something.

    None where it was out of reach, and where platform.yaml does not say which it is.
    """
    if ran.result or not asks or not isinstance(ran.error, InputError):
        return ran.result.cluster if ran.result else None
    from prescale.api.cluster import Cluster
    from stacks.loader import load_platform

    try:
        platform = load_platform(ran.stack)
        return Cluster.of(platform.cluster.context, platform.namespace)
    except (InputError, OutOfReach):
        return None


def _exit_code(ran: Ran[_Synced]) -> int:
    if ran.result is None:
        return ran.failed
    return FINDING if any(outcome.findings for outcome in ran.result.done.outcomes) else DONE
