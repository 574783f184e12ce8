"""SGLang: `bench_serving`, which appends one JSON line a run.

Source: sgl-project/sglang `benchmark/serving.py` @00f9ec4, `benchmark/metrics.py` @1291c7f, whose totals have shorter
names, and `bench_serving.py` of 2025. An infinite rate is a bare `Infinity`. Nothing says how many requests failed,
unless single requests are written (`--output-details`); where none completed, the latencies are NaN.
"""

from __future__ import annotations

from typing import Any

from capacity.sweeps.sweep import LatencyName, Point
from evidence.formats.bench_serving import arrivals, per_request, requested_rps, statistics, tokens
from evidence.formats.fields import Fields, Key
from evidence.formats.source import Format, Source

# `server_info` holds the server's own arguments, among much else; in front of split prefill and decode, a list of them.
_SERVERS: tuple[Key, ...] = (("server_info",), ("server_info", "decode", 0))
_ARGUMENTS = {
    "model.name": "model_path",
    "model.revision": "revision",
    "tokenizer.name": "tokenizer_path",
    "max_context_tokens": "context_length",
    "parallelism.tensor": "tp_size",
    "parallelism.pipeline": "pp_size",
    "parallelism.expert": "ep_size",
    "parallelism.data": "dp_size",
    "precision.weights": "quantization",
    "precision.kv_cache": "kv_cache_dtype",
    "chat_template": "chat_template",
    "speculative_decoding": "speculative_algorithm",
    "runtime.version": "version",
    "settings.max-running-requests": "max_running_requests",
    "settings.chunked-prefill-size": "chunked_prefill_size",
    "settings.mem-fraction-static": "mem_fraction_static",
}
_SERVING = {name: [(*server, argument) for server in _SERVERS] for name, argument in _ARGUMENTS.items()}


_RETOKENIZED = {"total_output_tokens_retokenized", "total_output_retokenized"}


def _is_serving(document: dict[str, Any]) -> bool:
    return {"request_throughput", "duration", "completed"} <= document.keys() and not _RETOKENIZED.isdisjoint(document)


def _point(document: dict[str, Any], source: Source) -> Point:
    fields = Fields(document)
    duration = fields.positive("duration_s", ("duration",))
    completed = fields.count("completed", ("completed",))
    keys = statistics(document) if completed != 0 else {}
    limit = fields.positive("concurrency_limit", ("max_concurrency",))
    configuration = fields.texts(_SERVING)
    if configuration:
        configuration["runtime.name"] = "sglang"

    def latency(name: LatencyName) -> Any:
        return fields.latency(name, keys.get(name, {}), per=1000)

    return Point(
        source.origin,
        "sglang",
        arrivals=arrivals(fields, limit),
        requested_rps=requested_rps(fields),
        throughput_rps=fields.positive("throughput_rps", ("request_throughput",)),
        concurrency_limit=limit,
        concurrency=fields.positive("concurrency", ("concurrency",)),
        duration_s=duration,
        completed=completed,
        failed=_failed(fields, document),
        ttft=latency("ttft"),
        tpot=latency("tpot"),
        itl=latency("itl"),
        e2e=latency("e2e"),
        input_tokens_per_s=fields.positive("input_tokens_per_s", ("input_throughput",)),
        output_tokens_per_s=fields.positive("output_tokens_per_s", ("output_throughput",)),
        input_tokens_mean=_tokens_mean(fields, "input", completed),
        output_tokens_mean=_tokens_mean(fields, "output", completed),
        per_request=per_request(document, completed),
        configuration=configuration,
        keys=fields.keys,
    )


def _tokens_mean(fields: Fields, side: str, completed: int | None) -> float | None:
    names = (f"total_{side}_tokens", f"total_{side}")
    name = next((name for name in names if name in fields.document), names[0])
    return tokens(fields, f"{side}_tokens_mean", name, completed, "completed")


def _failed(fields: Fields, document: dict[str, Any]) -> int | None:
    errors = document.get("errors")
    if not isinstance(errors, list):
        return fields.count("failed", ("failed",))
    fields.keys["failed"] = "errors that are not empty"
    return sum(bool(error) for error in errors)


FORMATS = (Format("SGLang bench_serving", _is_serving, _point),)

BYPRODUCTS = ()
