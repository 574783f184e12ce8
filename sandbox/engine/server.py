"""Sockets and signals of the engine double."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from typing import cast

from sandbox.engine.arguments import EngineArguments
from sandbox.engine.service import EngineService, Generation, RequestRefusedError, refusal
from sandbox.engine.timing import EngineTiming
from sandbox.engine.wire import error, parse_head, response
from sandbox.processes.priority import go_first

_COMPLETIONS = {"/v1/completions": False, "/v1/chat/completions": True}


class Connection(asyncio.Protocol):
    """One client connection: requests one after the other, keep-alive."""

    def __init__(self, service: EngineService, open_connections: set[Connection]) -> None:
        """`open_connections` is shared by all, so that an abort can cut them."""
        self._service = service
        self._open = open_connections
        self._received = b""
        self._generation: Generation | None = None
        self._keep_alive = True
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the transport."""
        self.transport = cast("asyncio.Transport", transport)
        self._open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """A client that leaves cancels its request."""
        self._open.discard(self)
        if self._generation is not None:
            self._service.cancel(self._generation)
            self._generation = None

    def data_received(self, data: bytes) -> None:
        """Collect until a request is whole."""
        self._received += data
        self._next_request()

    def cut(self) -> None:
        """End the connection in the middle of whatever it sends."""
        if self.transport is not None:
            self.transport.close()

    def _next_request(self) -> None:
        while self._generation is None and (end := self._received.find(b"\r\n\r\n")) >= 0:
            try:
                head = parse_head(self._received[:end])
            except ValueError as failure:
                self._send(error(400, str(failure)))
                self.cut()
                return
            if head.is_chunked:
                self._send(error(411, "the double reads bodies with a content-length only"))
                self.cut()
                return
            body_start = end + 4
            if len(self._received) < body_start + head.body_bytes:
                return
            body = self._received[body_start : body_start + head.body_bytes]
            self._received = self._received[body_start + head.body_bytes :]
            self._keep_alive = head.keep_alive
            self._dispatch(head.method, head.path, body)

    def _dispatch(self, method: str, path: str, body: bytes) -> None:
        is_chat = _COMPLETIONS.get(path)
        if is_chat is None:
            self._send(self._page(path))
        elif method != "POST":
            self._send(error(405, "Method Not Allowed"))
        else:
            self._generate(body, is_chat=is_chat)
        if self._generation is None and not self._keep_alive:
            self.cut()

    def _page(self, path: str) -> bytes:
        if path in ("/health", "/ping"):
            return response(200, b"")
        if path == "/metrics":
            return response(200, self._service.metrics_text().encode(), "text/plain; version=0.0.4; charset=utf-8")
        if path == "/version":
            return response(200, b'{"version":"0.33.0+double"}')
        if path == "/v1/models":
            arguments = self._service.arguments
            listed = [
                {"id": name, "object": "model", "owned_by": "vllm", "max_model_len": arguments.max_model_len}
                for name in arguments.model_names
            ]
            return response(200, json.dumps({"object": "list", "data": listed}).encode())
        return error(404, "Not Found")

    def _generate(self, body: bytes, *, is_chat: bool) -> None:
        try:
            generation = self._service.admit(body, is_chat=is_chat)
        except RequestRefusedError as failure:
            self._send(refusal(failure))
            return
        generation.write = self._send
        generation.on_end = self._ended
        self._generation = generation
        self._service.begin(generation)

    def _ended(self) -> None:
        self._generation = None
        if not self._keep_alive:
            self.cut()
        elif self._received:
            asyncio.get_running_loop().call_soon(self._next_request)

    def _send(self, data: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)


def bind_address(arguments: EngineArguments, pod_ip: str) -> tuple[str, int]:
    """Where the double listens: on the pod's own address, unless the manifest binds loopback.

    Inside a real pod 127.0.0.1 is the pod's own and no probe reaches it. Here it is everybody's, so the double takes a
    port nobody asks: the same manifest fault has the same effect, a pod that never gets ready.
    """
    if arguments.host in ("127.0.0.1", "localhost", "::1"):
        return "127.0.0.1", 0
    return pod_ip, arguments.port


async def serve(arguments: EngineArguments, timing: EngineTiming, pod_ip: str) -> int:
    """Load, listen, answer until SIGTERM, drain; returns the exit code."""
    needed = arguments.gpus_needed
    if timing.gpus and needed > timing.gpus:
        _log(f"the arguments ask for {needed} GPUs, the container has {timing.gpus}")
        return 1
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    try:
        await asyncio.wait_for(stopping.wait(), timing.start_s)
    except TimeoutError:
        pass
    else:
        return 0
    go_first()
    service = EngineService(arguments, timing)
    connections: set[Connection] = set()
    host, port = bind_address(arguments, pod_ip)
    try:
        server = await loop.create_server(lambda: Connection(service, connections), host, port, backlog=512)
    except OSError as failure:
        _log(f"cannot listen on {host}:{port}: {failure}")
        return 1
    _log(f"{arguments.model_names[0]} listens on {host}:{port}")
    await stopping.wait()
    await _drain(service, arguments.shutdown_timeout_s)
    server.close()
    cut = service.abort_all()
    for connection in list(connections):
        connection.cut()
    _log(f"stopped, {cut} request(s) cut")
    await asyncio.sleep(0)
    return 0


async def _drain(service: EngineService, timeout_s: float) -> None:
    """New requests get 503; those in flight may finish within `timeout_s`. 0 is vLLM's default: no drain."""
    service.is_draining = True
    if timeout_s <= 0 or not service.in_flight:
        return
    _log(f"drains {service.in_flight} request(s) for at most {timeout_s:g} s")
    idle = asyncio.Event()
    service.on_idle = idle.set
    try:
        await asyncio.wait_for(idle.wait(), timeout_s)
    except TimeoutError:
        return


def _log(message: str) -> None:
    clock = time.strftime("%H:%M:%S", time.gmtime())
    sys.stderr.write(f"{clock}Z engine double: {message}\n")
    sys.stderr.flush()
