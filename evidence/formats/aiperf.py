"""AIPerf and its ancestor GenAI-Perf: one file a run, every metric with its unit.

`request_count` counts successes only. `inter_token_latency` is a request's mean, so what others call TPOT;
`inter_chunk_latency` is the time between chunks. `effective_*` and `adj_*` are reckoned otherwise and not read.

Where all requests failed, there is a count of errors and no metric of an answer.

Source: ai-dynamo/aiperf 0.3.0 and 0.13.0 (`exporters/metrics_json_exporter.py`, `config/phases.py` @0205ea1,
`timing/request_rate_strategy.py`, `orchestrator/orchestrator.py`), triton-inference-server/perf_analyzer @263c5f6,
genai-perf 0.0.16 (`json_exporter.py`; `docs/cli.md`: requests at a rate are evenly spaced unless asked otherwise).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from capacity.sweeps.sweep import Arrivals, Latency, LatencyName, Point, StatedGoodput
from evidence.formats.aiperf_records import as_later, as_written
from evidence.formats.fields import Fields, Key, Unusable, found, units_per_second
from evidence.formats.source import Byproduct, Format, Source

_METRICS: dict[LatencyName, str] = {
    "ttft": "time_to_first_token",
    "tpot": "inter_token_latency",
    "itl": "inter_chunk_latency",
    "e2e": "request_latency",
    "client_queue": "credit_to_start_latency",
}
_ARRIVALS: dict[str, Arrivals] = {
    "concurrency": "closed",
    "poisson": "open",
    "gamma": "open",
    "constant": "open",
    "fixed_schedule": "replay",
}
_CONFIG = "input_config"
_RAMPS = ("rate_ramp", "rate_series", "concurrency_ramp")
_SERVING: dict[str, list[Key]] = {
    "model.name": [
        (_CONFIG, "models", "items", 0, "name"),
        (_CONFIG, "endpoint", "model_names", 0),
        (_CONFIG, "model_names", 0),
    ],
    "tokenizer.name": [(_CONFIG, "tokenizer", "name")],
}
_RUN = re.compile(r"profile_runs|(run|trial)_\d+")


def _is_profile(document: dict[str, Any]) -> bool:
    document = as_later(document)
    answered = all(_is_metric(document, name) for name in ("request_latency", "request_throughput"))
    return answered or (_is_metric(document, "error_request_count") and isinstance(document.get(_CONFIG), dict))


def _is_metric(document: dict[str, Any], name: str) -> bool:
    return isinstance(found(document, (name, "unit")), str)


def _is_aggregate(document: dict[str, Any]) -> bool:
    return "aggregation_type" in document or isinstance(document.get("timeslices"), list)


def _is_request(document: dict[str, Any]) -> bool:
    return found(document, ("metadata", "request_start_ns")) is not None and "metrics" in document


def _is_inputs(document: dict[str, Any]) -> bool:
    return any(found(document, ("data", 0, name)) is not None for name in ("payloads", "payload"))


def _is_server(document: dict[str, Any]) -> bool:
    return any(name in document for name in ("metrics_phase", "telemetry_source_url"))


def _is_perf_analyzer(document: dict[str, Any]) -> bool:
    return {"experiments", "service_kind"} <= document.keys()


def _point(written: dict[str, Any], source: Source) -> Point:
    document = as_later(written)
    fields = Fields(document)
    is_ancestor = found(document, (_CONFIG, "perf_analyzer")) is not None
    throughput = fields.positive("throughput_rps", ("request_throughput", "avg"))
    completed = fields.count("completed", ("request_count", "avg"))
    failed = _failed(fields, document)
    if completed is None and failed and not _is_metric(document, "request_latency"):
        fields.keys["completed"] = "no request_latency beside error_request_count"
        completed = 0
    duration = fields.positive("duration_s", ("benchmark_duration", "avg"), per=_per(document, "benchmark_duration"))
    if duration is None and completed and throughput:
        words = "request_count.avg / request_throughput.avg"
        duration = fields.derived("duration_s", completed / throughput, words)
    load = _stimulus(fields) if is_ancestor else _load(fields)
    version = document.get("aiperf_version")
    return Point(
        source.origin,
        "genai-perf" if is_ancestor else "aiperf",
        arrivals=load.arrivals,
        tool_version=str(version) if version else None,
        requested_rps=load.rps,
        throughput_rps=throughput,
        concurrency_limit=load.limit,
        burstiness=load.burstiness,
        is_evenly_spaced=load.is_even,
        concurrency=fields.positive("concurrency", ("effective_concurrency", "avg")),
        duration_s=duration,
        completed=completed,
        failed=failed,
        ttft=_latency(fields, "ttft"),
        tpot=_latency(fields, "tpot"),
        itl=_latency(fields, "itl"),
        e2e=_latency(fields, "e2e"),
        client_queue=_latency(fields, "client_queue"),
        input_tokens_per_s=fields.positive("input_tokens_per_s", ("input_token_throughput", "avg")),
        output_tokens_per_s=fields.positive("output_tokens_per_s", ("output_token_throughput", "avg")),
        input_tokens_mean=fields.positive("input_tokens_mean", ("input_sequence_length", "avg")),
        output_tokens_mean=fields.positive("output_tokens_mean", ("output_sequence_length", "avg")),
        goodput=_goodput(fields),
        configuration=fields.texts(_SERVING),
        keys=as_written(fields.keys, written),
    )


def _per(document: Mapping[str, Any], metric: str) -> float:
    unit = found(document, (metric, "unit"))
    return units_per_second(unit, metric) if unit is not None else 1


def _latency(fields: Fields, name: LatencyName) -> Latency | None:
    metric = _METRICS[name]
    statistics = fields.below(metric)
    return fields.latency(name, statistics, per=_per(fields.document, metric)) if statistics else None


@dataclass(frozen=True, slots=True)
class _Load:
    """What was asked of the generator; the last two only of arrivals at a rate."""

    arrivals: Arrivals | None = None
    rps: float | None = None
    limit: float | None = None
    burstiness: float | None = None
    is_even: bool | None = None


def _load(fields: Fields) -> _Load:
    """That of AIPerf's profiling phase, or of `loadgen` before there were phases."""
    phases = found(fields.document, (_CONFIG, "phases"))
    if isinstance(phases, list):
        measured = [index for index, phase in enumerate(phases) if "warmup" not in _names(phase)]
        if not measured:
            return _Load()
        place: Key = (_CONFIG, "phases", measured[-1])
        if any(found(fields.document, (*place, name)) for name in _RAMPS):
            raise Unusable("its load changes in the run (a ramp or series), so it is no single load; measure one rate")
        kind = found(fields.document, (*place, "type"))
        rate = fields.positive("requested_rps", (*place, "rate"))
        limit = fields.positive("concurrency_limit", (*place, "concurrency"))
        return _spaced(fields, _Load(_ARRIVALS.get(str(kind)), rate, limit), kind, (*place, "smoothness"))
    place = (_CONFIG, "loadgen")
    rate = fields.positive("requested_rps", (*place, "request_rate"))
    limit = fields.positive("concurrency_limit", (*place, "concurrency"))
    if found(fields.document, (_CONFIG, "input", "fixed_schedule")):
        return _Load("replay", rate, limit)
    # 0.3 called it a mode, later versions a pattern.
    kind = found(fields.document, (*place, "arrival_pattern")) or found(fields.document, (*place, "request_rate_mode"))
    return _spaced(fields, _Load(_open_or_closed(rate, limit), rate, limit), kind, (*place, "arrival_smoothness"))


