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
