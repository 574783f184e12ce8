"""`warmline sandbox`: a real control plane with fake GPU nodes on this machine."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cli.exits import FINDING, OUT_OF_REACH
from cli.options import complete_stacks, examples, output_option
from sandbox.interruption import heeded, interrupt

T = TypeVar("T")

if TYPE_CHECKING:
    from sandbox.lifecycle import ComponentStatus


@click.group(epilog=examples("warmline sandbox up", 'eval "$(warmline sandbox env)"', "pulumi up -s local"))
def sandbox() -> None:
    """A real control plane with fake GPU nodes on this machine.

    etcd, the API server, scheduler, controller manager, KEDA, Prometheus and Envoy are real; the kubelet and the engine
    are doubles. Everything listens on loopback only.
    """


@sandbox.command(
    short_help="Start it; builds what is missing first.",
    epilog=examples("warmline sandbox up", "warmline sandbox up -s local"),
)
@click.option(
    "-s",
    "--stack",
    envvar="WARMLINE_STACK",
    default="local",
    show_default=True,
    show_envvar=True,
    metavar="STACK",
    help="Whose nodes, times and Pulumi stack it gets: a folder below stacks/.",
    shell_complete=complete_stacks,
)
@heeded()
def up(stack: str) -> None:
    """Start it: builds what is missing first, and says how far it is.

    One that is well is left as it is, and refused if it is another stack's. One of which a part died is begun anew; its
    cluster and Pulumi state go.
    """
    from sandbox.for_stack import up as start
    from stacks.loader import load_platform

    platform = load_platform(stack)
    _guarded(lambda: start(stack, platform, _say))
    _say(f'next: eval "$(warmline sandbox env)", and pulumi up -s {stack}')


@sandbox.command(short_help="Stop what it started, and delete its cluster.", epilog=examples("warmline sandbox down"))
@heeded()
def down() -> None:
    """Stop what it started, and only that; delete its cluster and its secrets."""
    from sandbox.lifecycle import bin_directory
    from sandbox.lifecycle import down as stop

    folder = bin_directory()
    hashed = [name for name in ("kubectl", "pulumi") if (folder / name).exists()]
    _guarded(lambda: stop(_say))
    if str(folder) not in os.environ.get("PATH", "").split(os.pathsep):
        return  # another shell's business
    if hashed:
        _say(f"this shell may remember where {' and '.join(hashed)} were: `hash -r` makes it look anew")
    _say("KUBECONFIG, PULUMI_* and WARMLINE_* of this shell still mean the sandbox; a new shell is free of them")


@sandbox.command(epilog=examples("warmline sandbox status", "warmline sandbox status -o json"))
@output_option("table", "json", "yaml")
@click.pass_context
def status(ctx: click.Context, output: str) -> None:
    """Each part: running, healthy, since when. Exit 1 if one is not well or nothing runs."""
    from dataclasses import asdict

    from cli.output import emit, table
    from sandbox.lifecycle import status as parts

    found = parts()
    if output != "table":
        emit([asdict(part) for part in found], output)
    elif found:
        rows = [[part.name, _health(part), str(part.pid), str(part.port or ""), part.since, part.log] for part in found]
        table(["part", "state", "pid", "port", "since", "log"], rows)
    else:
        click.echo("the sandbox is not up")
    if not found or not all(part.is_healthy for part in found):
        ctx.exit(FINDING)


@sandbox.command(short_help="Print what a shell needs to use it.", epilog=examples('eval "$(warmline sandbox env)"'))
def env() -> None:
    """Print what a shell needs to use it: kubectl, pulumi and warmline then mean the sandbox."""
    from sandbox.for_stack import environment
    from sandbox.lifecycle import bin_directory

    variables = _guarded(environment)
    for name, value in variables.items():
        click.echo(f"export {name}={shlex.quote(value)}")
    # A shell forgets where it found programs when its PATH is set, so it needs no `hash -r` here.
    click.echo(f'export PATH={shlex.quote(str(bin_directory()))}{os.pathsep}"$PATH"')


@sandbox.command(
    short_help="Play the sale of stack local, and judge it.",
    epilog=examples("warmline sandbox demo", "warmline sandbox demo --out /tmp/demo"),
)
@click.option("--out", type=click.Path(file_okay=False), default="out", show_default=True, help="Folder of the report.")
@click.option("--time-scale", type=click.IntRange(1, 60), default=20, show_default=True, help="Divides all durations.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the load's arrivals.")
@click.pass_context
@heeded()
def demo(ctx: click.Context, out: str, time_scale: int, seed: int) -> None:
    """Play the sale of stack local, from `pulumi up` to the release: the first event of its calendar.

    Exits 1 if an expectation failed, 2 if the event cannot be played; then nothing was started.
    """
    from pathlib import Path

    from sandbox.sale.demo import demo as play

    if not _guarded(lambda: play(Path(out).resolve(), time_scale, seed, _say)):
        ctx.exit(FINDING)


@sandbox.command(
    "bench-event",
    short_help="Play the sale three ways: reactive, KEDA cron, Warmline.",
    epilog=examples("warmline sandbox bench-event", "warmline sandbox bench-event --time-scale 1"),
)
@click.option("--time-scale", type=click.IntRange(1, 60), default=20, show_default=True, help="Divides all durations.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the load's arrivals.")
@click.option("--work", type=click.Path(file_okay=False), default="out/bench-event", show_default=True)
@click.option("--to", type=click.Path(file_okay=False), default="docs/benchmarks", show_default=True, help="Results.")
@click.option("--beside", metavar="TEXT", default="", help="What else the machine did meanwhile; the page says it.")
@heeded()
def bench_event(time_scale: int, seed: int, work: str, to: str, beside: str) -> None:
    """Play the sale three ways at once: reactive, a KEDA cron trigger, Warmline; write what came of it.

    Exits 2 if the first event of stack local's calendar cannot be played; then nothing was started.
    """
    from pathlib import Path

    from sandbox.sale.bench_page import write
    from sandbox.sale.comparison import compare

    comparison = _guarded(lambda: compare(Path(work).resolve(), time_scale, seed, _say))
    _say(f"written: {write(Path(to), comparison, beside)}")


@sandbox.command(
    "bench-reliability",
    short_help="Kill, double and mislead `prescale sync`; judge the floors.",
    epilog=examples(
        "warmline sandbox bench-reliability",
        "warmline sandbox bench-reliability --sample --to /tmp/results",
        "warmline sandbox bench-reliability --only cost --pairs 50",
    ),
)
@click.option("--sample", is_flag=True, help="The small sizes that `make test` runs; nothing is timed.")
@click.option("--kills", type=click.IntRange(1), help="Runs that are killed. [default: 300]")
@click.option("--rounds", type=click.IntRange(1), help="Rounds of 8 runs at once. [default: 100]")
@click.option("--calendars", type=click.IntRange(1), help="Spoiled calendar files. [default: 300]")
@click.option("--pairs", type=click.IntRange(0), help="Runs that are timed beside a bare script. [default: 30]")
@click.option("--away-s", type=click.IntRange(1), help="Seconds the API server is away. [default: 60]")
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(["kills", "crowd", "calendars", "cost", "outages", "matrix", "tolerance", "cron"]),
    help="One part; may be repeated.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of calendars, kills and mutations.")
@click.option("--work", type=click.Path(file_okay=False), default="out/bench-reliability", show_default=True)
@click.option("--to", type=click.Path(file_okay=False), default="docs/benchmarks", show_default=True, help="Results.")
@click.option("--beside", metavar="TEXT", default="", help="What else the machine did meanwhile; the page says it.")
@click.pass_context
@heeded()
def bench_reliability(
    ctx: click.Context,
    /,
    *,
    sample: bool,
    only: tuple[str, ...],
    seed: int,
    work: str,
    to: str,
    beside: str,
    **sizes: int | None,
) -> None:
    """Kill, double and mislead `prescale sync` on a real API server, and judge the floors by an oracle.

    Writes what came of it. Exits 1 where a floor was wrong, or a run costs more than it may.
    """
    from dataclasses import replace
    from pathlib import Path

    from sandbox.reliability.bench import FULL, SAMPLE, measure

    said: dict[str, Any] = {name: size for name, size in sizes.items() if size is not None}
    asked = replace(SAMPLE if sample else FULL, **said)
    failures = _guarded(lambda: measure(Path(work).resolve(), Path(to), asked, seed, _say, only=only, beside=beside))
    for failure in failures:
        _say(f"! {failure}")
    if failures:
        ctx.exit(FINDING)


def _health(part: ComponentStatus) -> str:
    if not part.is_running:
        return "dead"
    return "healthy" if part.is_healthy else "not well"


def _say(line: str) -> None:
    """Of a command that heeds interruptions: that nobody reads on is one."""
    try:
        click.echo(line, err=True)
    except BrokenPipeError:
        import signal

        # What is said while clearing away goes nowhere, but is not in its way.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        interrupt(signal.SIGPIPE)


def _guarded(action: Callable[[], T]) -> T:
    from sandbox.faults import SandboxError

    try:
        return action()
    except SandboxError as error:
        click.echo(str(error), err=True)
        sys.exit(OUT_OF_REACH)
