"""Runs killed with SIGKILL before and after their writes; the next run has to reach the right floor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.layout import Layout
from sandbox.reliability.course import Course, dice, drawn_services
from sandbox.reliability.gate import SIDES, Kill, Side, gate
from sandbox.reliability.ground import Ground
from sandbox.reliability.transition import ending, prepared, wrong_after

Say = Callable[[str], None]

SERVICES = 4
KILLS_A_COURSE = 12


@dataclass
class Kills:
    """What came of it. `at` counts kills by side and by which write of the run it was.

    `late` counts the runs after one that had to say that an event is.
    """

    kills: int = 0
    courses: int = 0
    at: Counter[tuple[Side, int]] = field(default_factory=Counter)
    late: int = 0
    failures: list[str] = field(default_factory=list)

    def facts(self) -> dict[str, object]:
        """As plain data."""
        writes = sorted({write for _, write in self.at})
        return {
            "kills": self.kills,
            "courses": self.courses,
            "services": SERVICES,
            "at": [{"write": write, **{side: self.at[side, write] for side in SIDES}} for write in writes],
            "late": self.late,
            "failures": self.failures,
        }


def measure(layout: Layout, folder: Path, kills: int, seed: int, say: Say) -> Kills:
    """Kill `kills` runs, over as many random courses as it takes."""
    found = Kills()
    while found.kills < kills:
        throws = dice(f"{seed}/kills/{found.courses}")
        services = drawn_services(throws, SERVICES)
        ground = Ground(layout, folder / f"course-{found.courses}", "kills", services)
        ground.build()
        _play(ground, Course(throws, services), found, kills)
        ground.clear()
        found.courses += 1
        say(f"  {found.kills} runs killed, {len(found.failures)} failures")
    return found


def _play(ground: Ground, course: Course, found: Kills, kills: int) -> None:
    for _ in range(KILLS_A_COURSE):
        if found.kills == kills:
            return
        before = prepared(ground, course)
        wanted = course.floors()
        changes = [name for name, floor in wanted.items() if before[name] != floor]
        kill = Kill(course.dice.randint(1, len(changes)), course.dice.choice(SIDES))
        what = f"course {found.courses}, kill {found.kills} ({kill.side} write {kill.write})"
        with gate(ground.layout.kubeconfig, ground.folder, kill) as opened:
            ran = ground.run_through(opened)
            killed = opened.killed
        if not killed:
            found.failures.append(f"{what}: the run made {opened.writes} writes and was over: {ending(ran)}")
        halfway = {name: minimum for name, (minimum, _) in ground.seen().items()}
        torn = {name: at for name, at in halfway.items() if at not in {before[name], wanted[name]}}
        if torn:
            found.failures.append(f"{what}: left {torn}, neither as before ({before}) nor as wanted ({wanted})")
        ran = ground.run()
        found.failures += [f"{what}: {wrong}" for wrong in wrong_after(ground, course, ran)]
        found.late += bool(course.late())
        course.settled()
        found.kills += 1
        found.at[kill.side, kill.write] += 1