def _spaced(fields: Fields, load: _Load, kind: Any, smoothness: Key) -> _Load:
    """`load` with how evenly its requests came, by their distribution; a gamma's shape is vLLM's burstiness."""
    if load.arrivals != "open":
        return load
    burstiness = fields.positive("burstiness", smoothness) if kind == "gamma" else None
    return replace(load, burstiness=burstiness, is_even={"constant": True, "poisson": False}.get(str(kind)))


def _names(phase: Any) -> list[Any]:
    return [phase.get("name"), phase.get("kind")] if isinstance(phase, dict) else []


def _stimulus(fields: Fields) -> _Load:
    """GenAI-Perf's: `{"concurrency": 8}`, `{"request_rate": 4.0}` or a fixed schedule."""
    place: Key = (_CONFIG, "perf_analyzer", "stimulus")
    rate = fields.positive("requested_rps", (*place, "request_rate"))
    limit = fields.positive("concurrency_limit", (*place, "concurrency"))
    stimulus = found(fields.document, place)
    if isinstance(stimulus, dict) and "fixed_schedule" in stimulus:
        return _Load("replay", rate, limit)
    return _Load(_open_or_closed(rate, limit), rate, limit, is_even=True if rate is not None else None)


def _open_or_closed(rate: float | None, limit: float | None) -> Arrivals | None:
    if rate is not None:
        return "open"
    return "closed" if limit is not None else None


def _failed(fields: Fields, document: dict[str, Any]) -> int | None:
    """The count is left out where it is 0; the list of errors, empty or not, is never left out."""
    failed = fields.count("failed", ("error_request_count", "avg"))
    errors = document.get("error_summary")
    if failed is not None or not isinstance(errors, list):
        return failed
    counts = [fields.count("failed", ("error_summary", index, "count")) for index in range(len(errors))]
    fields.keys["failed"] = "counts of error_summary"
    return None if None in counts else sum(count or 0 for count in counts)


def _goodput(fields: Fields) -> StatedGoodput | None:
    rps = fields.number("goodput", ("goodput", "avg"), ("request_goodput", "avg"))
    if rps is None:
        return None
    place: Key = (_CONFIG, "slos") if found(fields.document, (_CONFIG, "slos")) else (_CONFIG, "input", "goodput")
    said = found(fields.document, place)
    names = {metric: name for name, metric in _METRICS.items()}
    if not isinstance(said, dict) or not said.keys() <= names.keys():
        return StatedGoodput(rps, {})  # a limit on something that a point has not: the rest alone would be another
    limits = {names[metric]: fields.positive(f"goodput.{metric}", (*place, metric), per=1000) for metric in said}
    return StatedGoodput(rps, {name: limit for name, limit in limits.items() if limit is not None})


def _sweep_folder(folder: str) -> str:
    """Without the folders of repeated runs."""
    return str(PurePath(*(part for part in PurePath(folder).parts if not _RUN.fullmatch(part))))


FORMATS = (Format("AIPerf", _is_profile, _point, sweep_folder=_sweep_folder, one_run_a_folder=True),)

BYPRODUCTS = (
    Byproduct("AIPerf aggregate", _is_aggregate, "runs or slices of time, summed up; each run has its own file"),
    Byproduct("AIPerf requests", _is_request, "single requests; the run's file sums them up"),
    Byproduct("AIPerf inputs", _is_inputs, "what was sent, not what was measured"),
    Byproduct("AIPerf server metrics", _is_server, "the server's own metrics"),
    Byproduct("Perf Analyzer profile", _is_perf_analyzer, "single requests; GenAI-Perf's file sums them up"),
)
