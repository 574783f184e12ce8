"""GuideLLM: one report with a benchmark a load, as JSON or YAML.

Latencies are of `successful` requests only; where a run's end cuts many off, those that remain are the lucky ones, so
`incomplete` is counted. A distribution over no requests is written as zeros. `time_per_output_token_ms` includes the
first token; what others call TPOT is `inter_token_latency_ms`, a request's mean, weighted by its tokens.

Source: vllm-project/guidellm 0.3.0, 0.4.0 and 0.8.1 (`benchmark/schemas`, `scheduler/strategies.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from capacity.sweeps.sweep import Arrivals, Latency, LatencyName, Point, StatedGoodput
from evidence.formats.fields import Fields, Key, found
from evidence.formats.source import Format, Source

_ARRIVALS: dict[str, Arrivals] = {
    "synchronous": "closed",
    "concurrent": "closed",
    "constant": "open",
    "poisson": "open",
    "trace": "replay",
}
_RANKS = {"p001": 0.1, "p01": 1.0, "p05": 5.0, "p999": 99.9} | {
    f"p{rank}": float(rank) for rank in (10, 25, 50, 75, 90, 95, 99)
}
_LIMITS: dict[LatencyName, str] = {"ttft": "ttft_ms", "tpot": "tpot_ms", "e2e": "e2el_ms"}

# 0.3 kept the strategy with the arguments, later versions with the configuration.
_STRATEGIES: tuple[Key, ...] = (("config", "strategy"), ("args", "strategy"))

_SERVING: dict[str, list[Key]] = {
    "model.name": [("config", "backend", "model"), ("worker", "backend_model")],
}
_REPORT: dict[str, list[Key]] = {
    "model.name": [("config", "spec", "backend", "model"), ("args", "model")],
    "tokenizer.name": [("config", "spec", "tokenizer", "model"), ("args", "processor")],
}


def _is_report(document: dict[str, Any]) -> bool:
    benchmarks = document.get("benchmarks")
    return isinstance(benchmarks, list) and any(_is_benchmark(benchmark) for benchmark in benchmarks)


def _is_benchmark(benchmark: Any) -> bool:
    return found(benchmark, ("metrics", "request_latency", "successful")) is not None


def _benchmarks(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, benchmark in enumerate(document["benchmarks"]):
        yield f"benchmarks[{index}]", benchmark if isinstance(benchmark, dict) else {}


def _point(benchmark: dict[str, Any], source: Source) -> Point:
    fields = Fields(benchmark)
    strategy = next((key for key in _STRATEGIES if found(benchmark, key) is not None), _STRATEGIES[0])
    kind = str(found(benchmark, (*strategy, "type_")))
    totals: Key = ("metrics", "request_totals")
    limit = fields.positive("concurrency_limit", (*strategy, "streams"), (*strategy, "max_concurrency"))
    if kind == "synchronous":
        limit = fields.derived("concurrency_limit", 1.0, "a synchronous strategy has one stream")
    version = found(source.document, ("metadata", "guidellm_version"))
    return Point(
        source.origin,
        "guidellm",
        arrivals=_arrivals(kind, limit),
        is_evenly_spaced={"constant": True, "poisson": False}.get(kind),
        tool_version=str(version) if version else None,
        requested_rps=fields.positive("requested_rps", (*strategy, "rate")),
        throughput_rps=_mean(fields, "throughput_rps", "requests_per_second"),
        concurrency_limit=limit,
        concurrency=_mean(fields, "concurrency", "request_concurrency", "total"),
        duration_s=fields.positive("duration_s", ("duration",)),
        completed=fields.count("completed", (*totals, "successful"), ("request_totals", "successful")),
        failed=fields.count("failed", (*totals, "errored"), ("request_totals", "errored")),
        incomplete=fields.count("incomplete", (*totals, "incomplete"), ("request_totals", "incomplete")),
        ttft=_latency(fields, "ttft", "time_to_first_token_ms", 1000),
        tpot=_latency(fields, "tpot", "inter_token_latency_ms", 1000),
        e2e=_latency(fields, "e2e", "request_latency", 1),
        client_queue=_latency(fields, "client_queue", "request_dispatch_delay", 1),
        input_tokens_per_s=_mean(fields, "input_tokens_per_s", "prompt_tokens_per_second"),
        output_tokens_per_s=_mean(fields, "output_tokens_per_s", "output_tokens_per_second"),
        input_tokens_mean=_mean(fields, "input_tokens_mean", "prompt_token_count"),
        output_tokens_mean=_mean(fields, "output_tokens_mean", "output_token_count"),
        goodput=_goodput(fields),
        configuration=Fields(source.document).texts(_REPORT) | fields.texts(_SERVING),
        keys=fields.keys,
    )


def _arrivals(kind: str, limit: float | None) -> Arrivals | None:
    if kind == "throughput":
        return "burst" if limit is None else "closed"
    return _ARRIVALS.get(kind)


def _mean(fields: Fields, field: str, metric: str, status: str = "successful") -> float | None:
    return fields.positive(field, ("metrics", metric, status, "mean"))


def _latency(fields: Fields, name: LatencyName, metric: str, per: float) -> Latency | None:
    place: Key = ("metrics", metric, "successful")
    if not found(fields.document, (*place, "count")):
        return None  # zeros over no requests
    statistics = {"mean": (*place, "mean")} | fields.below(*place, "percentiles")
    return fields.latency(name, statistics, per=per, rank=_RANKS.get)


def _goodput(fields: Fields) -> StatedGoodput | None:
    rps = fields.number("goodput", ("metrics", "request_goodput", "successful", "mean"))
    if rps is None:
        return None
    limits = {}
    for name, key in _LIMITS.items():
        limit = fields.positive(f"goodput.{name}", ("config", "slo", key), per=1000)
        if limit is not None:
            limits[name] = limit
    return StatedGoodput(rps, limits)


FORMATS = (Format("GuideLLM", _is_report, _point, results=_benchmarks),)

BYPRODUCTS = ()
