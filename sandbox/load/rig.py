"""Engine doubles behind Envoy without any cluster, to measure doubles and generator alone."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from sandbox.balancer.config import BalancerPorts, write_files
from sandbox.balancer.endpoints import Endpoint, ServiceEndpoints
from sandbox.balancer.process import running_envoy

MODEL = "support-bot"
PORTS = BalancerPorts(18090, 18091)
_REPOSITORY = Path(__file__).resolve().parents[2]
_SAMPLE = re.compile(r"^(?P<name>[a-zA-Z_:]+)\{(?P<labels>[^}]*)\} (?P<value>\S+)$", re.MULTILINE)
_EDGE = re.compile(r'le="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Rig:
    """What runs: pids by what they are, and where requests go."""

    url: str
    envoy_pid: int
    engine_pids: tuple[int, ...]
    addresses: tuple[Endpoint, ...]


@asynccontextmanager
async def rig(
    engines: int, directory: Path, *, ports: BalancerPorts = PORTS, network: str = "127.10.250"
) -> AsyncIterator[Rig]:
    """`engines` doubles on `network`.2 and up, one Envoy on `ports`.

    Raises:
        RuntimeError: an engine or Envoy did not start.
    """
    addresses = tuple(Endpoint(f"{network}.{number + 2}", 8000) for number in range(engines))
    started = [await _engine(item) for item in addresses]
    service = ServiceEndpoints("selfcheck", MODEL, addresses)
    try:
        for item in addresses:
            await _listening(item)
        async with running_envoy(ports, directory, [service]) as envoy:
            write_files([service], directory)
            yield Rig(f"http://127.0.0.1:{ports.requests}", envoy.pid, tuple(item.pid for item in started), addresses)
    finally:
        for process in started:
            if process.returncode is None:
                process.terminate()
        await asyncio.gather(*(process.wait() for process in started))


async def _engine(address: Endpoint) -> asyncio.subprocess.Process:
    own = ["--pod-ip", address.address, "--timing", json.dumps({"start_s": 0.1})]
    vllm = ["--served-model-name", MODEL, "--max-num-seqs", "64", "--port", str(address.port)]
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "sandbox.engine", *own, "--die-with-parent", str(os.getpid()), "--", *vllm),
        cwd=_REPOSITORY,
        stderr=asyncio.subprocess.DEVNULL,
    )


async def _listening(address: Endpoint) -> None:
    for _ in range(100):
        try:
            await page(address, "/health")
        except OSError:
            await asyncio.sleep(0.1)
        else:
            return
    raise RuntimeError(f"engine double on {address.address}:{address.port} does not listen after 10 s")


async def page(address: Endpoint, path: str) -> str:
    """GET a page of one engine."""
    reader, writer = await asyncio.open_connection(address.address, address.port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
        return (await reader.read()).decode().partition("\r\n\r\n")[2]
    finally:
        writer.close()


async def engine_samples(addresses: tuple[Endpoint, ...]) -> Counter[str]:
    """Sum over all engines: `name` to value, for histogram buckets `name/le`."""
    total: Counter[str] = Counter()
    for text in await asyncio.gather(*(page(item, "/metrics") for item in addresses)):
        for sample in _SAMPLE.finditer(text):
            edge = _EDGE.search(sample["labels"])
            total[f"{sample['name']}/{edge[1]}" if edge else sample["name"]] += float(sample["value"])  # type: ignore[assignment]
    return total


def histogram_percentile_s(samples: Counter[str], name: str, pct: float) -> float:
    """The upper edge of the bucket that holds the percentile."""
    prefix = f"{name}_bucket/"
    buckets = sorted(
        (float(key.removeprefix(prefix).replace("+Inf", "inf")), count)
        for key, count in samples.items()
        if key.startswith(prefix)
    )
    wanted = buckets[-1][1] * pct / 100
    return next(edge for edge, count in buckets if count >= wanted)
