"""vLLM's OpenAI-compatible server.

Source: vLLM 0.33: `vllm serve --help`, `v1/metrics/loggers.py`, `docker/Dockerfile`.
"""

from __future__ import annotations

from infra.dialects.dialect import SCRATCH_DIR, Dialect, Launch
from stacks.engine_metrics import EngineMetrics


def _arguments(launch: Launch) -> list[str]:
    service = launch.service
    settings = {
        "served-model-name": service.model.name,
        "port": str(launch.port),
        "tensor-parallel-size": str(service.gpus_per_replica),
        "max-num-seqs": str(service.engine.max_num_seqs),
        # 0, vLLM's default, aborts every stream on SIGTERM.
        "shutdown-timeout": str(launch.drain_s),
    }
    further = sorted(service.engine.args.items())
    return [launch.weights_dir, *(_flag(name, value) for name, value in [*settings.items(), *further])]


def _flag(name: str, value: str) -> str:
    """`--name=value`, or the bare switch where there is no value."""
    return f"--{name}={value}" if value else f"--{name}"


_OWN_FIELD = "Set services.*.{} instead."
_NO_TLS = "Remove it: probes, scrapes and the gateway speak plain HTTP inside the cluster."
_READABLE = "Remove it: an argument is readable by everyone who may read the pod."
_RESERVED = {
    "api-key": _READABLE,
    "config": "Write the file's flags as engine.args: it could set what Warmline sets.",
    "data-parallel-size": "Remove it: replicas are the Deployment's.",
    "disable-log-stats": "Remove it: scaling reads these metrics.",
    "download-dir": "Remove it: the weights are on the node's disk before the engine starts.",
    "hf-token": _READABLE,
    "host": "Remove it: kubelet and gateway need every address.",
    "max-num-seqs": _OWN_FIELD.format("engine.max_num_seqs"),
    "model": _OWN_FIELD.format("model"),
    "pipeline-parallel-size": "Remove it: one replica is one tensor-parallel group.",
    "port": "Remove it: Service, probes and scrapes know the port.",
    "revision": _OWN_FIELD.format("model.revision"),
    "root-path": "Remove it: it would move /health and /metrics.",
    "served-model-name": _OWN_FIELD.format("model.name"),
    "shutdown-timeout": _OWN_FIELD.format("longest_stream_s"),
    "ssl-certfile": _NO_TLS,
    "ssl-keyfile": _NO_TLS,
    "tensor-parallel-size": _OWN_FIELD.format("gpus_per_replica"),
    "uds": "Remove it: requests come over TCP.",
}

# Source: `vllm/engine/arg_utils.py` of the source distributions 0.17.1 and 0.18.0, 0.28.0 and 0.29.0, 0.31.0 and
# 0.32.0: the first of each pair has no such flag.
_SINCE = {
    "custom-histogram-buckets": "0.32.0",
    "max-num-queued-reqs": "0.29.0",
    "max-num-queued-tokens": "0.29.0",
    "shutdown-timeout": "0.18.0",
}

_SHOWN = frozenset(
    {
        "async-scheduling",
        "block-size",
        "custom-histogram-buckets",
        "dtype",
        "enable-chunked-prefill",
        "enable-prefix-caching",
        "gpu-memory-utilization",
        "kv-cache-dtype",
        "load-format",
        "max-model-len",
        "max-num-batched-tokens",
        "max-num-queued-reqs",
        "max-num-queued-tokens",
        "max-num-seqs",
        "port",
        "quantization",
        "scheduling-policy",
        "served-model-name",
        "shutdown-timeout",
        "tensor-parallel-size",
    }
)

# Times to the first token, gaps and preemptions are counted as they happen, the rest when a request ends.
_METRICS = EngineMetrics(
    model_label="model_name",
    running="vllm:num_requests_running",
    waiting="vllm:num_requests_waiting",
    finished="vllm:request_success_total",  # aborted and failed ones too
    finished_reason="finished_reason",
    failed=("error",),
    refused="vllm:admission_rejections_total",
    preemptions="vllm:num_preemptions_total",
    ttft="vllm:time_to_first_token_seconds",
    itl="vllm:inter_token_latency_seconds",
    tpot="vllm:request_time_per_output_token_seconds",
    e2e="vllm:e2e_request_latency_seconds",
    queue="vllm:request_queue_time_seconds",
    input_tokens="vllm:request_prompt_tokens",
    output_tokens="vllm:request_generation_tokens",
    bounds_flag="custom-histogram-buckets",
)


VLLM = Dialect(
    kind="vllm",
    command=("vllm", "serve"),
    arguments=_arguments,
    reserved=_RESERVED,
    since=_SINCE,
    shown_flags=_SHOWN,
    port=8000,
    # The server listens only once the model is loaded, and answers 503 only when the engine is dead.
    health_path="/health",
    readiness_path="/health",
    metrics_path="/metrics",
    metrics=_METRICS,
    # Waiting and running requests count. Source: vLLM 0.33, `v1/engine/async_llm.py`.
    in_flight_limit="max-num-queued-reqs",
    queued_tokens_limit="max-num-queued-tokens",
    # The image's own user `vllm`, in group 0: PyTorch looks its user's name up, so the number must have one.
    user_id=2000,
    group_id=0,
    env=(("HF_HUB_OFFLINE", "1"), ("TRANSFORMERS_OFFLINE", "1"), ("VLLM_NO_USAGE_STATS", "1"), ("HOME", SCRATCH_DIR)),
    cache_env=(
        ("VLLM_CACHE_ROOT", "vllm"),
        ("TORCHINDUCTOR_CACHE_DIR", "inductor"),
        ("TRITON_CACHE_DIR", "triton"),
        ("FLASHINFER_WORKSPACE_BASE", "flashinfer"),
        ("CUDA_CACHE_PATH", "cuda"),
    ),
)
