"""Start processes that outlive this one, remember them, and stop those and only those.

Every process is recorded in the sandbox's `processes.json`, and carries the sandbox's random mark in its environment.
The mark finds what the record cannot: grandchildren whose parent died.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from sandbox.faults import SandboxError
from sandbox.interruption import deferred
from sandbox.places import write_private
from sandbox.processes.process import MARK, Process, await_mark, boot_id, end, end_marked, is_running, start_ticks


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
        await_mark(pid, self.mark)
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

    @deferred()
    def stop_all(self, patience_s: float = 10.0) -> list[str]:
        """Stop everything, last started first, then whatever else carries the mark. Names of what still ran."""
        stopped = [process.name for process in reversed(self.read_what_can_be()) if end(process, patience_s)]
        if self.mark:
            end_marked(self.mark, patience_s)
        self.path.unlink(missing_ok=True)
        return stopped

    def _write(self, processes: Iterable[Process]) -> None:
        write_private(self.path, json.dumps([asdict(process) for process in processes], indent=1))
