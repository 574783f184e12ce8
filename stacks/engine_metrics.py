"""What an engine calls its Prometheus series: the form that each dialect fills in, and what is asked by these names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EngineMetrics:
    """Names of one engine's series, and the label that carries the served model's name.

    Gauges: running, waiting. Counters: finished (every request that ended, however; the label `finished_reason` says
    how, and `failed` are its values for the engine's own failures), refused (never taken in), preemptions. Histograms,
    without their suffixes: ttft, itl, tpot, e2e and queue in seconds; input_tokens, output_tokens. `bounds_flag` is the
    engine's flag that sets the bounds of their buckets.
    """

    model_label: str
    running: str
    waiting: str
    finished: str
    finished_reason: str
    failed: tuple[str, ...]
    refused: str
    preemptions: str
    ttft: str
    itl: str
    tpot: str
    e2e: str
    queue: str
    input_tokens: str
    output_tokens: str
    bounds_flag: str

    def labels(self, namespace: str, model: str) -> str:
        """The matchers of one service's series: the same model may be served in two namespaces."""
        return f'namespace="{namespace}",{self.model_label}="{model}"'


def in_flight_query(metrics: EngineMetrics, namespace: str, model: str) -> str:
    """PromQL of the requests in flight at all replicas of one service: running and waiting.

    Each must count its own namespace's. Both terms are `sum` without `by`, so each is one element or, without any
    series, none: KEDA refuses several elements, and `ignoreNullValues: "false"` makes an error of none.
    """
    labels = f"{{{metrics.labels(namespace, model)}}}"
    return f"sum({metrics.running}{labels}) + sum({metrics.waiting}{labels})"
