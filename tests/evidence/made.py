"""Results made for tests, in the shape their tools write; no number was measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def vllm_serve(**changes: Any) -> dict[str, Any]:
    """`vllm bench serve --save-result`. Source of the shape: vllm-project/vllm `benchmarks/serve.py` @009e6d4."""
    result = {
        "date": "20261101-120000",
        "endpoint_type": "openai",
        "backend": "openai",
        "label": None,
        "model_id": "org/model-8b",
        "tokenizer_id": "org/model-8b",
        "num_prompts": 600,
        "request_rate": 10.0,
        "burstiness": 1.0,
        "max_concurrency": None,
        "duration": 60.0,
        "completed": 597,
        "failed": 3,
        "total_input_tokens": 119400,
        "total_output_tokens": 59700,
        "request_throughput": 9.95,
        "request_goodput": None,
        "output_throughput": 995.0,
        "total_token_throughput": 2985.0,
        "max_output_tokens_per_s": 1400.0,
        "max_concurrent_requests": 30,
        **_statistics("ttft", 40.0),
        **_statistics("tpot", 8.0),
        **_statistics("itl", 7.5),
        **_statistics("e2el", 832.0),
    }
    return result | changes


def vllm_old(**changes: Any) -> dict[str, Any]:
    """`benchmark_serving.py` of 2025: no `failed`, `endpoint_type` or e2el, and a colon in `request_goodput:`."""
    result = vllm_serve(**{"request_goodput:": None})
    for key in ("endpoint_type", "failed", "request_goodput", "max_output_tokens_per_s", "max_concurrent_requests"):
        del result[key]
    return {key: value for key, value in result.items() if not key.endswith("_e2el_ms")} | changes


def _statistics(metric: str, median: float) -> dict[str, float]:
    factors = {"mean": 1.1, "median": 1.0, "std": 0.2, "p95": 2.0, "p99": 3.0, "p99.9": 4.0}
    return {f"{name}_{metric}_ms": median * factor for name, factor in factors.items()}


def write(path: Path, document: Any) -> Path:
    """`document` as JSON, bare NaN and Infinity included, as Python's tools write it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def write_lines(path: Path, documents: list[Any]) -> Path:
    """`documents` as JSON lines, as tools append run after run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(document)}\n" for document in documents), encoding="utf-8")
    return path


def sglang(**changes: Any) -> dict[str, Any]:
    """`bench_serving` of SGLang. Source of the shape: sgl-project/sglang `benchmark/serving.py` @00f9ec4."""
    result = {
        "tag": None,
        "backend": "sglang",
        "dataset_name": "random",
        "request_rate": 8.0,
        "max_concurrency": None,
        "random_input_len": 1024,
        "server_info": {
            "model_path": "org/model-8b",
            "tokenizer_path": "org/model-8b",
            "tp_size": 2,
            "kv_cache_dtype": "auto",
            "quantization": None,
            "version": "0.5.23",
            "internal_states": [{"memory_usage": [1, 2]}],
        },
        "duration": 120.0,
        "completed": 960,
        "total_input_tokens": 960_000,
        "total_output_tokens": 192_000,
        "total_output_tokens_retokenized": 191_000,
        "request_throughput": 8.0,
        "input_throughput": 8000.0,
        "output_throughput": 1600.0,
        "total_throughput": 9600.0,
        **_statistics("e2e_latency", 2000.0),
        **_statistics("ttft", 60.0),
        **_statistics("tpot", 9.0),
        **_statistics("itl", 9.0),
        "max_itl_ms": 200.0,
        "concurrency": 17.5,
        "accept_length": None,
    }
    return result | changes


def inferencex(**changes: Any) -> dict[str, Any]:
    """An aggregate. Source of the shape: SemiAnalysisAI/InferenceX `utils/process_result.py`."""
    seconds = {
        key.removesuffix("_ms"): value / 1000
        for metric, median in (("ttft", 80.0), ("tpot", 10.0), ("itl", 9.0), ("e2el", 2080.0))
        for key, value in _statistics(metric, median).items()
    }
    result = {
        "hw": "h200",
        "conc": 64,
        "image": "lmsysorg/sglang:v0.5.5",
        "model": "org/model-600b",
        "infmax_model_prefix": "m",
        "framework": "sglang",
        "precision": "fp8",
        "spec_decoding": "none",
        "disagg": False,
        "isl": 1024,
        "osl": 1024,
        "is_multinode": False,
        "tp": 8,
        "ep": 1,
        "dp_attention": "false",
        "tput_per_gpu": 900.0,
        "output_tput_per_gpu": 450.0,
        "input_tput_per_gpu": 450.0,
        "median_intvty": 100.0,
        **seconds,
    }
    return result | changes


def aiperf_0_3(**changes: Any) -> dict[str, Any]:
    """`profile_export_aiperf.json` of AIPerf 0.3, which knew `loadgen` and no phases.

    Source of the shape: ai-dynamo/aiperf 0.3.0 `exporters/metrics_json_exporter.py`.
    """
    result = {
        "request_throughput": {"unit": "requests/sec", "avg": 4.0},
        "request_latency": _metric("ms", 1500.0),
        "request_count": {"unit": "requests", "avg": 240.0},
        "time_to_first_token": _metric("ms", 50.0),
        "inter_token_latency": _metric("ms", 10.0),
        "output_token_throughput": {"unit": "tokens/sec", "avg": 580.0},
        "output_sequence_length": _metric("tokens", 145.0),
        "input_sequence_length": _metric("tokens", 550.0),
        "benchmark_duration": {"unit": "sec", "avg": 60.0},
        "input_config": {
            "endpoint": {"model_names": ["org/model-8b"], "type": "chat", "streaming": True},
            "loadgen": {"request_rate": 4.0, "request_count": 240},
            "tokenizer": {"name": "org/model-8b"},
        },
        "was_cancelled": False,
        "error_summary": [],
    }
    return result | changes


def aiperf_0_1(**changes: Any) -> dict[str, Any]:
    """`profile_export_aiperf.json` of AIPerf 0.1. Source of the shape: 0.1.1 `exporters/json_exporter.py`."""
    result = aiperf_0_3()
    beside = {name: result.pop(name) for name in ("input_config", "was_cancelled", "error_summary")}
    result["ttft"] = result.pop("time_to_first_token")
    return {"records": result} | beside | changes


def genai_perf(**changes: Any) -> dict[str, Any]:
    """`profile_export_genai_perf.json`. Source of the shape: genai-perf 0.0.16 `export_data/json_exporter.py`."""
    result = aiperf_0_3()
    for key in ("benchmark_duration", "was_cancelled", "error_summary"):
        del result[key]
    config = {
        "model_names": ["org/model-8b"],
        "perf_analyzer": {"stimulus": {"concurrency": 16}},
        "tokenizer": {"name": "org/model-8b"},
    }
    return result | {"request_count": {"unit": "count", "avg": 240.0}, "input_config": config} | changes


def _metric(unit: str, median: float) -> dict[str, Any]:
    ranks = {f"p{rank}": median * (1 + rank / 100) for rank in (1, 5, 10, 25, 50, 75, 90, 95, 99)}
    return {"unit": unit, "avg": median * 1.6, **ranks, "min": median, "max": median * 3, "std": 1.0}


def llmd_report_0_1(**requests: Any) -> dict[str, Any]:
    """A report of schema 0.1. Source of the shape: llm-d/llm-d-benchmark `benchmark_report/schema_v0_1.py` @08e0c22."""
    return {
        "version": "0.1",
        "scenario": {
            "host": {"accelerator": [{"model": "H100", "count": 1, "parallelism": {"tp": 1}}], "type": ["replica"]},
            "platform": {"engine": [{"name": "vllm", "version": "0.11.0"}]},
            "model": {"name": "org/model-8b"},
            "load": {"name": "vllm-benchmark"},
        },
        "metrics": {
            "time": {"duration": 60.0},
            "requests": {"total": 600, "failures": 3, "incomplete": 7} | requests,
            "latency": {
                "time_to_first_token": {"units": "ms", "mean": 44.0, "p50": 40.0, "p99p9": 160.0},
                "time_per_output_token": {"units": "ms/token", "mean": 8.8},
                "request_latency": {"units": "ms", "mean": 915.0},
            },
            "throughput": {"output_tokens_per_sec": 995.0, "total_tokens_per_sec": 2985.0, "requests_per_sec": 9.8},
        },
    }
