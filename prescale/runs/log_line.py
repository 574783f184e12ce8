"""One line of JSON for each run over a stack, for whatever gathers logs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from whenever import Instant

from prescale.runs.report import RunReport, ServiceReport

LEVELS = {0: "info", 1: "warning"}


def log_line(report: RunReport) -> str:
    """The line, with its end. Times are RFC 3339 in UTC, durations seconds; null is what was not looked at."""
    data = {
        "time": _utc(report.at),
        "level": LEVELS.get(report.exit_code, "error"),
        "stack": report.stack,
        "calendar": report.calendar,
        "namespace": report.namespace,
        "exit_code": report.exit_code,
        "duration_s": round(report.duration_s, 3),
        "api_calls": report.api_calls,
        "last_success": _utc(report.last_success),
        "services": [_service(each, report.at) for each in report.services],
        "findings": list(report.findings),
    }
    line = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    # A typed name may be any bytes: half a surrogate is no UTF-8, and JSON writes it as Python does.
    return line.encode(errors="backslashreplace").decode() + "\n"


def append(path: Path, line: str) -> None:
    """Add the line in one write: two runs at once do not mix theirs.

    Raises:
        OSError: it cannot be written.
    """
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


def _service(each: ServiceReport, at: Instant) -> dict[str, Any]:
    starts_in_s = None if each.starts_at is None else round((each.starts_at - at).total("seconds"))
    return {
        "service": each.service,
        "floor_wanted": each.floor_wanted,
        "floor_in_force": each.floor_in_force,
        "ready": each.ready,
        "seconds_to_start": starts_in_s,
        "floor_until": _utc(each.until),
        "events": list(each.events),
    }


def _utc(moment: Instant | None) -> str | None:
    return None if moment is None else moment.format_iso()
