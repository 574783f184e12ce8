"""`warmline prescale watch`: look on while it gets warm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from cli.exits import DONE, FINDING
from cli.options import examples, stack_option
from cli.prescale.pods_via import pods_via_option
from cli.prescale.typed import Typed

if TYPE_CHECKING:
    from prescale.watching.frame import Frame
    from stacks.loader import Stack
    from stacks.reach import OutOfReach


def _seconds(text: str) -> float:
    """`2s`, `30m`, `1h30m`."""
    from prescale.clock import duration_s

    seconds = duration_s(text, "2s, 30m or 1h30m")
    if not 0.5 <= seconds <= 7 * 86400:
        raise ValueError(f"{text} is not within 0.5s and 168h")
    return seconds


_duration = Typed("duration", _seconds)


@click.command(
    epilog=examples(
        "warmline prescale watch -s prod",
        "warmline prescale watch -s prod --until-warm --timeout 30m",
    ),
)
@stack_option
@click.option("--until-warm", is_flag=True, help="End as soon as it is warm, or at the start of an event that is not.")
@click.option("--interval", type=_duration, default="2s", show_default=True, help="Between two looks.")
@click.option("--timeout", type=_duration, help="Look no longer than this; without it, until Ctrl-C.")
@pods_via_option
@click.pass_context
def watch(
    ctx: click.Context, *, stack: str, until_warm: bool, interval: float, timeout: float | None, pods_via: str
) -> None:
    """Show every replica on its way to Ready: without a node, pulling, in init, starting, Ready, answering.

    On a terminal the table is drawn anew; otherwise a line is printed for each change. Ctrl-C ends it.

    Exits 0 when it is warm, 1 when the timeout or (with --until-warm) the start of an event comes first, 3 when the
    cluster is out of reach from the start, or at the end: losing it in between is told and tried again.
    """
    from prescale.clock import now as read_clock
    from prescale.watching.loop import Watch, follow
    from prescale.windows.timetable import timetable
    from stacks.loader import load_stack

    loaded = load_stack(stack)
    timetable(loaded, read_clock())  # what is wrong with it is found before any cluster is asked
    look = _eyes(loaded, pods_via)
    with _screen(loaded.calendar.timezone) as (show, lost):
        watching = Watch(look, show, lost, interval, timeout, until_warm)
        try:
            end = follow(watching)
        except KeyboardInterrupt:
            # Whoever waits for warmth was not given it; whoever looks on has seen enough.
            ctx.exit(FINDING if until_warm else DONE)
    ctx.exit(DONE if end == "warm" else FINDING)


def _eyes(stack: Stack, pods_via: str) -> Callable[[], Frame]:
    from prescale.watching.eyes import Eyes

    return Eyes(stack, "direct" if pods_via == "direct" else "api").look


@contextmanager
def _screen(zone: str) -> Iterator[tuple[Callable[[Frame], None], Callable[[OutOfReach], None]]]:
    """How frames and failures are shown: drawn anew on a terminal, else in lines."""
    import sys

    if not sys.stdout.isatty():
        from cli.prescale.watch_text import lines

        before: list[Frame] = []

        def show(frame: Frame) -> None:
            for line in lines(frame, zone, before[-1] if before else None):
                click.echo(line)
            before[:] = [frame]

        yield show, lambda error: click.echo(f"{error} Trying again.", err=True)
        return
    from rich.console import Group
    from rich.live import Live

    from cli.prescale.watch_table import drawn

    with Live(auto_refresh=False) as live:
        last: list[Frame] = []

        def draw(frame: Frame) -> None:
            last[:] = [frame]
            live.update(drawn(frame, zone), refresh=True)

        def say(error: OutOfReach) -> None:
            live.update(Group(drawn(last[-1], zone), f"[red]{error} Trying again.[/red]"), refresh=True)

        yield draw, say
