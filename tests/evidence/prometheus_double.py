"""A Prometheus on loopback that answers with what a made service would have left in it.

It knows the queries of `evidence.recording` by their form and the engine's names; it evaluates no PromQL.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from infra.dialects.vllm import VLLM

NAMES = VLLM.metrics
TTFT_BOUNDS = (0.25, 0.5, 0.75, 1.0, 2.5)
TOKEN_BOUNDS = (0.01, 0.025, 0.05)
REQUEST_BOUNDS = (1.0, 2.5, 5.0, 10.0, 15.0)
LENGTH_BOUNDS = (100.0, 200.0, 500.0, 1000.0, 2000.0)

Answer = Callable[[str, Mapping[str, str]], tuple[int, str]]


@dataclass
class Made:
    """A service under a steady load, all requests alike. growth: of what is in flight, in each second."""

    rps: float = 26.7
    duration_s: float = 7.8
    ttft_s: float = 0.58
    tpot_s: float = 0.018
    input_tokens: float = 1000
    output_tokens: float = 400
    replicas: int = 7
    growth: float = 0.0
    preemptions: float = 0.0
    ends: Mapping[str, float] = field(default_factory=lambda: {"length": 1.0})
    refused_rps: float | None = 0.0
    is_scraped: bool = True

    def answer(self, path: str, asked: Mapping[str, str]) -> tuple[int, str]:
        """As `/api/v1/query` and `/api/v1/query_range` do."""
        if not self.is_scraped:
            return 200, result([])
        query = asked["query"]
        stretch = float(found[1]) if (found := re.search(r"\[(\d+)s\]", query)) else 0
        if path.endswith("query_range"):
            begin, end, step = (int(asked[name]) for name in ("start", "end", "step"))
            moments = range(begin, end + 1, step)
            values = [
                [moment, repr(value)] for moment in moments if (value := self._at(query, stretch, moment)) is not None
            ]
            return 200, result([{"metric": {}, "values": values}] if values else [])
        moment = int(asked["time"])
        found_now = self._grown(query, stretch)
        return 200, result([{"metric": labels, "value": [moment, repr(value)]} for labels, value in found_now])

    @property
    def ended_rps(self) -> float:
        return self.rps - (self.refused_rps or 0) - self.growth

    def _at(self, query: str, stretch: float, moment: int) -> float | None:
        if query.startswith("count"):
            return self.replicas
        if NAMES.refused in query:
            return None if self.refused_rps is None else self.refused_rps * stretch
        if NAMES.finished in query:
            return self.ended_rps * stretch
        assert query.startswith(f"sum({NAMES.running}{{")
        return self.rps * self.duration_s + self.growth * (moment % 100_000)

    def _grown(self, query: str, stretch: float) -> list[tuple[dict[str, str], float]]:
        ended = self.ended_rps * stretch
        if NAMES.finished in query:
            return [({NAMES.finished_reason: how}, share * ended) for how, share in self.ends.items()]
        if NAMES.preemptions in query:
            return [({}, self.preemptions * ended)]
        if NAMES.refused in query:
            return [] if self.refused_rps is None else [({}, self.refused_rps * stretch)]
        for name, value, bounds in self._histograms():
            if f"{name}_sum{{" in query:
                return [({}, value * ended)]
            if f"{name}_bucket{{" in query:
                return [({"le": repr(bound)}, ended if value <= bound else 0.0) for bound in bounds] + [
                    ({"le": "+Inf"}, ended)
                ]
        return []

    def _histograms(self) -> Iterator[tuple[str, float, tuple[float, ...]]]:
        yield NAMES.ttft, self.ttft_s, TTFT_BOUNDS
        yield NAMES.tpot, self.tpot_s, TOKEN_BOUNDS
        yield NAMES.e2e, self.duration_s, REQUEST_BOUNDS
        yield NAMES.input_tokens, self.input_tokens, LENGTH_BOUNDS
        yield NAMES.output_tokens, self.output_tokens, LENGTH_BOUNDS


def result(elements: list[Any]) -> str:
    """A successful answer."""
    return json.dumps({"status": "success", "data": {"resultType": "any", "result": elements}})


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """The address of a server that answers with `answer(path, parameters)`: status and body."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            status, body = answer(parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()})
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
