"""The commands a person would type, run as they would run: `warmline` and `pulumi` as processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from sandbox.interruption import deferred


class CommandError(Exception):
    """A command the play cannot go on without ended with another exit code than 0."""


@dataclass(frozen=True)
class Ran:
    """One run. `began` and `ended` are Unix times."""

    began: float
    ended: float
    exit_code: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Commands:
    """Runs commands in the repository with the sandbox's environment."""

    repository: Path
    environment: Mapping[str, str]

    def warmline(self, *arguments: str, timeout_s: float = 60) -> Ran:
        """`warmline ...`, from the environment this process runs in."""
        return self.run([str(Path(sys.executable).with_name("warmline")), *arguments], timeout_s)

    def run(self, argv: Sequence[str], timeout_s: float) -> Ran:
        """Run to the end; a command that hangs is ended and counts as exit code 124."""
        began = time.time()
        try:
            done = subprocess.run(
                argv,
                cwd=self.repository,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as hung:
            return Ran(began, time.time(), 124, str(hung.stdout or ""), f"no answer within {timeout_s:.0f} s")
        return Ran(began, time.time(), done.returncode, done.stdout, done.stderr)

    def must(self, what: str, ran: Ran) -> Ran:
        """`ran`, or a CommandError with the last lines it wrote."""
        if ran.exit_code:
            tail = "\n".join((ran.stdout + ran.stderr).strip().splitlines()[-15:])
            raise CommandError(f"{what} ended with exit code {ran.exit_code}:\n{tail}")
        return ran


@dataclass
class Cron:
    """`warmline prescale sync` every `period_s`, as cron would start it: one run never waits for another's sake.

    `with cron:` lets the last run end, whatever happens.
    """

    commands: Commands
    stack: str
    period_s: float
    runs: list[Ran] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._loop, name="cron", daemon=True)
        self._thread.start()
        return self

    @deferred()
    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread:
            self._thread.join(timeout=30)

    def _loop(self) -> None:
        while not self._stop.wait(self.period_s - time.time() % self.period_s):
            self.runs.append(self.commands.warmline("prescale", "sync", "-s", self.stack, "-o", "json"))


def parsed(ran: Ran) -> Any:
    """Standard output as JSON."""
    return json.loads(ran.stdout)
