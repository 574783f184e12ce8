"""inference-perf: one `stage_N_lifecycle_metrics.json` a stage, and the configuration of the run in YAML beside them.

A load of type `constant` is no even one: its gaps are drawn at random, and stretched until the stage has its rate.

Source: kubernetes-sigs/inference-perf 0.2.0 and @7de5ef2 (`reportgen/base.py`, `config`, `loadgen/load_timer.py`),
which adds `benchmark_time_seconds`, `load_summary.concurrency` and `goodput_metrics` and calls `prompt_len`
`prompt_tokens`; a run of it with vLLM 0.11 (demos/kubecon-na-2025).
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from capacity.sweeps.sweep import Arrivals, LatencyName, Point, StatedGoodput
from evidence.formats.fields import Fields, Key, found
from evidence.formats.source import Byproduct, Format, Skipped, Source

_LATENCY: Key = ("successes", "latency")
_THROUGHPUT: Key = ("successes", "throughput")

_LIMITS: dict[str, LatencyName] = {"ttft": "ttft", "tpot": "tpot", "request_latency": "e2e"}

_SERVING: dict[str, list[Key]] = {
    "model.name": [("server", "model_name")],
    "tokenizer.name": [("tokenizer", "pretrained_model_name_or_path")],
    "runtime.name": [("server", "type")],
}


def _is_lifecycle(document: dict[str, Any]) -> bool:
    return isinstance(document.get("load_summary"), dict) and "successes" in document and "failures" in document


def _is_stage(document: dict[str, Any]) -> bool:
    return _is_lifecycle(document) and "requested_rate" in document["load_summary"]


def _is_configuration(document: dict[str, Any]) -> bool:
    # Some files say everything, some only what is not the default; a load and a server are in all that ran.
    return isinstance(document.get("load"), dict) and isinstance(document.get("server"), dict)


def _is_request(document: dict[str, Any]) -> bool:
    return {"start_time", "end_time", "request", "response"} <= document.keys()


def _is_sessions(document: dict[str, Any]) -> bool:
    return {"num_sessions", "sessions_per_second"} <= document.keys()


def _point(document: dict[str, Any], source: Source) -> Point:
    if PurePath(source.origin.file).name.startswith("adapter_"):  # nothing in it says so
        raise Skipped("one adapter's share of a stage; the stage's file holds all")
    fields = Fields(document)
    configuration = source.beside(_is_configuration) or {}
    load = found(configuration, ("load",)) or {}
    completed = fields.count("completed", ("successes", "count"))
    throughput = fields.positive("throughput_rps", (*_THROUGHPUT, "requests_per_sec"))
    concurrency = fields.positive("concurrency_limit", ("load_summary", "concurrency"))
    arrivals = _arrivals(load, is_closed=concurrency is not None)
    if concurrency is None:
        concurrency = _client_limit(fields, load)
    # A closed loop's stage has a rate that nobody asked for.
    rates: list[Key] = [] if arrivals == "closed" else [("load_summary", "requested_rate")]
    duration = fields.positive("duration_s", ("benchmark_time_seconds",))
    if duration is None and completed and throughput:
        # 0.2 divided by the time from the first start to the last end, and did not write it down.
        words = "successes.count / successes.throughput.requests_per_sec"
        duration = fields.derived("duration_s", completed / throughput, words)
    return Point(
        source.origin,
        "inference-perf",
        arrivals=arrivals,
        is_rate_fitted=True if load.get("type") == "constant" else None,
        requested_rps=fields.positive("requested_rps", *rates),
        achieved_rps=fields.positive("achieved_rps", ("load_summary", "achieved_rate")),
        throughput_rps=throughput,
        concurrency_limit=concurrency,
        duration_s=duration,
        completed=completed,
        failed=fields.count("failed", ("failures", "count")),
        ttft=fields.latency("ttft", fields.below(*_LATENCY, "time_to_first_token")),
        tpot=fields.latency("tpot", fields.below(*_LATENCY, "time_per_output_token")),
        itl=fields.latency("itl", fields.below(*_LATENCY, "inter_token_latency")),
        e2e=fields.latency("e2e", fields.below(*_LATENCY, "request_latency")),
        client_queue=fields.latency("client_queue", fields.below("load_summary", "schedule_delay")),
        input_tokens_per_s=fields.positive("input_tokens_per_s", (*_THROUGHPUT, "input_tokens_per_sec")),
        output_tokens_per_s=fields.positive("output_tokens_per_s", (*_THROUGHPUT, "output_tokens_per_sec")),
        input_tokens_mean=fields.positive(
            "input_tokens_mean", ("successes", "prompt_len", "mean"), ("successes", "prompt_tokens", "mean")
        ),
        output_tokens_mean=fields.positive("output_tokens_mean", ("successes", "output_len", "mean")),
        goodput=_goodput(fields, configuration),
        configuration=Fields(configuration).texts(_SERVING),
        keys=fields.keys,
    )


def _arrivals(load: dict[str, Any], *, is_closed: bool) -> Arrivals:
    kind = str(load.get("type", ""))
    if is_closed or kind == "concurrent":
        return "closed"
    return "replay" if kind.startswith("trace") else "open"


def _goodput(fields: Fields, configuration: dict[str, Any]) -> StatedGoodput | None:
    """As the tool counted it, by limits in seconds that the configuration beside it has."""
    rps = fields.number("goodput", ("successes", "goodput_metrics", "request_goodput"))
    if rps is None:
        return None
    said = found(configuration, ("report", "goodput", "constraints"))
    if not isinstance(said, dict) or not said.keys() <= _LIMITS.keys():
        return StatedGoodput(rps, {})  # a limit on something that a point has not: the rest alone would be another
    limits = {_LIMITS[name]: Fields(said).positive(name, (name,)) for name in said}
    return StatedGoodput(rps, {name: limit for name, limit in limits.items() if limit is not None})


def _client_limit(fields: Fields, load: dict[str, Any]) -> float | None:
    """Requests the client's workers hold at most; above it an open loop becomes a closed one without a word."""
    workers, each = load.get("num_workers"), load.get("worker_max_concurrency")
    if not (isinstance(workers, int) and isinstance(each, int)) or workers * each <= 0:
        return None
    words = "load.num_workers x load.worker_max_concurrency of the configuration beside it"
    return fields.derived("concurrency_limit", float(workers * each), words)


FORMATS = (Format("inference-perf", _is_stage, _point),)

BYPRODUCTS = (
    Byproduct("inference-perf summary", _is_lifecycle, "it pools all stages, so it is no single load"),
    Byproduct("inference-perf requests", _is_request, "single requests; the stages' files sum them up"),
    Byproduct("inference-perf sessions", _is_sessions, "sessions, not requests"),
    Byproduct("inference-perf configuration", _is_configuration, "read together with the results beside it"),
)
