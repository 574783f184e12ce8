"""Ask a component whether it is well, and wait until it is."""

from __future__ import annotations

import ssl
import time
import urllib.error
import urllib.request
from http import HTTPStatus
from pathlib import Path

from sandbox.faults import SandboxError
from sandbox.processes.process import Process, is_running

_POLL_S = 0.1
_LAST_LINES = 8


def is_well(process: Process, ca: Path, timeout_s: float = 2.0) -> bool:
    """Runs, and its health address (when it has one) answers 200."""
    if not is_running(process):
        return False
    if not process.health:
        return True
    context = None
    try:
        if process.health.startswith("https:"):
            context = ssl.create_default_context(cafile=str(ca))
        # The sandbox is on this machine: a proxy for the outside world has no say here.
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        with opener.open(process.health, timeout=timeout_s) as answer:
            return bool(answer.status == HTTPStatus.OK)
    except (OSError, urllib.error.URLError, ssl.SSLError):
        return False


def wait_well(process: Process, ca: Path, patience_s: float) -> None:
    """Wait until it is well.

    Raises:
        SandboxError: it ended, or was not well in time; carries the last lines of its log.
    """
    until = time.monotonic() + patience_s
    while not is_well(process, ca):
        if not is_running(process):
            raise SandboxError(f"{process.name} ended while starting. {last_lines(process)}")
        if time.monotonic() > until:
            raise SandboxError(f"{process.name} was not ready after {patience_s:.0f} s. {last_lines(process)}")
        time.sleep(_POLL_S)


def last_lines(process: Process) -> str:
    """The end of its log, with where the rest is."""
    try:
        lines = Path(process.log).read_text(errors="replace").splitlines()[-_LAST_LINES:]
    except OSError:
        lines = []
    return f"Its log, {process.log}, ends:\n" + "\n".join(f"    {line[:300]}" for line in lines)
