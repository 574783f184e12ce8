"""Eight runs at once, and somebody who writes beside them: the result of one run, and nobody's write is lost."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.layout import Layout
from sandbox.reliability.course import Course, dice, drawn_services
from sandbox.reliability.gate import Call, Gate, StartLine, gate
from sandbox.reliability.ground import Ground
from sandbox.reliability.stack_on_disk import Ran, ScaledObject, ended
from sandbox.reliability.transition import prepared, wrong_after, wrong_ending

Say = Callable[[str], None]

AT_ONCE = 8
SERVICES = 10
# A run reads and decides anew up to eight times. One other run and the writer win at most six times on one object.
WRITES_EACH = 5
PAUSE_S = 0.02
ROUNDS_A_COURSE = 10
KEY = "drill.example/write-"


@dataclass
class Crowd:
    """What came of it. `conflicts` is how often the API server refused a run's write since somebody had been faster;
    `late` counts the rounds whose runs had to say that an event is.
    """

    rounds: int = 0
    writes_beside: int = 0
    patches: int = 0
    conflicts: int = 0
    late: int = 0
    failures: list[str] = field(default_factory=list)

    def facts(self) -> dict[str, object]:
        """As plain data."""
        return {
            "rounds": self.rounds,
            "at_once": AT_ONCE,
            "services": SERVICES,
            "writes_beside": self.writes_beside,
            "patches": self.patches,
            "conflicts": self.conflicts,
            "late": self.late,
            "failures": self.failures,
        }


def measure(layout: Layout, folder: Path, rounds: int, seed: int, say: Say) -> Crowd:
    """Play `rounds` rounds; after each, one run more has to find nothing to do."""
    found = Crowd()
    while found.rounds < rounds:
        throws = dice(f"{seed}/crowd/{found.rounds}")
        services = drawn_services(throws, SERVICES)
        ground = Ground(layout, folder / f"crowd-{found.rounds}", "crowd", services)
        ground.build()
        course = Course(throws, services)
        for _ in range(min(ROUNDS_A_COURSE, rounds - found.rounds)):
            _round(ground, course, found)
            found.rounds += 1
        ground.clear()
        say(f"  {found.rounds} rounds of {AT_ONCE} runs, {found.conflicts} conflicts, {len(found.failures)} failures")
    return found


def _round(ground: Ground, course: Course, found: Crowd) -> None:
    what = f"round {found.rounds}"
    prepared(ground, course)
    lost, rans, gates = _all_at_once(ground)
    found.writes_beside += WRITES_EACH * len(course.services)
    found.failures += [f"{what}: {lost} writes of somebody else are gone"] if lost else []
    found.failures += [f"{what}: {wrong}" for ran in rans for wrong in wrong_ending(course, ran)]
    found.conflicts += sum(opened.conflicts for opened in gates)
    by_service: Counter[str] = Counter()
    for ran in rans:
        by_service.update(each["service"] for each in (ran.services if ran.stdout else ()) if each["patched"])
    found.patches += by_service.total()
    twice = {name: times for name, times in by_service.items() if times > 1}
    if twice:
        found.failures.append(f"{what}: written more than once: {twice}")
    with gate(ground.layout.kubeconfig, ground.folder) as opened:
        ran = ground.run_through(opened)
    if opened.writes:
        found.failures.append(f"{what}: one run more had {opened.writes} writes to do")
    found.failures += [f"{what}: {wrong}" for wrong in wrong_after(ground, course, ran)]
    found.late += bool(course.late())
    course.settled()


def _all_at_once(ground: Ground) -> tuple[int, list[Ran], list[Gate]]:
    """Runs that all read before the first of them writes, and a writer that starts as they do: what it lost."""
    writer = threading.Thread(target=_write_beside, args=(ground,))
    line = StartLine(AT_ONCE, writer.start)

    def read_together(call: Call) -> None:
        if call.number == 1:
            line.wait()

    with ExitStack() as opened:
        gates = [opened.enter_context(gate(ground.layout.kubeconfig, ground.folder)) for _ in range(AT_ONCE)]
        for each in gates:
            each.before_call = read_together
        processes = [ground.start(each.kubeconfig) for each in gates]
        rans = [ended(process) for process in processes]
    writer.join()
    return _lost(ground), rans, gates


def _write_beside(ground: Ground) -> None:
    for number in range(WRITES_EACH):
        for service in ground.services:
            ground.patch(service.name, {"metadata": {"annotations": {f"{KEY}{number}": str(number)}}}, "somebody")
            time.sleep(PAUSE_S / len(ground.services))


def _lost(ground: Ground) -> int:
    """How many of the writer's annotations are not there; takes away those that are."""
    lost = 0
    for item in list(ground.api.list(ScaledObject, namespace=ground.namespace)):
        metadata = item["metadata"]
        there = [name for name in metadata["annotations"] if name.startswith(KEY)]
        lost += WRITES_EACH - len(there)
        ground.patch(metadata["name"], {"metadata": {"annotations": dict.fromkeys(there)}}, "somebody")
    return lost
