"""`warmline size check`: the plan against what Prometheus recorded."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import click

from cli.exits import FINDING
from cli.options import examples, output_option, stack_option

if TYPE_CHECKING:
    from capacity.recordings.planned import Planned
    from capacity.recordings.recording import Recording, Window
    from stacks.requests import Requests
    from stacks.spec import Platform

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
SHORTEST_S, LONGEST_S = 10, 92 * 86400


def _length(_ctx: click.Context, _param: click.Parameter, text: str | None) -> int | None:
    """`90s`, `15m`, `1h`, `7d` in seconds."""
    found = re.fullmatch(r"([0-9]{1,7})([smhd])", text) if text is not None else None
    if text is not None and not found:
        raise click.BadParameter(f"got {text}, expected a number and s, m, h or d: 90s, 15m, 1h, 7d.")
    return int(found[1]) * SECONDS[found[2]] if found else None


def _tolerance(_ctx: click.Context, _param: click.Parameter, text: str) -> Decimal:
    try:
        pct = Decimal(text)
    except InvalidOperation:
        pct = Decimal(-1)
    if not 0 < pct < 100:
        raise click.BadParameter(f"got {text}, expected per cent, above 0 and below 100.")
    return pct


@click.command(
    short_help="Hold the plan against what Prometheus recorded.",
    epilog=examples(
        "warmline size check -s prod",
        "warmline size check -s prod --service support-bot --last 24h -o json",
        "warmline size check -s prod --from '2027-10-29 20:00' --to '2027-10-30 00:30'",
        "warmline size check -s prod --prometheus http://127.0.0.1:9090",
    ),
)
@stack_option
@click.option("--service", "services", multiple=True, metavar="NAME", help="Only this service; may be repeated.")
@click.option("--from", "begin", metavar="TIME", help="RFC 3339, or 'YYYY-MM-DD HH:MM' in the calendar's zone.")
@click.option("--to", "end", metavar="TIME", help="As --from; now, if it is left out.")
@click.option("--last", callback=_length, metavar="LENGTH", help="Up to now: 90s, 15m, 1h, 7d.  [default: 1h]")
@click.option(
    "--prometheus",
    "url",
    envvar="WARMLINE_PROMETHEUS_URL",
    metavar="URL",
    show_envvar=True,
    help="Its address as seen from here; the stack's own is the cluster's.",
)
@click.option(
    "--tolerance-pct",
    callback=_tolerance,
    default="10",
    show_default=True,
    metavar="PCT",
    help="How far an assumption may be off.",
)
@output_option("table", "json", "yaml")
@click.pass_context
def check(
    ctx: click.Context,
    stack: str,
    *,
    services: tuple[str, ...],
    begin: str | None,
    end: str | None,
    last: int | None,
    url: str | None,
    tolerance_pct: Decimal,
    output: str,
) -> None:
    """Hold the plan of each service against what Prometheus recorded, and say which assumption moved.

    Compared are the load that arrived, the requests in flight, how long they and their texts were, preemptions,
    replicas, and the SLO, as exactly as the engine's buckets allow. All requests of a service are compared together:
    an engine does not know whose they are.

    Exits 1 if an assumption is further off than the tolerance, the SLO was not kept, or nothing was recorded; 3 if
    Prometheus does not answer.
    """
    from fractions import Fraction

    from capacity.recordings.comparison import compare
    from cli.output import emit
    from cli.size import check_text as text
    from cli.size.check_data import data
    from evidence.prometheus import without_password
    from stacks.requests import load_requests

    requests = load_requests(stack)
    chosen = _chosen(requests, services)
    looked_at = _window(stack, begin, end, last)
    address = url or requests.platform.prometheus.url
    recorded = _recorded(requests.platform, tuple(chosen), address, looked_at)
    found = {name: compare(planned, recorded[name], Fraction(tolerance_pct) / 100) for name, planned in chosen.items()}
    report = text.Report(stack, without_password(address), looked_at, tolerance_pct, found, requests.platform)
    if output == "table":
        text.echo(report)
    else:
        emit(data(report), output)
    if any(one.needs_a_person for one in found.values()):
        ctx.exit(FINDING)


def _chosen(requests: Requests, services: tuple[str, ...]) -> dict[str, Planned]:
    """Service -> its requests and their plans, as `size plan` has them."""
    from capacity.recordings.planned import Planned
    from capacity.request import made_to
    from cli.size.report import reckoned

    by_service: dict[str, list[str]] = {}
    for name, workload in requests.workloads.items():
        by_service.setdefault(workload.service, []).append(name)
    unknown = [name for name in services if name not in by_service]
    if unknown:
        hint = f"{unknown[0]} is no service that a request of workloads.yaml names: {', '.join(by_service)}."
        raise click.BadParameter(hint, param_hint="--service")
    plans = {one.name: one for one in reckoned(requests).plans}
    return {
        service: Planned(
            tuple(made_to(requests.platform, name, requests.workloads[name]) for name in names),
            tuple(plans[name] for name in names),
        )
        for service, names in by_service.items()
        if not services or service in services
    }


def _window(stack: str, begin: str | None, end: str | None, last: int | None) -> Window:
    from capacity.recordings.recording import window
    from prescale import clock

    if last is not None and (begin or end):
        raise click.UsageError("--last is up to now: use it without --from and --to.")
    if end and not begin:
        raise click.UsageError("--to needs --from.")
    now = int(clock.now().timestamp())
    until = _moment(stack, "--to", end) if end else now
    since = _moment(stack, "--from", begin) if begin else until - (last or SECONDS["h"])
    if until > now:
        raise click.BadParameter("it is in the future, of which nothing is recorded.", param_hint="--to")
    if not SHORTEST_S <= until - since <= LONGEST_S:
        expected = f"{SHORTEST_S} s to {LONGEST_S // SECONDS['d']} days"
        hint = "--from" if begin else "--last"
        raise click.BadParameter(f"got a window of {until - since} s, expected {expected}.", param_hint=hint)
    return window(since, until)


def _moment(stack: str, option: str, text: str) -> int:
    """Unix time."""
    from prescale import clock
    from stacks.loader import load_calendar_spec

    zone = load_calendar_spec(stack).timezone
    try:
        return int(clock.moment(text, zone).timestamp())
    except ValueError as error:
        hint = f"{error}. Write 2027-10-29T14:30:00Z, or '2027-10-29 20:00' in {zone}."
        raise click.BadParameter(hint, param_hint=option) from None


def _recorded(platform: Platform, services: tuple[str, ...], url: str, looked_at: Window) -> dict[str, Recording]:
    from contextlib import closing

    from cli.output import busy
    from evidence.prometheus import Prometheus
    from evidence.recording import Source, read
    from infra.dialects.table import dialect_of

    with closing(Prometheus(url)) as prometheus, busy(f"asking {prometheus.address}"):
        found = {}
        for name in services:
            service = platform.services[name]
            source = Source(dialect_of(service.engine.kind).metrics, platform.namespace, service.model.name)
            found[name] = read(prometheus, source, looked_at)
        return found
