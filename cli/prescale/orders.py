"""`warmline prescale now | hold | cancel | release`: events nobody planned, kept in the cluster for every runner."""

from __future__ import annotations

from collections.abc import Callable

import click

from cli.exits import FINDING
from cli.options import F, examples, output_option, stack_option
from cli.prescale.typed import Typed


def _seconds(text: str) -> int:
    """`2h`, `90m`, `1h30m`."""
    from prescale.orders.term import lasting_s

    return lasting_s(text)


def _line(text: str) -> str:
    """One printable line."""
    from prescale.orders.term import one_line

    return one_line(text)


def _lasting(command: F) -> F:
    """`--for` or `--until`."""
    until = click.option(
        "--until", metavar="TIME", help="Until then: RFC 3339, or 'YYYY-MM-DD HH:MM' in the calendar's zone."
    )
    lasts = click.option(
        "--for", "lasts_s", type=Typed("duration", _seconds), metavar="DURATION", help="As 2h, 90m or 1h30m."
    )
    return lasts(until(command))


def _reason(*, required: bool) -> Callable[[F], F]:
    return click.option(
        "--reason", type=Typed("text", _line), required=required, help="Why: one line, kept beside who said it."
    )


_dry_run = click.option("--dry-run", is_flag=True, help="Show what would be written and change nothing.")


@click.command(
    epilog=examples(
        'warmline prescale now support-bot --floor 12 --for 2h --reason "on the evening news" -s prod',
        "warmline prescale now support-bot --floor 12 --until '2027-10-29 23:00' --reason outage -s prod",
    ),
)
@click.argument("service")
@stack_option
@click.option("--floor", type=click.IntRange(1), required=True, metavar="REPLICAS", help="At least so many replicas.")
@_lasting
@_reason(required=True)
@_dry_run
@output_option("table", "json", "yaml")
@click.pass_context
def now(
    ctx: click.Context,
    *,
    service: str,
    stack: str,
    floor: int,
    lasts_s: int | None,
    until: str | None,
    reason: str,
    dry_run: bool,
    output: str,
) -> None:
    """Raise SERVICE at once, for an event nobody planned.

    The order is kept in the cluster, every `sync` holds it until it is over, and nothing has to take it back. Exits 1
    and orders nothing above the live ceiling; exits 1 where the pool has fewer GPUs than the floors need, or where the
    floor does not come into force.
    """
    from cli.prescale.order_desk import Desk
    from prescale.orders.giving import raise_floor

    desk = Desk(stack, dry_run=dry_run)
    desk.check(service)
    answer = raise_floor(desk.run, service, floor, desk.ends(lasts_s, until), desk.author(reason))
    _end(ctx, needs_a_person=desk.told(answer, output, raises=True))


@click.command(
    epilog=examples('warmline prescale hold support-bot --for 2h --reason "traffic did not fall" -s prod'),
)
@click.argument("service")
@stack_option
@_lasting
@_reason(required=True)
@_dry_run
@output_option("table", "json", "yaml")
@click.pass_context
def hold(
    ctx: click.Context,
    *,
    service: str,
    stack: str,
    lasts_s: int | None,
    until: str | None,
    reason: str,
    dry_run: bool,
    output: str,
) -> None:
    """Let go of nothing that SERVICE has now, until the order is over.

    What it has is the larger of its floor and of the replicas that run, at most the ceiling. Load above it scales on.
    """
    from cli.prescale.order_desk import Desk
    from prescale.orders import giving

    desk = Desk(stack, dry_run=dry_run)
    desk.check(service)
    answer = giving.hold(desk.run, service, desk.ends(lasts_s, until), desk.author(reason))
    _end(ctx, needs_a_person=desk.told(answer, output))


@click.command(
    epilog=examples(
        'warmline prescale cancel diwali-sale --reason "sale is off" -s prod',
        "warmline prescale cancel friday-peak@2027-10-29 --service support-bot --reason holiday -s prod",
        "warmline prescale cancel now-support-bot-20291029T1400Z --reason over -s prod",
        "warmline prescale cancel diwali-sale --undo -s prod",
    ),
)
@click.argument("event")
@stack_option
@click.option("--service", help="Only for this service.")
@_reason(required=False)
@click.option("--undo", is_flag=True, help="Take the cancel back: the event counts again.")
@_dry_run
@output_option("table", "json", "yaml")
@click.pass_context
def cancel(
    ctx: click.Context,
    *,
    event: str,
    stack: str,
    service: str | None,
    reason: str | None,
    undo: bool,
    dry_run: bool,
    output: str,
) -> None:
    """Call off EVENT: one of the calendar, one occurrence (name@day), an order, or one that only the cluster remembers.

    It holds until the event's own end, so it never meets the same name a year later. Needs --reason.
    """
    from cli.prescale.order_desk import Desk
    from prescale.orders import letting_go
    from prescale.orders.known import Unknown

    if undo and (service or reason):
        raise click.UsageError("--undo takes back every cancel of the event: leave --service and --reason out.")
    if not undo and reason is None:
        raise click.UsageError("Missing option '--reason': it is kept beside who said it.")
    desk = Desk(stack, dry_run=dry_run)
    try:
        if undo:
            answer = letting_go.take_back(desk.run, event)
        else:
            answer = letting_go.cancel(desk.run, event, service, desk.author(reason or ""))
    except Unknown as error:
        raise click.BadParameter(f"{error}. Nothing was changed.", param_hint="EVENT") from None
    _end(ctx, needs_a_person=desk.told(answer, output))


@click.command(
    epilog=examples(
        "warmline prescale release support-bot -s prod",
        "warmline prescale release --all -s prod",
        "warmline prescale release --all --even-during diwali-sale -s prod",
    ),
)
@click.argument("service", required=False)
@stack_option
@click.option("--all", "of_all", is_flag=True, help="Every object at its baseline, and nothing of the pre-scaler left.")
@click.option("--even-during", multiple=True, metavar="EVENT", help="With --all: although this event is active.")
@_reason(required=False)
@_dry_run
@output_option("table", "json", "yaml")
@click.pass_context
def release(
    ctx: click.Context,
    *,
    service: str | None,
    stack: str,
    of_all: bool,
    even_during: tuple[str, ...],
    reason: str | None,
    dry_run: bool,
    output: str,
) -> None:
    """End every `now` and `hold` of SERVICE, and what a person set by hand; events of the calendar stay.

    --all is how to uninstall: stop the runners first, since the next run raises again what the calendar asks for.
    It takes every object to its baseline, and removes our annotations and all orders. It refuses, with 1, while events
    are active that --even-during does not name. An object without a baseline is left alone, and ends with 1 too.
    """
    from cli.prescale.order_desk import Desk
    from prescale.orders import letting_go, uninstall

    if of_all == (service is not None):
        raise click.UsageError("Name a SERVICE, or say --all.")
    if even_during and not of_all:
        raise click.UsageError("--even-during belongs to --all: events of the calendar stay without it.")
    desk = Desk(stack, dry_run=dry_run)
    if service is None:
        answer = uninstall.uninstall(desk.uninstall_run(), even_during)
    else:
        desk.check(service)
        answer = letting_go.release(desk.run, service, desk.author(reason or "released"))
    _end(ctx, needs_a_person=desk.told(answer, output))


def _end(ctx: click.Context, *, needs_a_person: bool) -> None:
    if needs_a_person:
        ctx.exit(FINDING)
