"""vLLM: `vllm bench serve --save-result` (or `--append-result`), and the folders of `vllm bench sweep`.

Source: vllm-project/vllm `benchmarks/serve.py` @009e6d4, `benchmarks/sweep/serve.py` @0031557; result files of 2025,
which know neither `failed` nor `latencies` and write `request_goodput:` with a colon.
"""

from __future__ import annotations

import math
import re
from pathlib import PurePath
from typing import Any

from capacity.sweep import Arrivals, LatencyName, PerRequest, Point, StatedGoodput
from evidence.fields import Fields, Key, Unusable, found
from evidence.source import Byproduct, Format, Source

_METRICS: dict[str, LatencyName] = {
    "ttft": "ttft",
    "tpot": "tpot",
    "itl": "itl",
    "e2el": "e2e",
    "client_queue_time": "client_queue",
}
_STATISTIC = re.compile(r"(mean|median|p[\d.]+)_(" + "|".join(_METRICS) + r")_ms")

_LIMIT = re.compile(r"(ttft|tpot|e2el):(\d+(?:\.\d+)?)")

_SERVING: dict[str, list[Key]] = {"model.name": [("model_id",)], "tokenizer.name": [("tokenizer_id",)]}

# The folders of `vllm bench sweep`: SERVE--max_num_seqs=64-BENCH--request_rate=4, WL--request_rate=4.
_COMBINATION = re.compile(r"(?:(SERVE-.*?)(?:-(?=BENCH-|WL-)|$))?(?:(?:BENCH|WL)-.*)?")


def _is_serve(document: dict[str, Any]) -> bool:
    return {"request_throughput", "duration", "completed", "backend"} <= document.keys() and "num_prompts" in document


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
    statistics = _statistics(document)
    duration = fields.positive("duration_s", ("duration",))
    completed = fields.count("completed", ("completed",))
    rate, limit = _rate(fields), fields.positive("concurrency_limit", ("max_concurrency",))
    per_request = _per_request(document, completed)

    def latency(metric: str) -> Any:
        return fields.latency(_METRICS[metric], statistics.get(metric, {}), per=1000)

    def ratio(field: str, total: str, over: float | None, name: str) -> float | None:
        tokens = fields.positive(field, (total,))
        return fields.derived(field, tokens / over, f"{total} / {name}") if tokens and over else None

    return Point(
        source.origin,
        "vllm",
        arrivals=_arrivals(rate, limit),
        requested_rps=None if math.isinf(rate or 0) else rate,
        achieved_rps=_achieved(fields, document),
        throughput_rps=fields.positive("throughput_rps", ("request_throughput",)),
        concurrency_limit=limit,
        burstiness=fields.positive("burstiness", ("burstiness",)) if rate and math.isfinite(rate) else None,
        duration_s=duration,
        completed=completed,
        failed=_failed(fields, completed),
        ttft=latency("ttft"),
        tpot=latency("tpot"),
        itl=latency("itl"),
        e2e=latency("e2el"),
        client_queue=latency("client_queue_time"),
        input_tokens_per_s=ratio("input_tokens_per_s", "total_input_tokens", duration, "duration"),
        output_tokens_per_s=fields.positive("output_tokens_per_s", ("output_throughput",)),
        input_tokens_mean=ratio("input_tokens_mean", "total_input_tokens", completed, "completed"),
        output_tokens_mean=ratio("output_tokens_mean", "total_output_tokens", completed, "completed"),
        per_request=per_request,
        goodput=_goodput(fields, document),
        configuration=fields.texts(_SERVING),
        keys=fields.keys,
    )


def _statistics(document: dict[str, Any]) -> dict[str, dict[str, Key]]:
    """`p99.9_ttft_ms` -> {"ttft": {"p99.9": its key}}. p50 has no key of its own: it is `median`."""
    found_in: dict[str, dict[str, Key]] = {}
    for key in document:
        if match := _STATISTIC.fullmatch(key):
            found_in.setdefault(match[2], {})[match[1]] = (key,)
    return found_in


def _rate(fields: Fields) -> float | None:
    if fields.document.get("request_rate") in {"inf", math.inf}:
        fields.keys["arrivals"] = "request_rate"
        return math.inf
    return fields.positive("requested_rps", ("request_rate",))


def _arrivals(rate: float | None, limit: float | None) -> Arrivals | None:
    if rate is None:
        return None
    if math.isfinite(rate):
        return "open"
    return "burst" if limit is None else "closed"


def _failed(fields: Fields, completed: int | None) -> int | None:
    failed = fields.count("failed", ("failed",))
    prompts = fields.document.get("num_prompts")
    if failed is not None or completed is None or not isinstance(prompts, int) or prompts < completed:
        return failed
    # Every prompt is sent once and awaited; before `failed` was written, the rest was what failed.
    fields.keys["failed"] = "num_prompts - completed"
    return prompts - completed


def _achieved(fields: Fields, document: dict[str, Any]) -> float | None:
    starts = _column(document, "start_times")
    if not starts or len(starts) < 2 or max(starts) <= min(starts):
        return None
    words = "len(start_times) / (last - first of start_times)"
    return fields.derived("achieved_rps", len(starts) / (max(starts) - min(starts)), words)


def _column(document: dict[str, Any], key: str) -> list[float] | None:
    values = document.get(key)
    if not isinstance(values, list) or not all(isinstance(value, int | float) for value in values):
        return None
    if not all(math.isfinite(value) for value in values):
        raise Unusable(f"{key} holds NaN or infinity")
    return values


def _per_request(document: dict[str, Any], completed: int | None) -> PerRequest | None:
    """The completed requests of `--save-detailed`, in seconds. A failed one has no end, so its latency is 0."""
    ttft, lengths, latencies = (_column(document, key) for key in ("ttfts", "output_lens", "latencies"))
    gaps = document.get("itls")
    if latencies is None and ttft is not None and isinstance(gaps, list) and len(gaps) == len(ttft):
        latencies = [first + math.fsum(rest) for first, rest in zip(ttft, gaps, strict=True)]
    if latencies is None:
        return None
    errors = document.get("errors") or [""] * len(latencies)
    done = [index for index, seconds in enumerate(latencies) if seconds > 0 and not found(errors, (index,))]
    if len(done) != completed or not done:
        return None
    e2e = tuple(latencies[index] for index in done)
    if ttft is None or len(ttft) != len(latencies):
        return PerRequest(e2e_s=e2e)
    first = tuple(ttft[index] for index in done)
    if lengths is None or len(lengths) != len(latencies):
        return PerRequest(ttft_s=first, e2e_s=e2e)
    # As vLLM counts goodput: one token has no next one to wait for.
    tokens = [lengths[index] for index in done]
    tpot = tuple((e - f) / (n - 1) if n > 1 else 0.0 for e, f, n in zip(e2e, first, tokens, strict=True))
    return PerRequest(first if any(first) else None, tpot if any(first) else None, e2e)


def _goodput(fields: Fields, document: dict[str, Any]) -> StatedGoodput | None:
    rps = fields.number("goodput", ("request_goodput",), ("request_goodput:",))
    if rps is None:
        return None
    # Only a sweep over the limits says them: it merges what it overrode into the result.
    said = document.get("goodput")
    pairs = [_LIMIT.fullmatch(pair) for pair in said if isinstance(pair, str)] if isinstance(said, list) else []
    return StatedGoodput(rps, {_METRICS[pair[1]]: float(pair[2]) / 1000 for pair in pairs if pair})


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
