"""One process that outlives this one: how it is known again, and how it is ended.

A process id alone proves nothing after a crash or a reboot, so before any signal is sent the start time, which the
kernel keeps per process, is compared as well.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox.faults import SandboxError

MARK = "WARMLINE_SANDBOX_MARK"

_PROC = Path("/proc")
_POLL_S = 0.02


@dataclass(frozen=True)
class Process:
    """One started process.

    start_ticks, boot_id: who it is, together with the pid. ports: what it listens on, the main one first.
    health: URL that answers 200 when it is well; empty when there is none. started_at: RFC 3339, UTC.
    """

    name: str
    pid: int
    start_ticks: int
    boot_id: str
    argv: tuple[str, ...]
    log: str
    started_at: str
    ports: tuple[int, ...] = ()
    health: str = ""


def boot_id() -> str:
    """Changes with every boot of the machine; process ids and start times begin anew then."""
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def start_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None when it is gone or a zombie."""
    try:
        # The command's name may hold spaces and brackets: what follows the last one is fixed.
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (OSError, IndexError):
        return None
    return None if fields[0] in {"Z", "X"} else int(fields[19])


def is_running(process: Process) -> bool:
    """Whether that very process still runs (not another one that was given its number)."""
    reap(process.pid)
    return process.boot_id == boot_id() and start_ticks(process.pid) == process.start_ticks


def reap(pid: int) -> None:
    """Take a dead child off the process table, if it is a child of ours."""
    with suppress(ChildProcessError, ProcessLookupError):
        os.waitpid(pid, os.WNOHANG)


def marked(mark: str) -> list[int]:
    """Ids of all processes of this user that carry the mark, zombies left out."""
    numbers = sorted(int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())
    return [pid for pid in numbers if is_marked(pid, mark) and start_ticks(pid) is not None]


def is_marked(pid: int, mark: str) -> bool:
    """Whether the process carries the mark. Not yet, for a moment after its start: its environment comes last."""
    try:
        return f"{MARK}={mark}".encode() in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def await_mark(pid: int, mark: str, patience_s: float = 10.0) -> None:
    """Return once the process carries the mark, or is gone: from then on `marked` finds it."""
    until = time.monotonic() + patience_s
    while not is_marked(pid, mark) and start_ticks(pid) is not None and time.monotonic() < until:
        time.sleep(_POLL_S / 10)


def end(process: Process, patience_s: float) -> bool:
    """SIGTERM, and SIGKILL after `patience_s`. False when it was not running any more."""
    if not is_running(process):
        return False
    for number, wait_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, 5.0)):
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            return True
        until = time.monotonic() + wait_s
        while time.monotonic() < until:
            if not is_running(process):
                return True
            time.sleep(_POLL_S)
    raise SandboxError(f"{process.name} (pid {process.pid}) did not end, not even when killed. See {process.log}.")


def end_marked(mark: str, patience_s: float) -> None:
    """End every process with the mark, except this one should it have been started in the sandbox itself."""
    for number, wait_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, 5.0)):
        # The second look, too, is for all: what one of them had just started carried no mark at the first.
        left = [pid for pid in marked(mark) if pid != os.getpid()]
        for pid in left:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        until = time.monotonic() + wait_s
        while left and time.monotonic() < until:
            for pid in left:
                reap(pid)
            left = [pid for pid in left if start_ticks(pid) is not None]
            time.sleep(_POLL_S)
