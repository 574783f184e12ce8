"""The same intent as a KEDA cron trigger and as an event: the minutes at which the two differ.

KEDA's side is its own code, the cron scaler of the pinned module, asked for every minute with a clock that can be set
(`sandbox/toolchain/modules/keda/cron`). Warmline's side is the timetable that `warmline prescale plan` prints.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import yaml

from sandbox.faults import SandboxError
from sandbox.places import REPOSITORY
from sandbox.reliability.intents import INTENTS, ZONE, Intent
from sandbox.reliability.oracle import Service
from sandbox.reliability.stack_on_disk import STACK, write_stack
from sandbox.toolchain.ensure import ensure

Say = Callable[[str], None]
Windows = list[tuple[int, int]]

TOOL = "keda-cron"
CHAT = Service("chat", baseline=1, ceiling=18, lead_s=60)
REPLICAS = 12
MINUTE_S = 60


@dataclass
class Cron:
    """What came of it. `version` is KEDA's, as the compiler recorded it in the program that ran."""

    version: str = ""
    cases: list[dict[str, object]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def facts(self) -> dict[str, object]:
        """As plain data."""
        return {"keda": self.version, "zone": ZONE, "cases": self.cases, "failures": self.failures}


def measure(folder: Path, say: Say) -> Cron:
    """Ask both sides, KEDA's program built first where it is not there."""
    found = Cron()
    program = ensure([TOOL], say)[TOOL]
    for intent in INTENTS:
        found.version, keda = kedas(intent, program)
        ours = warmlines(intent, folder / "cron")
        if ours != meant(intent):
            found.failures.append(f"{intent.what}: the timetable has {told(ours)}, not {told(meant(intent))}")
        case = compared(intent, keda, ours)
        found.cases.append(case)
        say(f"  {intent.what}: {case['only_keda_min']} min KEDA's alone, {case['only_warmline_min']} Warmline's")
    return found


def compared(intent: Intent, keda: Windows, ours: Windows) -> dict[str, object]:
    """One row: the windows of both, and where one is active and the other is not."""
    minutes, mine = set(_minutes(keda)), set(_minutes(ours))
    extra, missed = _windows(minutes - mine), _windows(mine - minutes)
    return {
        "what": intent.what,
        "start": intent.start,
        "end": intent.end,
        "days": [f"{first} to {last}" for first, last in intent.days],
        "keda": keda,
        "warmline": ours,
        "only_keda": told(extra),
        "only_keda_min": len(minutes - mine),
        "only_warmline": told(missed),
        "only_warmline_min": len(mine - minutes),
    }


def meant(intent: Intent) -> Windows:
    """What somebody means, in Unix seconds."""
    return [(_unix(start), _unix(end)) for start, end in intent.windows]


def kedas(intent: Intent, program: Path) -> tuple[str, Windows]:
    """KEDA's version, and when its own cron scaler is active."""
    trigger = {"timezone": ZONE, "start": intent.start, "end": intent.end, "desiredReplicas": str(REPLICAS)}
    version = ""
    active: Windows = []
    for first, end in _bounds(intent):
        question = json.dumps({"trigger": trigger, "from": first, "until": end})
        answer = _said([str(program)], dict(os.environ), question)
        version = answer["keda"].removeprefix("v")
        active += [(start, until) for start, until in answer["active"]]
    return version, active


def warmlines(intent: Intent, folder: Path) -> Windows:
    """When the event is, by the timetable that the CLI prints."""
    stack = folder / "stacks" / STACK
    if not stack.exists():
        write_stack(stack, "cron", (CHAT,))
    event = {"name": "sale", **intent.event, "services": {CHAT.name: {"replicas": REPLICAS}}}
    calendar = {"timezone": ZONE, "ready_margin_s": 0, "events": [event]}
    (stack / "events.yaml").write_text(yaml.safe_dump(calendar, sort_keys=False))
    environment = {**os.environ, "WARMLINE_STACKS_DIR": str(folder / "stacks")}
    warmline = [str(Path(sys.executable).with_name("warmline")), "prescale", "plan", "-s", STACK, "-o", "json"]
    found: Windows = []
    for first, end in _bounds(intent):
        plan = _said([*warmline, "--at", datetime.fromtimestamp(first, UTC).isoformat()], environment)
        windows = sorted((_unix(event["start"]), _unix(event["end"])) for event in plan["events"])
        found += [(start, until) for start, until in windows if first <= start < end]
    return found


def told(windows: Windows) -> list[str]:
    """For people, in `ZONE`."""
    return [f"{_local(start)} to {_local(end)}" for start, end in windows]


def _said(argv: Sequence[str], environment: dict[str, str], question: str = "") -> Any:
    done = subprocess.run(
        argv, input=question, env=environment, cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        raise SandboxError(f"{' '.join(argv)} ended with exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def _bounds(intent: Intent) -> Iterator[tuple[int, int]]:
    """Of each pair of days, the first midnight and the one after the last."""
    for first, last in intent.days:
        days = [datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(ZONE)) for day in (first, last)]
        yield int(days[0].timestamp()), int((days[1] + timedelta(days=1)).timestamp())


def _unix(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def _local(unix: int) -> str:
    return f"{datetime.fromtimestamp(unix, ZoneInfo(ZONE)):%a %Y-%m-%d %H:%M%z}"


def _minutes(windows: Windows) -> Iterator[int]:
    for start, end in windows:
        yield from range(start, end, MINUTE_S)


def _windows(minutes: set[int]) -> Windows:
    found: Windows = []
    for minute in sorted(minutes):
        if found and found[-1][1] == minute:
            found[-1] = (found[-1][0], minute + MINUTE_S)
        else:
            found.append((minute, minute + MINUTE_S))
    return found
