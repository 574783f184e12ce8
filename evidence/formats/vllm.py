"""vLLM: `vllm bench serve --save-result` (or `--append-result`), and the folders of `vllm bench sweep`.

Since it counts `failed` it stretches the gaps between arrivals until all of them take as long as the rate says, and
writes `latencies` and `queue_times` of single requests into every result, unlike the rest of them.

Source: vllm-project/vllm `benchmarks/serve.py` @009e6d4, `benchmarks/sweep/serve.py` @0031557,
`benchmarks/datasets/custom.py` @237145e (`--num-prompts` of 0 or below); result files of 2025, which know neither
`failed` nor `latencies` and write `request_goodput:` with a colon.
"""

from __future__ import annotations

import math
import re
from pathlib import PurePath
from typing import Any

from capacity.sweeps.sweep import Arrivals, Latency, LatencyName, Point, StatedGoodput
from evidence.formats.bench_serving import METRICS, arrivals, column, per_request, requested_rps, statistics, tokens
from evidence.formats.fields import Fields, Key, Unusable
from evidence.formats.source import Byproduct, Format, Source

_LIMIT = re.compile(r"(ttft|tpot|e2el):(\d+(?:\.\d+)?)")

_SERVING: dict[str, list[Key]] = {
    "model.name": [("model_id",)],
    "tokenizer.name": [("tokenizer_id",)],
    # What `vllm bench sweep` changes at the server it merges into the result.
    "max_context_tokens": [("max_model_len",)],
    "parallelism.tensor": [("tensor_parallel_size",)],
    "parallelism.pipeline": [("pipeline_parallel_size",)],
    "parallelism.data": [("data_parallel_size",)],
    "precision.weights": [("quantization",)],
    "precision.kv_cache": [("kv_cache_dtype",)],
    "settings.max-num-seqs": [("max_num_seqs",)],
    "settings.max-num-batched-tokens": [("max_num_batched_tokens",)],
    "settings.gpu-memory-utilization": [("gpu_memory_utilization",)],
}

# The folders of `vllm bench sweep`: SERVE--max_num_seqs=64-BENCH--request_rate=4, WL--request_rate=4.
_COMBINATION = re.compile(r"(?:(SERVE-.*?)(?:-(?=BENCH-|WL-)|$))?(?:(?:BENCH|WL)-.*)?")


def _is_serve(document: dict[str, Any]) -> bool:
    return {"request_throughput", "duration", "completed", "backend", "num_prompts"} <= document.keys()


def _is_warmup(document: dict[str, Any]) -> bool:
    return _is_serve(document) and document.get("run_number") == -1


def _is_measured(document: dict[str, Any]) -> bool:
    return _is_serve(document) and not _is_warmup(document)


def _is_failure(document: dict[str, Any]) -> bool:
    return {"error_type", "error", "serve_overrides"} <= document.keys()


def _is_pytorch(document: dict[str, Any]) -> bool:
    return {"benchmark", "model", "metric"} <= document.keys() and isinstance(document["benchmark"], dict)


def _point(document: dict[str, Any], source: Source) -> Point:
    if document.get("ramp_up_strategy"):
        raise Unusable("its load ramps up (ramp_up_strategy), so it is no single load; measure one rate at a time")
    fields = Fields(document)
    keys = statistics(document)
    duration = fields.positive("duration_s", ("duration",))
    completed = fields.count("completed", ("completed",))
    failed, incomplete = _others(fields, completed)
    limit = fields.positive("concurrency_limit", ("max_concurrency",))
    rate = requested_rps(fields)
    is_even = rate is not None and document.get("burstiness") == math.inf

    def latency(name: LatencyName) -> Any:
        return fields.latency(name, keys.get(name, {}), per=1000)

    return Point(
        source.origin,
        "vllm",
        arrivals=_arrivals(fields, document, limit, duration),
        requested_rps=rate,
        achieved_rps=_achieved(fields, document),
        throughput_rps=fields.positive("throughput_rps", ("request_throughput",)),
        concurrency_limit=limit,
        burstiness=fields.positive("burstiness", ("burstiness",)) if rate and not is_even else None,
        is_evenly_spaced=is_even or None,
        is_rate_fitted=True if rate and "failed" in document else None,
        duration_s=duration,
        completed=completed,
        failed=failed,
        incomplete=incomplete,
        ttft=latency("ttft"),
        tpot=latency("tpot"),
        itl=latency("itl"),
        e2e=latency("e2e"),
        client_queue=latency("client_queue") or _client_queue(fields, document),
        input_tokens_per_s=tokens(fields, "input_tokens_per_s", "total_input_tokens", duration, "duration"),
        output_tokens_per_s=fields.positive("output_tokens_per_s", ("output_throughput",)),
        input_tokens_mean=tokens(fields, "input_tokens_mean", "total_input_tokens", completed, "completed"),
        output_tokens_mean=tokens(fields, "output_tokens_mean", "total_output_tokens", completed, "completed"),
        per_request=per_request(document, completed),
        goodput=_goodput(fields, document),
        configuration=fields.texts(_SERVING),
        keys=fields.keys,
    )


