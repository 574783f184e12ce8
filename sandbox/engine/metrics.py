"""What the engine double counts, in vLLM's names and labels.

Source: vLLM 0.33 `vllm/v1/metrics/loggers.py`: names, the labels `model_name` and `engine`, bucket bounds. Left out,
since the double has no such thing: prefix cache, speculative decoding, LoRA.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from types import MappingProxyType

from sandbox.engine.batch import Emission

_TTFT_S = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
)  # fmt: skip
_PER_TOKEN_S = (
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
)  # fmt: skip
_REQUEST_S = (
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0,
    120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0,
)  # fmt: skip
# vLLM's go on to the model's length.
_LENGTH_TOKENS = tuple(float(digit * 10**power) for power in range(5) for digit in (1, 2, 5))
# Families of --custom-histogram-buckets; vLLM has more than the double. Source: vLLM 0.33, docs/usage/metrics.md.
BOUNDS: dict[str, tuple[float, ...]] = {
    "time_to_first_token": _TTFT_S,
    "inter_token_latency": _PER_TOKEN_S,
    "request_latency": _REQUEST_S,
    "request_tokens": _LENGTH_TOKENS,
}
_LAG_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5)
FINISH_REASONS = ("stop", "length", "abort", "error")


@dataclass(slots=True)
class Histogram:
    """A Prometheus histogram: `bounds` are upper edges in seconds or tokens, the last bucket is +Inf."""

    bounds: tuple[float, ...]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def __post_init__(self) -> None:
        """One count for each bound and one for +Inf."""
        self.counts = [0] * (len(self.bounds) + 1)

    def observe(self, value: float, times: int = 1) -> None:
        """Count `times` observations of `value`."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times

    def lines(self, name: str, labels: str) -> list[str]:
        """Exposition text of this histogram."""
        out, seen = [f"# TYPE {name} histogram"], 0
        for bound, number in zip((*self.bounds, "+Inf"), self.counts, strict=True):
            seen += number
            out.append(f'{name}_bucket{{{labels},le="{bound}"}} {seen}')
        return [*out, f"{name}_sum{{{labels}}} {self.total:.6f}", f"{name}_count{{{labels}}} {seen}"]


@dataclass(slots=True)
class EngineMetrics:
    """Counters and histograms of one engine; the gauges are read from the batch at scrape time."""

    bounds: InitVar[Mapping[str, tuple[float, ...]]] = MappingProxyType({})
    ttft: Histogram = field(init=False)
    inter_token: Histogram = field(init=False)
    per_output_token: Histogram = field(init=False)
    e2e: Histogram = field(init=False)
    queue: Histogram = field(init=False)
    prompt_length: Histogram = field(init=False)
    generation_length: Histogram = field(init=False)
    timer_lag: Histogram = field(default_factory=lambda: Histogram(_LAG_S))
    finished: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FINISH_REASONS, 0))
    prompt_tokens: int = 0
    generation_tokens: int = 0
    rejections: dict[str, int] = field(default_factory=dict)

    def __post_init__(self, bounds: Mapping[str, tuple[float, ...]]) -> None:
        """`bounds`: family -> its own in place of vLLM's."""
        has = {**BOUNDS, **bounds}
        self.ttft = Histogram(has["time_to_first_token"])
        self.inter_token, self.per_output_token = (Histogram(has["inter_token_latency"]) for _ in range(2))
        self.e2e, self.queue = (Histogram(has["request_latency"]) for _ in range(2))
        self.prompt_length, self.generation_length = (Histogram(has["request_tokens"]) for _ in range(2))

    def observe(self, emission: Emission, previous_s: float | None) -> None:
        """Count the tokens of one emission; `previous_s` is when the sequence emitted before, None at its first."""
        sequence = emission.sequence
        self.generation_tokens += emission.tokens
        if previous_s is None:
            self.prompt_tokens += sequence.prompt_tokens
            self.ttft.observe(emission.at_s - sequence.arrived_s)
            self.queue.observe((sequence.admitted_s or 0.0) - sequence.arrived_s)
        else:
            self.inter_token.observe((emission.at_s - previous_s) / emission.tokens, emission.tokens)
        if emission.finished:
            self.finished["length"] += 1
            self.e2e.observe(emission.at_s - sequence.arrived_s)
            self.prompt_length.observe(sequence.prompt_tokens)
            self.generation_length.observe(sequence.output_tokens)
            first_s = sequence.first_token_s or emission.at_s
            self.per_output_token.observe((emission.at_s - first_s) / max(1, sequence.output_tokens - 1))

    def text(self, model_name: str, running: int, waiting: int, kv_cache_usage: float) -> str:
        """The page that `/metrics` answers."""
        labels = f'engine="0",model_name="{model_name}"'
        gauges = {
            "vllm:num_requests_running": running,
            "vllm:num_requests_waiting": waiting,
            "vllm:kv_cache_usage_perc": round(kv_cache_usage, 6),
        }
        out = []
        for name, value in gauges.items():
            out += [f"# TYPE {name} gauge", f"{name}{{{labels}}} {value}"]
        out.append("# TYPE vllm:num_requests_waiting_by_reason gauge")
        for reason, value in (("capacity", waiting), ("deferred", 0)):
            out.append(f'vllm:num_requests_waiting_by_reason{{{labels},reason="{reason}"}} {value}')
        for name, value in (
            ("vllm:prompt_tokens_total", self.prompt_tokens),
            ("vllm:generation_tokens_total", self.generation_tokens),
            ("vllm:num_preemptions_total", 0),
        ):
            out += [f"# TYPE {name} counter", f"{name}{{{labels}}} {value}"]
        out.append("# TYPE vllm:request_success_total counter")
        for reason, value in self.finished.items():
            out.append(f'vllm:request_success_total{{{labels},finished_reason="{reason}"}} {value}')
        out.append("# TYPE vllm:admission_rejections_total counter")
        for reason, value in self.rejections.items():
            out.append(f'vllm:admission_rejections_total{{{labels},reason="{reason}"}} {value}')
        for name, histogram in (
            ("vllm:time_to_first_token_seconds", self.ttft),
            ("vllm:inter_token_latency_seconds", self.inter_token),
            ("vllm:request_time_per_output_token_seconds", self.per_output_token),
            ("vllm:e2e_request_latency_seconds", self.e2e),
            ("vllm:request_queue_time_seconds", self.queue),
            ("vllm:request_prompt_tokens", self.prompt_length),
            ("vllm:request_generation_tokens", self.generation_length),
            # Not vLLM's: how late the double's own timers fired, to prove that the double is not the bottleneck.
            ("engine_double_timer_lag_seconds", self.timer_lag),
        ):
            out += histogram.lines(name, labels)
        return "\n".join(out) + "\n"
