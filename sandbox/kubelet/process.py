"""Engine doubles as child processes: started, remembered, ended; none outlives the kubelet double."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def started_ticks(pid: int) -> int | None:
    """When the kernel started a process, in clock ticks after boot; None if there is none. Tells a reused pid apart."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[19])


@dataclass(slots=True)
class ChildRegister:
    """Pids of living children in a file, so that the next run can end what a crash left."""

    file: Path
    children: dict[int, int] = field(default_factory=dict)

    def add(self, pid: int) -> None:
        """Remember a child."""
        self.children[pid] = started_ticks(pid) or 0
        self._save()

    def remove(self, pid: int) -> None:
        """Forget a child that ended."""
        self.children.pop(pid, None)
        self._save()

    def kill_orphans(self) -> list[int]:
        """End what an earlier run left alive; only processes that are the very ones it started."""
        killed = []
        if self.file.exists():
            for pid, ticks in json.loads(self.file.read_text()).items():
                if started_ticks(int(pid)) == ticks:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
                        killed.append(int(pid))
        self._save()
        return killed

    def _save(self) -> None:
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps(self.children))
        fresh.replace(self.file)


async def start_engine(
    command: list[str], pod_ip: str, timing: dict[str, float], log: Path, register: ChildRegister
) -> asyncio.subprocess.Process:
    """Start an engine double; its output goes to `log`."""
    own = ["--pod-ip", pod_ip, "--timing", json.dumps(timing), "--die-with-parent", str(os.getpid())]
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "sandbox.engine", *own, "--", *command),
            cwd=REPOSITORY,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    register.add(process.pid)
    return process
