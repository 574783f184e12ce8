"""Play a schedule against one address and write down every request."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import resource
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

from sandbox.load.record import LoadSummary, RequestRecord, percentile, summary_of
from sandbox.load.schedule import Phase, arrivals_s, length_s, phases_from, rate_at
from sandbox.load.stream import StreamClient, completion_request

DEFAULT_PROMPT_TOKENS, DEFAULT_OUTPUT_TOKENS = 1000, 400
MAX_LATENESS_P99_S = 0.05
"""A run whose p99 of sent minus scheduled is above this was not open loop and proves nothing."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go and what they ask for."""

    host: str
    port: int
    path: str
    host_header: str
    model: str
    prompt_tokens: int = DEFAULT_PROMPT_TOKENS
    output_tokens: int = DEFAULT_OUTPUT_TOKENS
    timeout_s: float = 300.0


@dataclass(slots=True)
class LoadRun:
    """A run and what came of it."""

    summary: LoadSummary
    records: list[RequestRecord]
    cpu_s: float
    wall_s: float

    @property
    def is_open_loop(self) -> bool:
        """Whether requests left when they were due."""
        return not self.records or self.summary.lateness_p99_s <= MAX_LATENESS_P99_S


def target_from(url: str, model: str, host_header: str = "") -> Target:
    """Target of a URL such as http://127.0.0.1:8080/v1/completions; the path may be left out.

    Raises:
        ValueError: not http, or not a loopback address: the generator is for this machine only.
    """
    parts = urlsplit(url)
    try:
        is_loopback = ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        is_loopback = parts.hostname == "localhost"
    if parts.scheme != "http" or not is_loopback:
        raise ValueError(f"url: got {url!r}, expected http:// and a loopback address")
    host = "127.0.0.1" if parts.hostname == "localhost" else str(parts.hostname)
    path = parts.path.rstrip("/")
    if not path.endswith("/completions"):
        path = f"{path.removesuffix('/v1')}/v1/completions"
    return Target(host, parts.port or 80, path, host_header or parts.netloc, model)


def run(
    schedule: Sequence[tuple[float, float]],
    url: str,
    model: str,
    out: Path | None,
    *,
    seed: int = 1,
    host_header: str = "",
    progress: TextIO | None = None,
) -> LoadRun:
    """Play `[(seconds, rps), ...]` as a Poisson process; blocks until the last answer.

    Args:
        schedule: phases one after the other.
        url: loopback address of the balancer.
        model: served model name.
        out: JSONL file to write a record to as each request ends; its folder must exist. None writes none.
        seed: same seed, same arrivals.
        host_header: `<service>.<namespace>`, what the balancer routes by; empty = the URL's own.
        progress: where a line goes every five seconds.
    """
    target = target_from(url, model, host_header)
    return asyncio.run(play(phases_from(schedule), target, out, seed=seed, progress=progress))


async def play(
    phases: Sequence[Phase], target: Target, out: Path | None, *, seed: int, progress: TextIO | None = None
) -> LoadRun:
    """Like `run`, inside a running event loop. Cancelling it writes what is known and ends the open streams."""
    file = out.open("w", buffering=1) if out else None
    before = _cpu_s()
    player = _Player(phases, target, file)
    try:
        await player.play(arrivals_s(phases, seed), progress)
    finally:
        await player.stop()
        if file:
            file.close()
    played_s = min(length_s(phases), player.now_s())
    finished = LoadRun(summary_of(player.records, played_s), player.records, _cpu_s() - before, player.now_s())
    if out:
        out.with_suffix(".summary.json").write_text(json.dumps(asdict(finished.summary), indent=2) + "\n")
    return finished


@dataclass(slots=True)
class _Player:
    phases: Sequence[Phase]
    target: Target
    file: TextIO | None
    records: list[RequestRecord] = field(default_factory=list)
    _open: set[asyncio.Task[None]] = field(default_factory=set)
    _began_s: float = field(default_factory=time.monotonic)
    _began_at: float = field(default_factory=time.time)

    def now_s(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began_s

    async def play(self, arrivals: Sequence[float], progress: TextIO | None) -> None:
        """Start each request when it is due, never waiting for an answer; then wait for the rest."""
        loop = asyncio.get_running_loop()
        reporter = loop.create_task(self._report(progress)) if progress else None
        request = completion_request(
            self.target.host_header,
            self.target.path,
            self.target.model,
            self.target.prompt_tokens,
            self.target.output_tokens,
        )
        try:
            for due_s in arrivals:
                if (wait_s := due_s - self.now_s()) > 0:
                    await asyncio.sleep(wait_s)
                task = loop.create_task(self._one(due_s, request))
                self._open.add(task)
                task.add_done_callback(self._open.discard)
            if (rest_s := length_s(self.phases) - self.now_s()) > 0:
                await asyncio.sleep(rest_s)
            while self._open:
                await asyncio.wait(self._open)
        finally:
            if reporter:
                reporter.cancel()

    async def stop(self) -> None:
        """End what is still open; each leaves its record."""
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _one(self, due_s: float, request: bytes) -> None:
        client = StreamClient(request, self.now_s)
        error = ""
        try:
            async with asyncio.timeout(self.target.timeout_s):
                loop = asyncio.get_running_loop()
                await loop.create_connection(lambda: client, self.target.host, self.target.port)
                await client.closed
        except TimeoutError:
            error = "timeout"
        except OSError as failure:
            error = f"connect: {failure.strerror or failure}"
        except asyncio.CancelledError:
            error = "stopped"
            raise
        finally:
            if client.transport is not None:
                client.transport.abort()
            self._keep(_record_of(client, due_s, self.now_s(), error, self._began_at))

    def _keep(self, record: RequestRecord) -> None:
        self.records.append(record)
        if self.file:
            self.file.write(record.as_line())

    async def _report(self, progress: TextIO) -> None:
        seen = 0
        while True:
            await asyncio.sleep(5)
            recent, seen = self.records[seen:], len(self.records)
            ttft = percentile((item.ttft_s for item in recent if item.ttft_s is not None), 95)
            failed = sum(bool(item.error) for item in self.records)
            late = percentile((item.sent_s - item.scheduled_s for item in recent), 99)
            progress.write(
                f"load {self.now_s():6.0f} s  {rate_at(self.phases, self.now_s()):5.1f} rps  "
                f"open {len(self._open):4d}  "
                f"done {seen:5d}  failed {failed:3d}  TTFT p95 {ttft:5.2f} s  "
                f"late p99 {late * 1000:4.1f} ms\n"
            )
            progress.flush()


def _record_of(client: StreamClient, due_s: float, end_s: float, error: str, began_at: float) -> RequestRecord:
    sent_s = client.sent_s if client.sent_s is not None else end_s
    if client.is_complete:
        end_s, error = client.last_s or end_s, ""
    elif not error:
        error = f"http {client.status}" if client.status not in (0, 200) else "cut" if client.status else "no answer"
    tokens = client.tokens
    tpot_s = None
    if client.is_complete and client.first_s is not None and client.last_s is not None and tokens > 1:
        tpot_s = (client.last_s - client.first_s) / (tokens - 1)
    return RequestRecord(
        scheduled_s=due_s,
        sent_s=sent_s,
        started_at=began_at + sent_s,
        ttft_s=None if client.first_s is None else client.first_s - sent_s,
        tpot_s=tpot_s,
        tokens=tokens,
        e2e_s=end_s - sent_s,
        status=client.status,
        error=error,
        cut=error == "cut",
    )


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
