"""Time and memory of reading: `python -m tests.evidence.measure` writes docs/benchmarks/evidence.md."""

from __future__ import annotations

import argparse
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.evidence import made

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "evidence.md"
FILES, FOLDERS = 500, 10
LEAST_BYTES, MOST_BYTES = 10_000, 1_000_000
MAX_CPU_S, MAX_RSS_MIB = 5.0, 300.0

READ = "import sys, pathlib, evidence.files as f; e = f.read([pathlib.Path(sys.argv[1])]); \
print(sum(len(s.points) for s in e.sweeps), len(e.refused))"


def detailed(make: Callable[..., dict[str, Any]], number: int, size: int, rng: random.Random) -> dict[str, Any]:
    """A result with single requests, about `size` bytes of them."""
    gaps = 60
    requests = max(1, size // (20 * gaps + 60))
    return make(
        request_rate=1.0 + number,
        duration=60.0 + rng.random(),
        completed=requests,
        ttfts=[rng.random() for _ in range(requests)],
        itls=[[rng.random() / 50 for _ in range(gaps)] for _ in range(requests)],
        output_lens=[gaps + 1] * requests,
        errors=[""] * requests,
    )


def write_files(folder: Path, seed: int) -> int:
    """500 results in ten folders, evenly between 10 kB and 1 MB: vLLM's, SGLang's, AIPerf's in turn. Returns bytes."""
    rng = random.Random(seed)  # noqa: S311 - made data
    for number in range(FILES):
        size = rng.randint(LEAST_BYTES, MOST_BYTES)
        path = folder / f"sweep{number % FOLDERS}" / f"{number}.json"
        if number % 3 == 2:
            padding = {f"metric_{index}": {"unit": "ms", "avg": rng.random()} for index in range(size // 60)}
            made.write(path, made.aiperf_0_3(request_throughput={"unit": "requests/sec", "avg": 4 + number}, **padding))
        else:
            made.write(path, detailed((made.vllm_serve, made.sglang)[number % 3], number, size, rng))
    return sum(path.stat().st_size for path in folder.rglob("*.json"))


def run(command: list[str]) -> tuple[float, float, float, str]:
    """Wall seconds, CPU seconds, peak MiB and output of a whole process."""
    before = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - before, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output


def main(argv: list[str]) -> int:
    """Measure, write, exit 1 beyond the limits."""
    parser = argparse.ArgumentParser(prog="python -m tests.evidence.measure", allow_abbrev=False)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as directory:
        size = write_files(Path(directory), given.seed)
        wall_s, cpu_s, rss_mib, output = run([sys.executable, "-c", READ, directory])
    points, refused = output.split()
    is_within = cpu_s <= MAX_CPU_S and rss_mib <= MAX_RSS_MIB
    load = ", ".join(f"{item:.1f}" for item in os.getloadavg())
    text = f"""\
# Reading {FILES} result files

{datetime.now(UTC).date()} · {os.cpu_count()} cores, {_cpu_model()}, {platform.system()} {platform.release()} · \
Python {platform.python_version()}, orjson {version("orjson")} · seed {given.seed} · load average at the end {load}

    python -m tests.evidence.measure --seed {given.seed}

{FILES} files of 10 kB to 1 MB, {size / 1e6:.0f} MB together, in {FOLDERS} folders: results of vLLM and SGLang with
single requests, and of AIPerf. One process from start to end, imports included, on one core: on an idle machine the
clock shows its CPU time. A load average above the number of cores means that others were at work beside it.

| | measured | at most |
|---|---:|---:|
| CPU, s | {cpu_s:.1f} | {MAX_CPU_S:g} |
| clock, s | {wall_s:.1f} | |
| peak memory, MiB | {rss_mib:.0f} | {MAX_RSS_MIB:g} |
| points / refused | {points} / {refused} | |

{"Within the limits." if is_within else "**Beyond a limit.**"}
"""
    print(text)
    PAGE.write_text(text, encoding="utf-8")
    return 0 if is_within else 1


def _cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown CPU")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
