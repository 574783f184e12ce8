"""InferenceX (formerly InferenceMAX): aggregates of vLLM-like results, one a concurrency.

Latencies are in seconds and bare of a unit (`p99_ttft`); every load is a closed loop of `conc` requests; throughput is
given by the GPU. Only aggregates of agents' traces say how many requests completed, and the whole throughput; none says
how long it took.

Source: SemiAnalysisAI/InferenceX `utils/process_result.py`, and its database's metric keys.
"""

from __future__ import annotations

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


def _is_aggregate(document: dict[str, Any]) -> bool:
    return {"conc", "hw"} <= document.keys() and ("tput_per_gpu" in document or "output_tput_tps" in document)


def _point(document: dict[str, Any], source: Source) -> Point:
    fields = Fields(document)
    keys = statistics(document, suffix="")
    gpus, decoding = _gpus(fields)
    completed = fields.count("completed", ("num_requests_successful",))

    def latency(name: LatencyName) -> Any:
        return fields.latency(name, keys.get(name, {}))

    def tokens_per_s(name: str, over: int | None) -> float | None:
        field = f"{name}_tokens_per_s"
        whole = fields.positive(field, (f"{name}_tput_tps",))
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
    total = fields.count_at(("num_requests_total",))
    if total is None or completed is None or total < completed:
        return None
    fields.keys["failed"] = "num_requests_total - num_requests_successful"
    return total - completed


def _gpus(fields: Fields) -> tuple[int | None, int | None]:
    """All GPUs, and those that generate tokens, by which the aggregate divided its output."""
    if not found(fields.document, ("is_multinode",)):
        tensor = fields.count("gpus", ("tp",)) or None
        return tensor, tensor
    prefill = fields.count("gpus", ("num_prefill_gpu",))
    decode = fields.count("gpus", ("num_decode_gpu",))
    if prefill is None or decode is None or not prefill + decode:
        return None, None
    fields.keys["gpus"] = "num_prefill_gpu + num_decode_gpu"
    return prefill + decode, decode or prefill


FORMATS = (Format("InferenceX aggregate", _is_aggregate, _point, is_secondhand=True),)

BYPRODUCTS = ()
