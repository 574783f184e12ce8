"""`make bench-event`: the same sale on the same load, three ways side by side on one cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lightkube import Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.types import PatchType

from sandbox import lifecycle
from sandbox.faults import SandboxError
from sandbox.load.record import RequestRecord, summary_of
from sandbox.sale.commands import CommandError, Cron, parsed
from sandbox.sale.demo import STACK, Cast, prepare, scaler_query, written
from sandbox.sale.play import Course, Play, Stage, cron_period_s, write_calendar
from sandbox.sale.timeline import Sample
from sandbox.sale.verdict import Attainment, at, attainment, replica_seconds

Say = Callable[[str], None]

WAYS = ("reactive", "keda-cron", "warmline")
MINUTE_S = 60
"""The only grain of a KEDA cron trigger. All three raise on a whole minute, which favours the trigger."""

ScaledObject = create_namespaced_resource("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects")


@dataclass(frozen=True)
class Result:
    """What one way came to, over the event's window unless said otherwise."""

    way: str
    whole: Attainment
    planned: Attainment
    beyond: Attainment
    ready_at_start: int
    most_ready: int
    floor_ready_after_start_s: float | None
    replica_seconds: float
    back_after_end_s: float | None
    lateness_p99_s: float
    samples: list[Sample]
    records: list[RequestRecord]


@dataclass(frozen=True)
class Comparison:
    """All ways of one run."""

    stage: Stage
    course: Course
    floor: int
    results: list[Result]
    cpu_busy_pct: float


def compare(out: Path, time_scale: int, seed: int, say: Say) -> Comparison:
    """Play the three ways at once.

    Raises:
        InputError: the stack's first event cannot be played; nothing was started.
        SandboxError: the sandbox could not be had, or a command that the run rests on failed.
    """
    cast = three_of(written(time_scale))
    out.mkdir(parents=True, exist_ok=True)
    directory = out / "sandbox"
    try:
        with lifecycle.temporary(say, directory):
            stage, _ = prepare(cast, out, directory, time_scale=time_scale, seed=seed, say=say)
            return _side_by_side(stage, say)
    except CommandError as error:
        raise SandboxError(str(error)) from None


def three_of(cast: Cast) -> Cast:
    """The stack with its service three times, each on a node pool of its own; the calendar knows only warmline's."""
    stack, calendar = cast.stack, cast.calendar
    event = calendar.events[0]
    name, demand = next(iter(event.services.items()))
    service = stack.platform.services[name]
    pool = stack.platform.node_pools[service.node_pool]
    services, pools = {}, {}
    for way in WAYS:
        model = service.model.model_copy(update={"name": f"{service.model.name}-{way}"})
        services[f"{name}-{way}"] = service.model_copy(
            update={"model": model, "node_pool": f"{service.node_pool}-{way}"}
        )
        pools[f"{service.node_pool}-{way}"] = pool
    platform = stack.platform.model_copy(update={"services": services, "node_pools": pools})
    played = event.model_copy(update={"services": {f"{name}-{WAYS[-1]}": demand}})
    return Cast(replace(stack, platform=platform), calendar.model_copy(update={"events": [played]}))


def _side_by_side(stage: Stage, say: Say) -> Comparison:
    commands, factor = stage.commands, stage.rehearsal.factor
    base = stage.script.service.removesuffix(f"-{WAYS[-1]}")
    course = Course.after(time.time(), stage, grain_s=MINUTE_S)
    write_calendar(stage, course)
    planning = commands.must("warmline prescale plan", commands.warmline("prescale", "plan", "-s", STACK, "-o", "json"))
    floor = int(parsed(planning)["events"][0]["floor"])
    add_cron_trigger(stage.client, stage.rehearsal.platform.namespace, f"{base}-keda-cron", course, floor)
    cron = Cron(commands, STACK, cron_period_s(factor))
    began, busy = time.time(), _cpu_seconds()
    with ExitStack() as running:
        plays = {}
        for way in WAYS:
            query = scaler_query(commands, stage.rehearsal.platform.namespace, f"{base}-{way}")
            own = replace(stage, script=replace(stage.script, service=f"{base}-{way}"), query=query)
            say_way = _labelled(say, way)
            plays[way] = running.enter_context(Play(own, course, say_way, way))
        running.enter_context(cron)
        while time.time() < course.finish:
            for play in plays.values():
                play.tell()
            time.sleep(1)
        busy_pct = 100 * (_cpu_seconds() - busy) / (time.time() - began)
        records = {way: play.wait_for_load() for way, play in plays.items()}
    results = [_result(plays[way], floor, records[way]) for way in WAYS]
    return Comparison(stage, course, floor, results, busy_pct)


def add_cron_trigger(client: Client, namespace: str, service: str, course: Course, floor: int) -> None:
    """What a person without Warmline would write: a second trigger from the raise to the end, in whole minutes."""
    live = client.get(ScaledObject, service, namespace=namespace)
    triggers: list[Any] = list(live["spec"]["triggers"])
    last_minute = -(-int(course.end) // MINUTE_S) * MINUTE_S
    times = {"timezone": "UTC", "start": _cron(course.raise_at), "end": _cron(last_minute)}
    triggers.append({"type": "cron", "metadata": {**times, "desiredReplicas": str(floor)}})
    patch = {"spec": {"triggers": triggers}}
    client.patch(ScaledObject, service, patch, namespace=namespace, patch_type=PatchType.MERGE)


def _cron(unix: float) -> str:
    moment = datetime.fromtimestamp(unix, UTC)
    return f"{moment.minute} {moment.hour} {moment.day} {moment.month} *"


def _result(play: Play, floor: int, records: list[RequestRecord]) -> Result:
    stage, course, samples = play.stage, play.course, play.watch.samples
    service = next(iter(stage.rehearsal.platform.services.values()))
    planned_until = course.start + stage.script.planned_s
    first = at(samples, course.start)
    reached = [one.at for one in samples if one.ready >= floor]
    back = [one.at for one in samples if one.at > course.end and one.ready <= service.replicas.min]
    return Result(
        way=play.name,
        whole=attainment(records, service.slo, course.start, course.end),
        planned=attainment(records, service.slo, course.start, planned_until),
        beyond=attainment(records, service.slo, planned_until, planned_until + stage.script.phases[1].seconds),
        ready_at_start=first.ready if first else 0,
        most_ready=max((one.ready for one in samples), default=0),
        floor_ready_after_start_s=reached[0] - course.start if reached else None,
        replica_seconds=replica_seconds(samples, course.raise_at, course.finish),
        back_after_end_s=back[0] - course.end if back else None,
        lateness_p99_s=summary_of(records, 1).lateness_p99_s,
        samples=samples,
        records=records,
    )


def _labelled(say: Say, way: str) -> Say:
    return lambda line: say(f"{way:<10} {line}")


def _cpu_seconds() -> float:
    """Seconds all cores together were busy since boot."""
    user, nice, system, _idle, _wait, irq, soft, *_ = map(
        int, Path("/proc/stat").read_text().split("\n")[0].split()[1:]
    )
    return (user + nice + system + irq + soft) / 100
