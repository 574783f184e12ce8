"""`python -m sandbox.balancer --dir DIR --port 8080 --admin-port 8081`: Envoy and what tells it where to send."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path

from lightkube import AsyncClient
from lightkube.resources.core_v1 import Pod, Service

from sandbox.balancer.config import BalancerPorts, write_files
from sandbox.balancer.endpoints import ServiceEndpoints, endpoints_of
from sandbox.balancer.process import running_envoy
from sandbox.control_plane.follow import Followed

_LOG = logging.getLogger("balancer")


class EndpointWriter:
    """Writes Envoy's endpoint files some time after the cluster changed, as a cloud balancer learns late."""

    def __init__(self, client: AsyncClient, directory: Path, propagation_s: float) -> None:
        """`propagation_s`: seconds between a pod's change and the balancer acting on it."""
        self.pods = Followed(client, Pod, lambda *_: self._changed())
        self.services = Followed(client, Service, lambda *_: self._changed())
        self._directory = directory
        self._propagation_s = propagation_s
        self._seen: list[ServiceEndpoints] | None = None

    def _changed(self) -> None:
        if not (self.pods.synced.is_set() and self.services.synced.is_set()):
            # Half a list would send all to half the pods.
            asyncio.get_running_loop().call_later(0.1, self._changed)
            return
        found = [endpoints_of(item, self.pods.objects.values()) for item in self.services.objects.values()]
        now = sorted((item for item in found if item), key=lambda item: item.host)
        if now != self._seen:
            self._seen = now
            asyncio.get_running_loop().call_later(self._propagation_s, self._write, now)

    def _write(self, services: list[ServiceEndpoints]) -> None:
        write_files(services, self._directory)
        _LOG.info("%s", ", ".join(f"{item.host}: {len(item.endpoints)}" for item in services) or "no services")


async def serve(directory: Path, ports: BalancerPorts, propagation_s: float) -> int:
    """Run until SIGTERM; 1 if Envoy ends by itself."""
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    writer = EndpointWriter(AsyncClient(), directory, propagation_s)
    async with running_envoy(ports, directory) as envoy:
        tasks = [asyncio.create_task(item) for item in (writer.pods.run(), writer.services.run())]
        stopped = asyncio.create_task(stopping.wait())
        ended = asyncio.create_task(envoy.wait())
        _LOG.info("http://127.0.0.1:%d, Envoy has pid %d", ports.requests, envoy.pid)
        await asyncio.wait({stopped, ended, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        for task in (stopped, ended, *tasks):
            task.cancel()
    return 0 if stopping.is_set() else 1


def main(argv: list[str]) -> int:
    """Needs KUBECONFIG."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.balancer", allow_abbrev=False)
    parser.add_argument("--dir", type=Path, required=True, help="for Envoy's files and log")
    parser.add_argument("--port", type=int, required=True, help="loopback port of requests")
    parser.add_argument("--admin-port", type=int, required=True, help="loopback port of Envoy's admin page")
    parser.add_argument("--propagation-s", type=float, default=1.0, help="balancer learns this late (default 1)")
    given = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    ports = BalancerPorts(given.port, given.admin_port)
    return asyncio.run(serve(given.dir.resolve(), ports, given.propagation_s))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
