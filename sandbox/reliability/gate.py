"""A proxy on loopback before the real API server: counts calls, kills the run at its n-th write, shifts the clock."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate, parsedate_to_datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from subprocess import Popen
from typing import Literal

from sandbox.layout import HOST
from sandbox.places import CONTEXT, write_private

WRITES = {"DELETE", "PATCH", "POST", "PUT"}
Side = Literal["before", "after"]
SIDES: tuple[Side, ...] = ("before", "after")

# What is between two neighbours only; the length is told anew, the body passed on as it came.
_HOP = {"connection", "content-length", "date", "keep-alive", "transfer-encoding"}


@dataclass(frozen=True)
class Kill:
    """SIGKILL at the n-th write, counted from 1: `before` the API server hears of it, or `after` it was applied and
    before the answer gets back.
    """

    write: int
    side: Side


class StartLine:
    """Where the first call of each of `runs` runs waits for the others, so that all read the same state."""

    # Less than what the client waits for an answer.
    PATIENCE_S = 8.0

    def __init__(self, runs: int, go: Callable[[], None]) -> None:
        """`go` is called once, when all are there or one has waited for long enough."""
        self._missing = runs
        self._go: Callable[[], None] | None = go
        self._changed = threading.Condition()

    def wait(self) -> None:
        with self._changed:
            self._missing -= 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._missing <= 0 or self._go is None, self.PATIENCE_S)
            if self._go:
                self._go()
                self._go = None
                self._changed.notify_all()


@dataclass(frozen=True)
class Call:
    """The n-th call of a run, counted from 1; `target` is its path with the query."""

    number: int
    command: str
    target: str


@dataclass
class Gate:
    """What one run met on its way: `calls` so far, how many of them were `writes`, and `conflicts` among those.

    `victim` takes the process to kill, `killed` says that it came to that. `before_call` is called before a call is
    passed on, which waits for it.
    """

    kubeconfig: Path
    before_call: Callable[[Call], None] | None = None
    calls: int = 0
    writes: int = 0
    conflicts: int = 0
    killed: bool = False
    victim: Queue[Popen[str]] = field(default_factory=Queue)
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def gate(
    admin: Path,
    folder: Path,
    kill: Kill | None = None,
    *,
    server_ahead_s: int = 0,
) -> Iterator[Gate]:
    """Open a gate for one run: its kubeconfig leads here, and here are the credentials it does not get.

    Args:
        admin: kubeconfig of the real API server.
        server_ahead_s: added to every Date the API server sends.
    """

    class Bound(_Handler):
        pass

    server = _Server((HOST, 0), Bound)
    port = server.server_address[1]
    opened = Gate(_kubeconfig(folder / f"gate-{port}", f"http://{HOST}:{port}"))
    Bound.upstream, Bound.gate, Bound.kill, Bound.server_ahead_s = _Upstream(admin), opened, kill, server_ahead_s
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield opened
    finally:
        server.shutdown()
        server.server_close()
        opened.kubeconfig.unlink()


def _kubeconfig(path: Path, address: str) -> Path:
    entry = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": CONTEXT,
        "clusters": [{"name": CONTEXT, "cluster": {"server": address}}],
        "users": [{"name": "run", "user": {}}],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": "run"}}],
    }
    return write_private(path, json.dumps(entry))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A run that was killed or gave up does not take its answer: that is no fault of the gate's."""


class _Upstream:
    """The real API server and the administrator's credentials."""

    def __init__(self, admin: Path) -> None:
        data = json.loads(admin.read_text())
        cluster, user = data["clusters"][0]["cluster"], data["users"][0]["user"]
        self.address = cluster["server"].removeprefix("https://")
        self.token = user["token"]
        authority = b64decode(cluster["certificate-authority-data"]).decode()
        self.context = ssl.create_default_context(cadata=authority)

    def connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self.address, context=self.context, timeout=30)


class _Handler(BaseHTTPRequestHandler):
    """One connection of the run's client, and one to the API server."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    upstream: _Upstream
    gate: Gate
    kill: Kill | None
    server_ahead_s: int
    connection_up: http.client.HTTPSConnection

    def setup(self) -> None:
        super().setup()
        self.connection_up = self.upstream.connect()

    def finish(self) -> None:
        self.connection_up.close()
        super().finish()

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        side = self._counted()
        if side == "before":
            self._slay()
            return
        answer = self._asked(body)
        self.gate.conflicts += answer.status == HTTPStatus.CONFLICT
        if "watch=" in self.path and answer.status == HTTPStatus.OK:
            self._pass_on_as_it_comes(answer)
            return
        content = answer.read()
        if side == "after":
            self._slay()
            return
        self._begin(answer)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _begin(self, answer: http.client.HTTPResponse) -> None:
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in _HOP:
                self.send_header(name, value)
        if date := answer.getheader("Date"):
            moment = parsedate_to_datetime(date).timestamp() + self.server_ahead_s
            self.send_header("Date", formatdate(moment, usegmt=True))

    def _pass_on_as_it_comes(self, answer: http.client.HTTPResponse) -> None:
        """A watch: it has no length, and ends with its connection."""
        self._begin(answer)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.flush()
        while piece := answer.read1():
            self.wfile.write(piece)
            self.wfile.flush()
        self.close_connection = True

    do_GET = do_PATCH = do_POST = do_PUT = do_DELETE = _pass  # noqa: N815 - the base class's names

    def _counted(self) -> Side | None:
        """Where this call is to be the run's last, if it is."""
        with self.gate.lock:
            self.gate.calls += 1
            call = Call(self.gate.calls, self.command, self.path)
            is_write = self.command in WRITES
            self.gate.writes += is_write
            nth = self.gate.writes
        if self.gate.before_call:
            self.gate.before_call(call)
        return self.kill.side if is_write and self.kill and nth == self.kill.write else None

    def _asked(self, body: bytes) -> http.client.HTTPResponse:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in {*_HOP, "host"}}
        headers["Authorization"] = f"Bearer {self.upstream.token}"
        self.connection_up.request(self.command, self.path, body or None, headers)
        return self.connection_up.getresponse()

    def _slay(self) -> None:
        """End the run before it can see that this connection ends."""
        victim = self.gate.victim.get(timeout=10)
        self.gate.killed = True
        victim.kill()
        victim.wait(timeout=10)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass
