"""What the kernel says of a process: CPU seconds and memory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """CPU seconds since the process began, resident memory in MiB."""

    cpu_s: float
    rss_mib: float


def use_of(pid: int) -> ProcessUse:
    """Read it from /proc.

    Raises:
        OSError: no such process.
    """
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    resident_pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    cpu_ticks = int(fields[11]) + int(fields[12])
    return ProcessUse(cpu_ticks / _TICKS_PER_S, resident_pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
