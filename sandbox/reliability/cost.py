"""What a run with nothing to do costs: API calls, and the whole process beside a bare script with the same reads."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sandbox.faults import SandboxError
from sandbox.layout import Layout
from sandbox.reliability.course import GRAIN_S, MOST_REPLICAS, rps_for
from sandbox.reliability.gate import gate
from sandbox.reliability.ground import Ground
from sandbox.reliability.oracle import Event, Service
from sandbox.reliability.ready import serve
from sandbox.reliability.stack_on_disk import STACK, calendar_text
from sandbox.reliability.transition import ending
from stacks import ownership

Say = Callable[[str], None]

SERVICES = (1, 500)
MOST_CALLS = 3
MOST_RATIO = 1.5
BASELINE, RAISED = 0, 1
ORDERS, STARTS = ownership.orders_name(STACK), ownership.starts_name(STACK)
# What a run reads beside the ScaledObjects: whether all HPAs, and which ConfigMaps. Hours before an event that is how
# long starts take; what was raised is seen on the HPAs.
READS = {
    "an event to come": ("no", ORDERS, STARTS),
    "an event in force": ("yes", ORDERS),
}
# Where nobody can keep anything, and every run reads the stack's files.
NOWHERE = {"XDG_CACHE_HOME": "/dev/null"}


@dataclass(frozen=True)
class Times:
    """Of one process: wall clock and CPU, in ms."""

    wall_ms: float
    cpu_ms: float


@dataclass(frozen=True)
class Spread:
    """Of many ratios: the median, and the tenth and ninetieth of a hundred."""

    median: float
    p10: float
    p90: float


@dataclass(frozen=True)
class Timing:
    """Medians of each way, and how a run compares pair by pair, by the wall clock unless it says CPU.

    `afresh` is a run that reads the stack's files, as the first of every quarter of an hour does.
    """

    pairs: int
    run: Times
    afresh: Times
    bare: Times
    kubectl: Times
    to_bare: Spread
    cpu_to_bare: Spread
    to_kubectl: Spread
    afresh_to_bare: Spread


@dataclass(frozen=True)
class Row:
    """One number of services in one state."""

    services: int
    state: str
    calls: int
    timing: Timing | None


@dataclass
class Cost:
    """What came of it."""

    rows: list[Row] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def facts(self) -> dict[str, object]:
        """As plain data."""
        return {
            "rows": [asdict(row) for row in self.rows],
            "most_calls": MOST_CALLS,
            "most_ratio": MOST_RATIO,
            "failures": self.failures,
        }


def measure(layout: Layout, folder: Path, pairs: int, say: Say) -> Cost:
    """Count the calls; with `pairs`, also time that many runs, each beside a bare script and kubectl."""
    found = Cost()
    for count in SERVICES:
        services = tuple(Service(f"chat-{number:03}", BASELINE, MOST_REPLICAS, GRAIN_S) for number in range(count))
        ground = Ground(layout, folder / f"cost-{count}", f"cost-{count}", services)
        ground.build()
        serve(ground, RAISED)
        for state, reads in READS.items():
            row = _row(ground, state, reads, pairs, found)
            found.rows.append(row)
            ratio = f", {row.timing.to_bare.median:.2f} x a bare script" if row.timing else ""
            say(f"  {count} services, {state}: {row.calls} calls{ratio}")
        ground.clear()
    return found


def _row(ground: Ground, state: str, reads: Sequence[str], pairs: int, found: Cost) -> Row:
    count, what = len(ground.services), f"{len(ground.services)} services, {state}"
    ground.calendar.write_text(calendar_text(_events(ground.services, is_on=state == "an event in force")))
    # What one raised the next sees Ready; from then on there is nothing to do.
    for _ in range(2):
        ran = ground.run()
        if ran.exit_code:
            found.failures.append(f"{what}: a run before ended with {ending(ran)}")
    with gate(ground.layout.kubeconfig, ground.folder) as opened:
        ran = ground.run_through(opened)
    if ran.exit_code or opened.writes or opened.calls > MOST_CALLS:
        found.failures.append(f"{what}: {opened.calls} calls, {opened.writes} of them writes; {ending(ran)}")
    timing = _timed(ground, reads, pairs) if pairs else None
    if timing and timing.to_bare.median > MOST_RATIO:
        found.failures.append(f"{what}: {timing.to_bare.median:.2f} x a bare script")
    return Row(count, state, opened.calls, timing)


def _timed(ground: Ground, reads: Sequence[str], pairs: int) -> Timing:
    warmline, bare = str(Path(sys.executable).with_name("warmline")), Path(__file__).with_name("bare.py")
    sync = [warmline, "prescale", "sync", "-s", STACK]
    ways = {
        "run": sync,
        "afresh": sync,
        "bare": [sys.executable, str(bare), ground.namespace, STACK, *reads],
        "kubectl": [str(ground.layout.bin / "kubectl"), "get", "scaledobjects", "-A"],
    }
    if not Path(ways["kubectl"][0]).exists():  # the user's own is on PATH instead
        ways["kubectl"][0] = "/usr/bin/env"
        ways["kubectl"].insert(1, "kubectl")
    times: dict[str, list[Times]] = {way: [] for way in ways}
    for turn in range(pairs + 1):
        order = list(ways) if turn % 2 else list(reversed(ways))
        for way in order:
            took = _process(ways[way], {**ground.environment, **(NOWHERE if way == "afresh" else {})})
            if turn:  # the first turn warms the caches of the disk
                times[way].append(took)
    return Timing(
        pairs=pairs,
        run=_median(times["run"]),
        afresh=_median(times["afresh"]),
        bare=_median(times["bare"]),
        kubectl=_median(times["kubectl"]),
        to_bare=_spread(times["run"], times["bare"], "wall_ms"),
        cpu_to_bare=_spread(times["run"], times["bare"], "cpu_ms"),
        to_kubectl=_spread(times["run"], times["kubectl"], "wall_ms"),
        afresh_to_bare=_spread(times["afresh"], times["bare"], "wall_ms"),
    )


def _events(services: Sequence[Service], *, is_on: bool) -> list[Event]:
    first = int(time.time()) + (-GRAIN_S if is_on else 4 * GRAIN_S)
    rps = {service.name: rps_for(RAISED) for service in services}
    return [Event("sale", first, first + 4 * GRAIN_S, rps)]


def _process(argv: Sequence[str], environment: Mapping[str, str]) -> Times:
    """One process from start to end, by the system's own account."""
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    began = time.perf_counter()
    pid = os.posix_spawn(argv[0], list(argv), dict(environment), file_actions=quiet)
    _, status, use = os.wait4(pid, 0)
    wall_ms = 1000 * (time.perf_counter() - began)
    if code := os.waitstatus_to_exitcode(status):
        raise SandboxError(f"{' '.join(argv)} ended with exit code {code}; its time says nothing.")
    return Times(wall_ms, 1000 * (use.ru_utime + use.ru_stime))


def _median(times: Sequence[Times]) -> Times:
    return Times(
        round(statistics.median(one.wall_ms for one in times), 1),
        round(statistics.median(one.cpu_ms for one in times), 1),
    )


def _spread(ours: Sequence[Times], others: Sequence[Times], clock: str) -> Spread:
    ratios = [getattr(mine, clock) / getattr(its, clock) for mine, its in zip(ours, others, strict=True)]
    tenths = statistics.quantiles(ratios, n=10, method="inclusive") if len(ratios) > 1 else ratios * 9
    return Spread(round(statistics.median(ratios), 2), round(tenths[0], 2), round(tenths[-1], 2))