def _others(fields: Fields, completed: int | None) -> tuple[int | None, int | None]:
    """Requests that failed, and those of which nothing is said.

    Raises:
        Unusable: there are more of them than were sent.
    """
    failed = fields.count("failed", ("failed",))
    prompts = _prompts(fields)
    if prompts is None or completed is None:
        return failed, None
    rest = prompts - completed - (failed or 0)
    if rest < 0:
        ended = f"completed ({completed})" if failed is None else f"completed ({completed}) and failed ({failed})"
        raise Unusable(f"{ended} are more than num_prompts ({prompts}): every prompt is sent once")
    if failed is None:
        # And awaited; before `failed` was written, the rest was what failed.
        fields.keys["failed"] = "num_prompts - completed"
        return rest, None
    if rest == 0:
        return failed, None
    fields.keys["incomplete"] = "num_prompts - completed - failed"
    return failed, rest


def _prompts(fields: Fields) -> int | None:
    """How many were sent; 0 and below stands for all of a dataset, however many these are."""
    said = fields.document.get("num_prompts")
    is_all = isinstance(said, int) and said <= 0
    return None if is_all else fields.count_at(("num_prompts",))


def _arrivals(
    fields: Fields, document: dict[str, Any], limit: float | None, duration_s: float | None
) -> Arrivals | None:
    """As `request_rate` says; but a trace that is sent at its own times (`timed_trace`) has the rate of a burst."""
    said, starts = arrivals(fields, limit), column(document, "start_times")
    if said == "burst" and starts and duration_s and max(starts) - min(starts) > duration_s / 10:
        fields.keys["arrivals"] = "start_times"
        return "replay"
    return said


def _achieved(fields: Fields, document: dict[str, Any]) -> float | None:
    starts = column(document, "start_times")
    if not starts or max(starts) <= min(starts):
        return None
    words = "(len(start_times) - 1) / (last - first of start_times)"  # so many gaps lie between them
    return fields.derived("achieved_rps", (len(starts) - 1) / (max(starts) - min(starts)), words)


def _client_queue(fields: Fields, document: dict[str, Any]) -> Latency | None:
    """The mean wait of requests behind a limit, where single ones are all that the file has of it."""
    waits = column(document, "queue_times")
    if not waits or document.get("max_concurrency") is None or min(waits) < 0:
        return None
    return Latency(fields.derived("client_queue.mean", math.fsum(waits) / len(waits), "mean of queue_times"))


def _goodput(fields: Fields, document: dict[str, Any]) -> StatedGoodput | None:
    rps = fields.number("goodput", ("request_goodput",), ("request_goodput:",))
    if rps is None:
        return None
    # Only a sweep over the limits says them: it merges what it overrode into the result.
    said = document.get("goodput")
    pairs = [_LIMIT.fullmatch(pair) for pair in said if isinstance(pair, str)] if isinstance(said, list) else []
    return StatedGoodput(rps, {METRICS[pair[1]]: float(pair[2]) / 1000 for pair in pairs if pair})


def _sweep_folder(folder: str) -> str:
    """The experiment of a combination's folder, and below it the server's settings, which are a sweep each."""
    path = PurePath(folder)
    match = _COMBINATION.fullmatch(path.name)
    if not path.name or match is None:
        return folder
    return str(path.parent / match[1]) if match[1] else str(path.parent)


FORMATS = (Format("vLLM bench serve", _is_measured, _point, sweep_folder=_sweep_folder),)

BYPRODUCTS = (
    Byproduct("vLLM warm-up", _is_warmup, "a warm-up run (run_number -1)"),
    Byproduct("vLLM failure", _is_failure, "a run of the sweep that failed, without measurements"),
    Byproduct("vLLM PyTorch format", _is_pytorch, "the same results once more, for PyTorch's dashboards"),
)
