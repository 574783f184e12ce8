"""llm-d-benchmark's report, 0.1 to 0.2: other tools' results converted, every statistic with its unit.

Its converters err here and there (AIPerf's failures are counted by kind), so a native file beside it counts instead.

Source: llm-d/llm-d-benchmark `benchmark_report/schema_v0_1.py`, `schema_v0_2.py` @08e0c22, `br_v0_2_example.yaml`;
`native_to_br0_2.py` @8bc9f1d, which writes nothing but `requests` where all failed, and vLLM's rate as it is, infinite.
"""

from __future__ import annotations

import math
import re
from typing import Any

from capacity.sweeps.sweep import Arrivals, Latency, LatencyName, Point
from evidence.formats.fields import Fields, Key, Unusable, dotted, found, units_per_second
from evidence.formats.source import Format, Source

_METRICS: dict[LatencyName, str] = {
    "ttft": "time_to_first_token",
    "tpot": "time_per_output_token",
    "itl": "inter_token_latency",
    "e2e": "request_latency",
}
_LOAD: Key = ("scenario", "load", "standardized")
# 0.2 and 0.1.
_AGGREGATE: Key = ("results", "request_performance", "aggregate")
_METRICS_0_1: Key = ("metrics",)

_DURATION = re.compile(r"P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?")

_ENGINE = {
    "model.name": ("model", "name"),
    "parallelism.tensor": ("accelerator", "parallelism", "tp"),
    "parallelism.pipeline": ("accelerator", "parallelism", "pp"),
    "parallelism.expert": ("accelerator", "parallelism", "ep"),
    "parallelism.data": ("accelerator", "parallelism", "dp"),
    "runtime.name": ("tool",),
    "runtime.version": ("tool_version",),
    "gpu.type": ("accelerator", "model"),
}
_SERVING_0_1: dict[str, list[Key]] = {
    "model.name": [("scenario", "model", "name")],
    "precision.weights": [("scenario", "model", "quantization")],
    "parallelism.tensor": [("scenario", "host", "accelerator", 0, "parallelism", "tp")],
    "runtime.name": [("scenario", "platform", "engine", 0, "name")],
    "runtime.version": [("scenario", "platform", "engine", 0, "version")],
    "gpu.type": [("scenario", "host", "accelerator", 0, "model")],
}


def _is_report(document: dict[str, Any]) -> bool:
    old = _METRICS_0_1 if "version" in document and "scenario" in document else ("no report",)
    said = ((*place, part) for place in (_AGGREGATE, old) for part in ("latency", "requests"))
    return any(found(document, key) is not None for key in said)


def _point(document: dict[str, Any], source: Source) -> Point:
    fields = Fields(document)
    place = _AGGREGATE if found(document, _AGGREGATE) is not None else _METRICS_0_1
    tool = str(found(document, (*_LOAD, "tool")) or found(document, ("scenario", "load", "name")) or "unknown tool")
    requests: Key = (*place, "requests")
    completed, failed, incomplete = _counts(fields, requests, tool)
    rate = _finite(fields, "requested_rps", "rate_qps")
    bounded = _finite(fields, "concurrency_limit", "concurrency")
    is_unbounded = any(found(document, (*_LOAD, name)) == math.inf for name in ("rate_qps", "concurrency"))

    def latency(name: LatencyName) -> Latency | None:
        return _latency(fields, name, (*place, "latency", _METRICS[name]))

    def throughput(field: str, *names: str) -> float | None:
        # A statistic in 0.2, a bare number in 0.1.
        keys = [key for name in names for key in ((*place, "throughput", name, "mean"), (*place, "throughput", name))]
        return fields.positive(field, *(key for key in keys if not isinstance(found(document, key), dict)))

    return Point(
        source.origin,
        f"{tool} by llm-d-benchmark",
        arrivals=_arrivals(rate, bounded, is_unbounded=is_unbounded),
        tool_version=_text(found(document, (*_LOAD, "tool_version"))),
        requested_rps=rate,
        throughput_rps=throughput("throughput_rps", "request_rate", "requests_rate", "requests_per_sec"),
        concurrency_limit=bounded,
        duration_s=_duration(fields),
        completed=completed,
        failed=failed,
        incomplete=incomplete,
        ttft=latency("ttft"),
        tpot=latency("tpot"),
        itl=latency("itl"),
        e2e=latency("e2e"),
        input_tokens_per_s=throughput("input_tokens_per_s", "input_token_rate", "input_tokens_per_sec"),
        output_tokens_per_s=throughput("output_tokens_per_s", "output_token_rate", "output_tokens_per_sec"),
        input_tokens_mean=fields.positive("input_tokens_mean", (*requests, "input_length", "mean")),
        output_tokens_mean=fields.positive("output_tokens_mean", (*requests, "output_length", "mean")),
        configuration=_configuration(fields),
        keys=fields.keys,
    )


def _counts(fields: Fields, requests: Key, tool: str) -> tuple[int | None, int | None, int | None]:
    """Requests completed, failed and incomplete. Without the failures, the total says nothing of the completed."""
    total = fields.count_at((*requests, "total"))
    incomplete = fields.count("incomplete", (*requests, "incomplete"))
    failed = None if tool == "aiperf" else fields.count("failed", (*requests, "failures"))
    if total is None or failed is None:
        return None, failed, incomplete
    completed = total - failed - (incomplete or 0)
    if completed < 0:
        raise Unusable(f"{dotted(requests)}: more failed and incomplete than the total of {total}")
    fields.keys["completed"] = f"{dotted(requests)}: total - failures - incomplete"
    return completed, failed, incomplete


def _finite(fields: Fields, field: str, name: str) -> float | None:
    key = (*_LOAD, name)
    return None if found(fields.document, key) == math.inf else fields.positive(field, key)


def _arrivals(rate: float | None, bounded: float | None, *, is_unbounded: bool) -> Arrivals | None:
    if rate is not None:
        return "open"
    if bounded is not None:
        return "closed"
    return "burst" if is_unbounded else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _latency(fields: Fields, name: LatencyName, key: Key) -> Latency | None:
    unit = found(fields.document, (*key, "units"))
    if unit is None:
        return None
    return fields.latency(name, fields.below(*key), per=units_per_second(unit, str(key[-1])))


def _duration(fields: Fields) -> float | None:
    said = found(fields.document, ("run", "time", "duration"))
    match = _DURATION.fullmatch(said) if isinstance(said, str) else None
    if match is None:
        return fields.positive("duration_s", ("metrics", "time", "duration"))
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return fields.derived("duration_s", total or None, "run.time.duration")


def _configuration(fields: Fields) -> dict[str, str]:
    stack = found(fields.document, ("scenario", "stack"))
    for index in range(len(stack) if isinstance(stack, list) else 0):
        component: Key = ("scenario", "stack", index)
        kinds = (found(fields.document, (*component, group, "kind")) for group in ("standardized", "metadata"))
        if "inference_engine" in kinds:
            return fields.texts({name: [(*component, "standardized", *key)] for name, key in _ENGINE.items()})
    return fields.texts(_SERVING_0_1)


FORMATS = (Format("llm-d-benchmark report", _is_report, _point, is_secondhand=True),)

BYPRODUCTS = ()
