"""What a benchmark ran on."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def description() -> str:
    """Cores, processor, memory and kernel, as a benchmark's page names them."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = (line.partition(":")[2].strip() for line in lines if "model name" in line)
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    model = next(models, platform.machine())
    return f"{os.cpu_count()} cores of {model}, {memory_gib:.0f} GiB, Linux {platform.release()}"
