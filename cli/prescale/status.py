"""`warmline prescale status`: is it warm, of one stack or several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from cli.exits import DONE, FINDING
from cli.options import examples, output_option, stacks_option
from cli.prescale.at import at_option, moment
from cli.prescale.in_turn import Ran, emit_runs, heading, in_turn, worst
from cli.prescale.pods_via import pods_via_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whenever import Instant

    from prescale.on_time.planning import Plan
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
    by: Plan


@click.command(
    epilog=examples(
        "warmline prescale status -s prod",
        "warmline prescale status -s prod --at '2027-10-29 20:00' -o json",
    ),
)
@stacks_option
@at_option
@pods_via_option
@output_option("table", "json", "yaml")
@click.pass_context
def status(ctx: click.Context, stack_names: tuple[str, ...], at: str | None, pods_via: str, output: str) -> None:
    """Say whether it is warm: floor in force on the HPA, that many Ready, that many answering one token.

    Exits 1 if not, and says what is missing and by when it will be there. With --at, against the floor of that time.
    Lists the orders that are in force, with who gave them and why, and each service's lead time with its phases: the
    starts that its pods tell of are remembered in the cluster. Of several stacks the exit code is the worst: 2 before 3
    before 1 before 0.
    """
    runs = []
    for ran in in_turn(stack_names, lambda stack: _look(stack, at, pods_via)):
        runs.append(ran)
        if output == "table" and (seen := ran.result):
            click.echo("\n".join([*heading(ran.stack, stack_names), *_lines(seen)]))
    if output != "table":
        emit_runs(stack_names, runs, _data, output)
    ctx.exit(worst(_exit_code(ran) for ran in runs))


def _look(stack: str, at: str | None, pods_via: str) -> _Look:
    from prescale.briefs.making import brief_of
    from prescale.clock import now as read_clock
    from stacks.loader import load_stack

    loaded = load_stack(stack)
    asked = moment(at, loaded)
    brief = brief_of(loaded, asked)  # what is wrong with it is found before any cluster is asked

    from prescale import targets
    from prescale.api.cluster import Cluster
    from prescale.asking import asker
    from prescale.clock import Clock
    from prescale.on_time import planning
    from prescale.orders import store
    from prescale.pod_states import pod_states, pods_of
    from prescale.warmth import Sighting, look

    cluster = Cluster.of(loaded.platform.cluster.context, loaded.platform.namespace)
    raw = pods_of(cluster, loaded)
    now = read_clock()
    by = planning.plan_with(cluster, brief, loaded.platform, raw, cluster.clock(now).best)
    services = loaded.platform.services
    found, minimums = targets.with_minimums(cluster, stack, services, loaded.platform.adopted)
    orders = store.read(cluster, stack)
    sighting = Sighting(stack, cluster.where, found.observed, minimums, pod_states(raw), orders, found.has_keda)
    ask = asker(cluster, "direct" if pods_via == "direct" else "api")
    warmths = look(by.table, services, sighting, ask, at=asked, now=now, lead_times=by.lead_times)
    return _Look(stack, asked, loaded.calendar.timezone, warmths, orders.in_force(Clock(asked)), by)


def _lines(seen: _Look) -> list[str]:
    from cli.prescale import lead_time_text, status_text

    warmth = status_text.lines(seen.warmths, seen.zone, seen.orders)
    return [*warmth, *lead_time_text.lines(seen.by.lead_times), *seen.by.notes]


def _data(seen: _Look) -> dict[str, Any]:
    from cli.prescale import lead_time_text, status_text

    warmth = status_text.data(seen.stack, seen.at, seen.warmths, seen.orders)
    return {**warmth, "lead_times": lead_time_text.data(seen.by.lead_times), "notes": list(seen.by.notes)}


def _exit_code(ran: Ran[_Look]) -> int:
    if ran.result is None:
        return ran.failed
    return DONE if all(warmth.is_warm for warmth in ran.result.warmths) else FINDING
