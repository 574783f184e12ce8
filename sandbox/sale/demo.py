"""`make demo`: the whole evening, from an empty cluster to the last stream, and the verdict."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whenever import Instant

from sandbox import for_stack, lifecycle
from sandbox.control_plane.kubeconfigs import client
from sandbox.faults import SandboxError
from sandbox.layout import Layout, free_ports
from sandbox.places import REPOSITORY
from sandbox.sale import chart, report
from sandbox.sale.commands import CommandError, Commands, Cron, Ran, parsed
from sandbox.sale.expectations import Moments, Played, expectations
from sandbox.sale.play import Course, Play, Stage, at_t0, cron_period_s, raising_run, write_calendar
from sandbox.sale.playable import must_be_playable
from sandbox.sale.rehearsal import NOT_SCALED, Rehearsal, rehearse
from sandbox.sale.script import script
from sandbox.sale.verdict import Expectation
from stacks.events import CalendarSpec
from stacks.loader import Stack, load_calendar_spec, load_stack

Say = Callable[[str], None]

STACK = "local"
UP_AFTER_S = 4
"""How long into the surge the `pulumi up` of the middle of the sale is started."""


@dataclass(frozen=True)
class Cast:
    """What is played: a stack, and its calendar as written."""

    stack: Stack
    calendar: CalendarSpec


def demo(out: Path, time_scale: int, seed: int, say: Say) -> bool:
    """Play, print, write `<out>/demo.html`. False if an expectation failed.

    Raises:
        InputError: the stack's first event cannot be played; nothing was started.
        SandboxError: the sandbox could not be had, or a command that the evening rests on failed.
    """
    began = time.monotonic()
    cast = written(time_scale)
    out.mkdir(parents=True, exist_ok=True)
    _announce(Commands(REPOSITORY, os.environ), time_scale, say)
    directory = out / "sandbox"
    try:
        with lifecycle.temporary(say, directory):
            stage, layout = prepare(cast, out, directory, time_scale=time_scale, seed=seed, say=say)
            played, warm = evening(stage, say)
    except CommandError as error:
        raise SandboxError(str(error)) from None
    lines = [*expectations(played), warm]
    _write(out / "demo.html", stage, played, lines, layout)
    for line in lines:
        say(f"{'ok  ' if line.met else 'FAIL'}  {line.what}: {line.seen}")
    met = all(line.met for line in lines)
    verdict = "Every expectation was met" if met else "An expectation was NOT met"
    say(f"{verdict}, in {time.monotonic() - began:.0f} s. Report: {out / 'demo.html'}")
    return met


def written(time_scale: int) -> Cast:
    """The stack as it is written, if its first event can be played on this scale.

    Raises:
        InputError: it cannot.
    """
    cast = Cast(load_stack(STACK), load_calendar_spec(STACK))
    must_be_playable(cast.stack, cast.calendar, time_scale)
    return cast


def prepare(cast: Cast, out: Path, directory: Path, *, time_scale: int, seed: int, say: Say) -> tuple[Stage, Layout]:
    """Sandbox up, `pulumi up`, the baseline Ready: the stage of every play."""
    prometheus_url = f"http://127.0.0.1:{free_ports(1)[0]}"
    rehearsal = rehearse(cast.stack, cast.calendar, out / "stacks", time_scale, prometheus_url)
    layout = for_stack.up(STACK, rehearsal.platform, say, directory, time_scale=time_scale)
    commands = Commands(REPOSITORY, environment_of(rehearsal, directory))
    say("pulumi up -s local")
    ran = commands.must("pulumi up", pulumi_up(commands))
    say(f"  the platform stands after {ran.ended - ran.began:.0f} s")
    played = script(rehearsal.platform, rehearsal.event, time_scale)
    query = scaler_query(commands, rehearsal.platform.namespace, played.service)
    balancer = for_stack.balancer_url(directory)
    return Stage(rehearsal, played, commands, client(layout.kubeconfig), balancer, out, seed, query), layout


def evening(stage: Stage, say: Say) -> tuple[Played, Expectation]:
    """Load, calendar, cron, surge, `pulumi up`, end, release: with Warmline."""
    rehearsal, commands = stage.rehearsal, stage.commands
    course = Course.after(time.time(), stage)
    write_calendar(stage, course)
    plan = parsed(
        commands.must("warmline prescale plan", commands.warmline("prescale", "plan", "-s", STACK, "-o", "json"))
    )
    planned = next(one for one in plan["events"] if one["service"] == stage.script.service)
    floor, whole_at = int(planned["floor"]), raised_whole_at(planned)
    cron = Cron(commands, STACK, cron_period_s(rehearsal.factor))
    with Play(stage, course, say, "warmline") as play, cron:
        for line in what_comes(stage, course, floor, whole_at, cron.period_s):
            say(line)
        play.wait_until(course.start - 4)
        status = commands.warmline("prescale", "status", "-s", STACK)
        play.wait_until(course.start + stage.script.planned_s + UP_AFTER_S)
        say(f"{play.at_t0(time.time()):>8}  pulumi up -s local, in the middle of the sale")
        up = commands.must("pulumi up in the middle of the sale", pulumi_up(commands))
        play.wait_until(course.end)
        say(f"{play.at_t0(time.time()):>8}  the event is over; the floor goes, replicas follow step by step")
        play.wait_until(course.finish)
        records = play.wait_for_load()
    service = rehearsal.platform.services[stage.script.service]
    moments = _moments(stage, course, whole_at, cron, up)
    starts = list(play.watch.starts.values())
    return Played(service, floor, moments, play.watch.samples, starts, records), _said_warm(status)


def raised_whole_at(planned: Mapping[str, Any]) -> float:
    """When an event of `prescale plan -o json` has all of its floor raised, Unix time: with a ramp at its last step."""
    last = planned["ramp"]["rises"][-1] if planned["ramp"] else planned
    return float(Instant.parse_iso(last["raise_at"]).timestamp())


def what_comes(stage: Stage, course: Course, floor: int, whole_at: float, cron_every_s: float) -> Iterator[str]:
    """What is about to be played, a line each."""
    steps = f", in steps from {at_t0(course.raise_at, course)} on" if whole_at > course.raise_at else ""
    due = f"floor {floor} is due at {at_t0(whole_at, course)}{steps}"
    yield f"cron runs `warmline prescale sync -s {STACK}` every {cron_every_s:.0f} s; {due}"
    yield f"the load: {stage.script.usual_rps} rps until T0; {_load(stage)}"


def _load(stage: Stage) -> str:
    return "; ".join(f"{phase.seconds} s at {phase.rps} rps ({phase.what})" for phase in stage.script.phases)


def pulumi_up(commands: Commands) -> Ran:
    """`pulumi up -s local --yes`, as a pipeline would run it."""
    argv = ["pulumi", "up", "-s", STACK, "--yes", "--skip-preview", "--non-interactive", "--color", "never"]
    return commands.run(argv, timeout_s=900)


def scaler_query(commands: Commands, namespace: str, service: str) -> str:
    """The query that KEDA asks, from the live ScaledObject: the watch must not have one of its own."""
    path = "jsonpath={.spec.triggers[0].metadata.query}"
    argv = ["kubectl", "get", f"scaledobject/{service}", "-n", namespace, "-o", path]
    return commands.must("kubectl get scaledobject", commands.run(argv, timeout_s=60)).stdout


def _announce(commands: Commands, time_scale: int, say: Say) -> None:
    say("The plan of the sale (stacks/local):\n")
    say(commands.must("warmline prescale plan", commands.warmline("prescale", "plan", "-s", STACK)).stdout)
    say("What `pulumi up` will create:\n")
    say(commands.must("warmline preview", commands.warmline("preview", "-s", STACK)).stdout)
    say(f"Time scale {time_scale}: every duration of the stack is divided by it. Not scaled: {NOT_SCALED}.\n")


def environment_of(rehearsal: Rehearsal, directory: Path) -> dict[str, str]:
    """What a person's shell would have: the sandbox in `directory`, and the rehearsed stack instead of the real one.

    Unlike a person's, what is started with it goes with the sandbox.
    """
    path = f"{lifecycle.bin_directory(directory)}{os.pathsep}{os.environ.get('PATH', '')}"
    own = {"WARMLINE_STACKS_DIR": str(rehearsal.root), "WARMLINE_SANDBOX_DIR": str(directory), "PATH": path}
    return {**os.environ, **for_stack.environment(directory), **own, **lifecycle.mark(directory)}


def _moments(stage: Stage, course: Course, whole_at: float, cron: Cron, up: Ran) -> Moments:
    first, last = raising_run(cron, course.raise_at), raising_run(cron, whole_at)
    if first is None or last is None:
        raise SandboxError("cron started no sync at or after the moment of the raise; the machine stood still.")
    return Moments(
        raise_at=course.raise_at,
        raise_began=first.began,
        whole_began=last.began,
        start=course.start,
        planned_until=course.start + stage.script.planned_s,
        up_began=up.began,
        up_ended=up.ended,
        end=course.end,
    )


def _said_warm(status: Ran) -> Expectation:
    lines = (status.stdout + status.stderr).strip().splitlines()
    seen = f"exit code {status.exit_code}: {lines[0] if lines else 'nothing'}"
    return Expectation("`warmline prescale status` says warm before T0", seen, status.exit_code == 0)


def _write(path: Path, stage: Stage, played: Played, lines: list[Expectation], layout: Layout) -> None:
    service, moments = played.service, played.moments
    svg = chart.draw(
        played.samples,
        played.records,
        chart.Marks(moments.raise_at, moments.start, moments.end),
        per_replica=float(service.capacity.in_flight_per_replica),
        ttft_slo_ms=float(service.slo.ttft_p95_ms),
    )
    facts = [
        ("Time scale", f"{stage.rehearsal.factor}; not scaled: {NOT_SCALED}"),
        ("Lead time and margin", f"{stage.rehearsal.lead_time_s} s and {stage.rehearsal.margin_s} s, scaled"),
        ("Load", _load(stage)),
        ("Usual load", f"{stage.script.usual_rps} rps before T0 and after"),
        ("Seed of the arrivals", str(stage.seed)),
        ("Real", "etcd, kube-apiserver, controller manager, scheduler, kwok, KEDA, Prometheus, Envoy, Pulumi"),
        ("Doubles", "the kubelet and the engine: see docs/sandbox.md for what they do not check"),
        ("Logs", str(layout.directory / "logs")),
    ]
    title = f"A sale with Warmline: {stage.script.service}"
    report.write(path, title, facts, lines, [report.Play("The evening", svg)])
