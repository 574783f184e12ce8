"""`warmline prescale status`: is it warm, of one stack or several."""

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

    from prescale.orders.order import Order
    from prescale.warmth import Warmth


@dataclass(frozen=True)
class _Look:
    """What was seen of one stack. `zone` is its calendar's, `orders` those in force."""

    stack: str
    at: Instant
    zone: str
    warmths: Sequence[Warmth]
    orders: Sequence[Order]


@click.command(
    short_help="Say whether it is warm, what is missing, and by when.",
    epilog=examples(
        "warmline prescale status -s prod",
        "warmline prescale status -s prod --at '2027-10-29 20:00' -o json",
    ),
)
@stacks_option
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
def status(ctx: click.Context, stack_names: tuple[str, ...], at: str | None, pods_via: str, output: str) -> None:
    """Say whether it is warm: floor in force on the HPA, that many Ready, that many answering one token.

    Exits 1 if not, and says what is missing and by when it will be there. With --at, against the floor of that time.
    Lists the orders that are in force, with who gave them and why. Of several stacks the exit code is the worst: 2
    before 3 before 1 before 0.
    """
    from cli.prescale import status_text

    runs = []
    for ran in in_turn(stack_names, lambda stack: _look(stack, at, pods_via)):
        runs.append(ran)
        if output == "table" and (seen := ran.result):
            click.echo(
                "\n".join([*heading(ran.stack, stack_names), *status_text.lines(seen.warmths, seen.zone, seen.orders)])
            )
    if output != "table":
        emit_runs(
            stack_names, runs, lambda seen: status_text.data(seen.stack, seen.at, seen.warmths, seen.orders), output
        )
    ctx.exit(worst(_exit_code(ran) for ran in runs))


def _look(stack: str, at: str | None, pods_via: str) -> _Look:
    from prescale.clock import now as read_clock
    from prescale.timetable import timetable
    from stacks.loader import load_stack

    loaded = load_stack(stack)
    asked = moment(at, loaded)
    planned = timetable(loaded, asked)

    from prescale.asking import asker
    from prescale.clock import Clock
    from prescale.cluster import Cluster
    from prescale.orders import store
    from prescale.warmth import Sighting, look, pod_states

    cluster = Cluster.of(loaded.platform.cluster.context, loaded.platform.namespace)
    seen = cluster.scaled_objects(stack), cluster.minimums(), pod_states(cluster.pods(stack))
    orders = store.read(cluster, stack)
    sighting = Sighting(stack, cluster.where, *seen, orders)
    ask = asker(cluster, "direct" if pods_via == "direct" else "api")
    warmths = look(planned, loaded.platform.services, sighting, ask, at=asked, now=read_clock())
    return _Look(stack, asked, loaded.calendar.timezone, warmths, orders.in_force(Clock(asked)))


def _exit_code(ran: Ran[_Look]) -> int:
    if ran.result is None:
        return ran.failed
    return DONE if all(warmth.is_warm for warmth in ran.result.warmths) else FINDING
