"""`warmline prescale preflight`: days ahead, what would keep a floor from becoming Ready replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.exits import DONE, FINDING
from cli.options import examples, output_option, stacks_option
from cli.prescale.at import at_option, moment
from cli.prescale.in_turn import emit_runs, heading, in_turn, worst

if TYPE_CHECKING:
    from cli.prescale.preflight_text import Flight
    from prescale.preflight.moments import Moment
    from prescale.windows.window import Timetable


@click.command(
    epilog=examples(
        "warmline prescale preflight -s prod",
        "warmline prescale preflight -s prod --event diwali-sale --strict",
        "warmline prescale preflight -s prod --at '2027-10-29 20:00' -o json",
    ),
)
@stacks_option
@click.option("--event", metavar="NAME", help="Of one that repeats: its name, or name@day. Default: the next event.")
@at_option
@click.option("--strict", is_flag=True, help="Exit 1 also where something could not be checked.")
@output_option("table", "json", "yaml")
@click.pass_context
def preflight(
    ctx: click.Context, *, stack_names: tuple[str, ...], event: str | None, at: str | None, strict: bool, output: str
) -> None:
    """Find what would keep an event's floor from getting warm, while there is time to mend it.

    Looks at the cluster for the floors of the next event, with all others in force beside it: room for whole replicas
    on the nodes there are, quotas, priorities, volumes, disruption budgets, the ScaledObject and its HPA, triggers,
    other owners of the fields, images, lifetimes and rollouts. Changes nothing, and reads no Secret.

    Exits 1 if anything is found, each with what to do. What the user may not read is said as not checked. Of several
    stacks the exit code is the worst: 2 before 3 before 1 before 0.
    """
    if event and at:
        raise click.UsageError("--event and --at both say which floors are meant: keep one of them.")
    from cli.prescale import preflight_text

    runs = []
    for ran in in_turn(stack_names, lambda stack: _fly(stack, event, at)):
        runs.append(ran)
        if output == "table" and ran.result:
            click.echo("\n".join([*heading(ran.stack, stack_names), *preflight_text.lines(ran.result)]))
    if output != "table":
        emit_runs(stack_names, runs, preflight_text.data, output)
    ctx.exit(worst(_exit_code(ran.result, strict=strict) if ran.result else ran.failed for ran in runs))


def _fly(stack: str, event: str | None, at: str | None) -> Flight:
    from prescale import clock
    from prescale.windows.timetable import timetable
    from stacks.loader import load_stack

    loaded = load_stack(stack)
    now = clock.now()
    asked = moment(at, loaded) if at else now
    table = timetable(loaded, asked)

    from prescale.preflight.moments import NoSuchEvent, ahead, at_time, called_off

    def moments(planned: Timetable) -> tuple[Moment, ...]:
        try:
            return (at_time(loaded, planned, asked),) if at else ahead(loaded, planned, now, event)
        except NoSuchEvent as error:
            raise click.BadParameter(f"{error}. See `warmline prescale plan`.", param_hint="--event") from None

    moments(table)  # a name that is none is told before anything is read

    from cli.output import busy
    from cli.prescale.preflight_text import Flight
    from prescale.api.cluster import Cluster
    from prescale.preflight.judging import judge
    from prescale.preflight.reading import read
    from prescale.preflight.scene import scene
    from prescale.targets import kinds_of

    cluster = Cluster.of(loaded.platform.cluster.context, loaded.platform.namespace)
    with busy(f"Reading {cluster.where}"):
        reading = read(cluster, stack, kinds_of(loaded.platform.services, loaded.platform.adopted), now)
    planned = called_off(table, reading.orders, reading.clock)
    meant = moments(planned)
    scenes = tuple(scene(loaded, planned, reading, one, now) for one in meant)
    return Flight(stack, now, loaded.calendar.timezone, meant, scenes, judge(scenes))


def _exit_code(flight: Flight, *, strict: bool) -> int:
    is_sound = not flight.report.findings and not (strict and flight.report.not_checked)
    return DONE if is_sound else FINDING
