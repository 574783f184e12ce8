"""Start processes that outlive this one, remember them, and stop those and only those.

Every process is recorded in the sandbox's `processes.json`, and carries the sandbox's random mark in its environment.
A process id alone proves nothing after a crash or a reboot, so before any signal is sent the start time, which the
kernel keeps per process, is compared as well. The mark finds what the record cannot: grandchildren whose parent died.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from sandbox.faults import SandboxError
from sandbox.places import write_private

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
    wanted, found = f"{MARK}={mark}".encode(), []
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if wanted in environment and start_ticks(int(entry.name)) is not None:
            found.append(int(entry.name))
    return sorted(found)


class ProcessRecord:
    """The processes of one sandbox, in the order they were started."""

    def __init__(self, directory: Path, mark: str) -> None:
        self.directory = directory
        self.mark = mark
        self.path = directory / "processes.json"
        self.logs = directory / "logs"

    def read(self) -> list[Process]:
        """What was started; empty before the first start.

        Raises:
            SandboxError: the file is there but cannot be understood.
        """
        try:
            rows = json.loads(self.path.read_text())
            return [Process(**{**row, "argv": tuple(row["argv"]), "ports": tuple(row["ports"])}) for row in rows]
        except FileNotFoundError:
            return []
        except (ValueError, TypeError, KeyError) as error:
            raise SandboxError(f"{self.path}: not readable ({error}). Run `warmline sandbox down`.") from None

    def read_what_can_be(self) -> list[Process]:
        """As `read`, but empty when the file is damaged: the mark still finds its processes."""
        try:
            return self.read()
        except SandboxError:
            return []

    def start(
        self,
        name: str,
        argv: Sequence[str],
        environment: Mapping[str, str] | None = None,
        ports: Sequence[int] = (),
        health: str = "",
    ) -> Process:
        """Start `argv` in a session of its own, with its output in `logs/<name>.log`, and record it.

        Args:
            name: unique in the sandbox.
            argv: the first item is an absolute path. No secret belongs here: everybody on the machine can read it.
            environment: added to what this process has.

        Raises:
            SandboxError: the name is in use, or the program cannot be started.
        """
        others = self.read()
        for other in others:
            if other.name == name and is_running(other):
                raise SandboxError(f"{name} already runs in this sandbox (pid {other.pid}).")
        self.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = self.logs / f"{name}.log"
        complete = {**os.environ, **(environment or {}), MARK: self.mark}
        try:
            pid = os.posix_spawn(
                argv[0],
                list(argv),
                complete,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
                setsid=True,
            )
        except OSError as error:
            raise SandboxError(f"{name} cannot be started: {argv[0]}: {error.strerror}.") from None
        process = Process(
            name=name,
            pid=pid,
            start_ticks=start_ticks(pid) or 0,
            boot_id=boot_id(),
            argv=tuple(argv),
            log=str(log),
            started_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            ports=tuple(ports),
            health=health,
        )
        self._write([other for other in others if other.name != name] + [process])
        return process

    def stop(self, name: str, patience_s: float = 10.0) -> None:
        """Stop one process and forget it; no error when it is gone or unknown."""
        known = self.read()
        for process in known:
            if process.name == name:
                end(process, patience_s)
        self._write([process for process in known if process.name != name])

    def stop_all(self, patience_s: float = 10.0) -> list[str]:
        """Stop everything, last started first, then whatever else carries the mark. Names of what still ran."""
        stopped = [process.name for process in reversed(self.read_what_can_be()) if end(process, patience_s)]
        if self.mark:
            end_marked(self.mark, patience_s)
        self.path.unlink(missing_ok=True)
        return stopped

    def _write(self, processes: Iterable[Process]) -> None:
        write_private(self.path, json.dumps([asdict(process) for process in processes], indent=1))


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
        if not left:
            return
