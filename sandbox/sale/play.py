"""Play the sale once on a running sandbox: load, calendar, cron, `pulumi up` in the middle; and keep what was seen."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lightkube import Client
from whenever import Instant

from sandbox.interruption import deferred
from sandbox.load.record import RequestRecord, read_records
from sandbox.sale.commands import Commands, Cron, Ran
from sandbox.sale.rehearsal import Rehearsal
from sandbox.sale.script import Script
from sandbox.sale.timeline import Watch

Say = Callable[[str], None]
CRON_S = 60
"""How often a person's cron runs `sync`; divided by the time scale, at least every 2 s."""
SLACK_S = 8
"""Between the moment the calendar is written and the moment of the raise."""


@dataclass(frozen=True)
class Stage:
    """Where the play takes place. `balancer_url` is the stand-in for the cloud's balancer."""

    rehearsal: Rehearsal
    script: Script
    commands: Commands
    client: Client
    balancer_url: str
    out: Path
    seed: int
    query: str


@dataclass(frozen=True)
class Course:
    """What the clock says of one play, Unix times, fixed before it begins. `raise_at` is a ramp's first step's."""

    raise_at: float
    start: float
    end: float
    finish: float

    @classmethod
    def after(cls, now: float, stage: Stage, *, grain_s: int = 1) -> Course:
        """The course of a play whose calendar is written at `now`; the raise falls on a multiple of `grain_s`."""
        rehearsal, script = stage.rehearsal, stage.script
        raise_at = float(-(-int(now + SLACK_S) // grain_s) * grain_s)
        start = raise_at + rehearsal.lead_time_s + rehearsal.margin_s + rehearsal.ramp_s
        end = start + script.window_s
        return cls(raise_at, start, end, end + settle_s(stage))


def settle_s(stage: Stage) -> float:
    """How long after the end the release may take: window, then the ramp from the ceiling, then streams and drain."""
    service = stage.rehearsal.platform.services[stage.script.service]
    down = service.scale_down
    steps = -(-(service.replicas.max - service.replicas.min) // down.replicas)
    return down.window_s + steps * down.period_s + 25


class Play:
    """One play. `with Play(...) as play:` ends load, watch and cron whatever happens."""

    def __init__(self, stage: Stage, course: Course, say: Say, name: str) -> None:
        self.stage, self.course, self.say, self.name = stage, course, say, name
        service = stage.script.service
        self.watch = Watch(
            stage.client,
            stage.rehearsal.platform.namespace,
            service,
            stage.rehearsal.platform.prometheus.url,
            stage.query,
        )
        self.records_file = stage.out / f"{name}-requests.jsonl"
        self._load: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.watch.start()
        self._load = self._start_load()
        return self

    @deferred()
    def __exit__(self, *_: object) -> None:
        self.watch.stop()
        if self.watch.misses:
            self.say(f"{self.watch.misses} looks at the cluster failed: the timeline has gaps there")
        if self._load and self._load.poll() is None:
            self._load.terminate()
            self._load.wait(timeout=20)

    def wait_until(self, moment: float, done: Callable[[], bool] = lambda: False) -> None:
        """Sleep until `moment` or `done`, saying each new state of the cluster on the way."""
        while time.time() < moment and not done():
            self.tell()
            time.sleep(0.5)

    def wait_for_load(self) -> list[RequestRecord]:
        """Wait for the last answer; every request's record."""
        if self._load:
            self._load.wait(timeout=120)
        return read_records(self.records_file)

    def at_t0(self, moment: float) -> str:
        return at_t0(moment, self.course)

    _told: tuple[int | None, int, int] | None = None

    def tell(self) -> None:
        """Say the state of the cluster if it is a new one."""
        sample = self.watch.latest()
        if sample is None or (sample.floor, sample.ready, sample.starting) == self._told:
            return
        self._told = (sample.floor, sample.ready, sample.starting)
        load = "?" if sample.in_flight is None else f"{sample.in_flight:.0f}"
        starting = f" +{sample.starting} starting" if sample.starting else ""
        self.say(f"{self.at_t0(sample.at):>8}  floor {sample.floor}  Ready {sample.ready}{starting}  in flight {load}")

    def _start_load(self) -> subprocess.Popen[bytes]:
        script, course = self.stage.script, self.course
        rehearsal = self.stage.rehearsal
        model = rehearsal.platform.services[script.service].model.name
        lull_s = course.finish - course.start - script.loud_s
        phases = [
            f"{course.start - time.time():.3f}:{script.usual_rps}",
            *(f"{phase.seconds}:{phase.rps}" for phase in script.phases),
            f"{lull_s:.0f}:{script.usual_rps}",
        ]
        host = f"{script.service}.{rehearsal.platform.namespace}"
        argv = [sys.executable, "-m", "sandbox.load", "--url", self.stage.balancer_url, "--model", model]
        argv += ["--host-header", host, "--seed", str(self.stage.seed), "--out", str(self.records_file), *phases]
        log = (self.stage.out / f"{self.name}-load.log").open("wb")
        # A session of its own: the generator puts its whole session first, and only it may go first.
        return subprocess.Popen(
            argv,
            cwd=self.stage.commands.repository,
            env=dict(self.stage.commands.environment),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def at_t0(moment: float, course: Course) -> str:
    """`T-75 s`, `T+12 s`."""
    return f"T{moment - course.start:+.0f} s"


def raising_run(cron: Cron, raise_at: float) -> Ran | None:
    """The first run that cron started at or after the moment of a raise."""
    return next((run for run in cron.runs if run.began >= raise_at), None)


def cron_period_s(factor: int) -> float:
    """A cron minute on the time scale."""
    return max(2.0, CRON_S / factor)


def write_calendar(stage: Stage, course: Course) -> None:
    """Put the event into the derived stack's calendar."""
    stage.rehearsal.schedule(_instant(course.start), _instant(course.end))


def _instant(unix: float) -> Instant:
    return Instant.from_timestamp(int(unix))
