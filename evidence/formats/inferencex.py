"""InferenceX (formerly InferenceMAX): aggregates of vLLM-like results, one a concurrency.

Latencies are in seconds and bare of a unit (`p99_ttft`); every load is a closed loop of `conc` requests; throughput is
given by the GPU. Only aggregates of agents' traces say how many requests completed, how long it took and the whole
throughput: old ones in flat keys, new ones below `request_metrics`. What they count in all has the warm-up in it.

Source: SemiAnalysisAI/InferenceX @843c625 `utils/process_result.py`, `utils/agentic/aggregation`, and its database's
metric keys.
"""

from __future__ import annotations

import math
from typing import Any

from capacity.sweeps.sweep import LatencyName, Point
from evidence.formats.bench_serving import statistics
from evidence.formats.fields import Fields, Key, found
from evidence.formats.source import Format, Source

_SERVING: dict[str, list[Key]] = {
    "model.name": [("model",)],
    "precision.weights": [("precision",)],
    "parallelism.tensor": [("tp",)],
    "parallelism.pipeline": [("pp",)],
    "parallelism.expert": [("ep",)],
    "speculative_decoding": [("spec_decoding",)],
    "runtime.name": [("framework",)],
    "runtime.image": [("image",)],
    "gpu.type": [("hw",)],
}


_LATENCY: Key = ("request_metrics", "latency")
_THROUGHPUT: Key = ("request_metrics", "throughput")
_NAMES: dict[LatencyName, str] = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e": "e2el"}


def _is_aggregate(document: dict[str, Any]) -> bool:
    throughput = {"tput_per_gpu", "output_tput_tps"}
    is_nested = isinstance(found(document, _LATENCY), dict)
    return {"conc", "hw"} <= document.keys() and (is_nested or not throughput.isdisjoint(document))


def _point(document: dict[str, Any], source: Source) -> Point:
    fields = Fields(document)
    keys = statistics(document, suffix="")
    gpus, decoding = _gpus(fields)
    completed = fields.count("completed", ("num_requests_successful",))

    def latency(name: LatencyName) -> Any:
        return fields.latency(name, keys.get(name) or fields.below(*_LATENCY, _NAMES[name]))

    def tokens_per_s(name: str, over: int | None) -> float | None:
        field = f"{name}_tokens_per_s"
        whole = fields.positive(field, (f"{name}_tput_tps",), (*_THROUGHPUT, name, "tokens_per_second"))
        if whole is not None:
            return whole
        rate = fields.at((f"{name}_tput_per_gpu",))
        return fields.derived(field, rate * over, f"{name}_tput_per_gpu x its GPUs") if rate and over else None

    prefilling = None if gpus is None or decoding is None else (gpus - decoding or gpus)
    return Point(
        source.origin,
        "inferencex",
        arrivals="closed",
        concurrency_limit=fields.positive("concurrency_limit", ("conc",)),
        duration_s=fields.positive("duration_s", ("duration_seconds",), (*_THROUGHPUT, "duration_seconds")),
        completed=completed,
        failed=_failed(fields, completed),
        ttft=latency("ttft"),
        tpot=latency("tpot"),
        itl=latency("itl"),
        e2e=latency("e2e"),
        input_tokens_per_s=tokens_per_s("input", prefilling),
        output_tokens_per_s=tokens_per_s("output", decoding),
        gpus=gpus,
        configuration=fields.texts(_SERVING),
        keys=fields.keys,
    )


def _failed(fields: Fields, completed: int | None) -> int | None:
    counted = fields.count("failed", ("request_accounting", "records_error_dropped"))
    if counted is not None:
        return counted
    total = fields.count_at(("num_requests_total",))
    if total is None or completed is None or total < completed:
        return None
    fields.keys["failed"] = "num_requests_total - num_requests_successful"
    return total - completed


_SIZES = ("tp", "pp", "pcp_size")
"""GPUs of one node: decode context parallelism runs on those of the tensor parallelism."""


def _gpus(fields: Fields) -> tuple[int | None, int | None]:
    """All GPUs, and those that generate tokens, by which the aggregate divided its output."""
    if not found(fields.document, ("is_multinode",)):
        sizes = [fields.count_at((size,)) for size in _SIZES]
        gpus = math.prod(size for size in sizes if size is not None) if sizes[0] else None
        if gpus:
            fields.keys["gpus"] = " x ".join(size for size in _SIZES if size in fields.document)
        return gpus or None, gpus or None
    prefill = fields.count("gpus", ("num_prefill_gpu",))
    decode = fields.count("gpus", ("num_decode_gpu",))
    if prefill is None or decode is None or not prefill + decode:
        return None, None
    fields.keys["gpus"] = "num_prefill_gpu + num_decode_gpu"
    return prefill + decode, decode or prefill


FORMATS = (Format("InferenceX aggregate", _is_aggregate, _point, is_secondhand=True),)

BYPRODUCTS = ()
