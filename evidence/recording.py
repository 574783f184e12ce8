"""One service's load, latency and replicas as its Prometheus recorded them.

Every sum is over what the service's replicas expose by themselves, so that a percentile is of all requests and not a
mean of percentiles. `increase` reckons with counters that begin again, and a series that begins within the window
misses what it counted before its first scrape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from capacity.recordings.histogram import Histogram, histogram
from capacity.recordings.recording import COUNTED, TIMED, Recording, Window
from evidence.prometheus import Prometheus, Sample
from stacks.engine_metrics import EngineMetrics, in_flight_query


@dataclass(frozen=True)
class Source:
    """Whose series they are: one model in one namespace, by the names of its engine."""

    metrics: EngineMetrics
    namespace: str
    model: str

    def of(self, name: str) -> str:
        """The selector of one metric."""
        return f"{name}{{{self.metrics.labels(self.namespace, self.model)}}}"


def read(prometheus: Prometheus, source: Source, window: Window) -> Recording:
    """Read what was recorded of `source` in `window`.

    Raises:
        OutOfReach: the server does not answer, or not as a Prometheus does.
    """
    metrics = source.metrics
    asking = _Asking(prometheus, source, window)
    ends = _by(asking.grown(metrics.finished, by=metrics.finished_reason), metrics.finished_reason)
    histograms = {name: asking.histogram(getattr(metrics, name)) for name in (*TIMED, *COUNTED)}
    return Recording(
        window=window,
        in_flight=asking.series(in_flight_query(metrics, source.namespace, source.model)) or {},
        replicas=asking.series(f"count(count by (pod) ({source.of(metrics.running)}))") or {},
        ended=asking.grows(metrics.finished) or {},
        refused=asking.grows(metrics.refused),
        ends=ends,
        failed=sum((ends.get(reason, Fraction(0)) for reason in metrics.failed), Fraction(0)),
        refusals=_only(asking.grown(metrics.refused)),
        preemptions=_only(asking.grown(metrics.preemptions)),
        timed={name: found for name in TIMED if (found := histograms[name])},
        counted={name: found for name in COUNTED if (found := histograms[name])},
    )


@dataclass(frozen=True)
class _Asking:
    prometheus: Prometheus
    source: Source
    window: Window

    def series(self, query: str) -> dict[int, Fraction] | None:
        """At every moment of the window."""
        return self.prometheus.series(query, self.window.first, self.window.end, self.window.step_s)

    def grows(self, counter: str) -> dict[int, Fraction] | None:
        """A counter's growth in the stretch before each moment, from the first one that is a whole stretch in."""
        busy_s = self.window.busy_s
        query = f"sum(increase({self.source.of(counter)}[{busy_s}s]))"
        return self.prometheus.series(query, self.window.first + busy_s, self.window.end, self.window.step_s)

    def grown(self, counter: str, by: str = "") -> tuple[Sample, ...]:
        """A counter's growth over the window."""
        increase = f"increase({self.source.of(counter)}[{self.window.length_s}s])"
        return self.prometheus.instant(f"sum by ({by}) ({increase})", self.window.end)

    def histogram(self, name: str) -> Histogram | None:
        """Of what was observed in the window; None where nothing was."""
        buckets = [(_bound(each.labels.get("le", "")), each.value) for each in self.grown(f"{name}_bucket", by="le")]
        total = _only(self.grown(f"{name}_sum"))
        return histogram(buckets, total) if total is not None else None


def _by(samples: tuple[Sample, ...], label: str) -> Mapping[str, Fraction]:
    return {each.labels.get(label, ""): each.value for each in samples if each.value}


def _only(samples: tuple[Sample, ...]) -> Fraction | None:
    return samples[0].value if samples else None


def _bound(text: str) -> Fraction | None:
    """`2.5`, `1.0` or `1`; None for +Inf."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return Fraction(number) if number.is_finite() else None
