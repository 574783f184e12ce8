"""The sale drawn: replicas, load and latency over one time axis, with T0 and the floor marked. SVG text."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from sandbox.load.record import RequestRecord, percentile
from sandbox.sale.timeline import Sample
from sandbox.sale.verdict import due_at

INK, FLOOR, READY, LOAD, LATENCY = "#1f2933", "#b44a1e", "#1c6e5a", "#2b5f9e", "#7a3b8f"


@dataclass(frozen=True)
class Marks:
    """Moments on the axis, Unix times."""

    raise_at: float
    start: float
    end: float


def draw(
    samples: Sequence[Sample], records: Sequence[RequestRecord], marks: Marks, *, per_replica: float, ttft_slo_ms: float
) -> str:
    """One figure of three panels, seconds from T0 across."""
    figure = Figure(figsize=(10, 8), layout="constrained")
    replicas, load, latency = figure.subplots(3, 1, sharex=True)
    times = [sample.at - marks.start for sample in samples]
    replicas.step(
        times, [sample.floor for sample in samples], where="post", color=FLOOR, lw=2, label="floor (HPA minReplicas)"
    )
    replicas.step(times, [sample.ready for sample in samples], where="post", color=READY, lw=2, label="Ready")
    replicas.step(
        times,
        [sample.ready + sample.starting for sample in samples],
        where="post",
        color=READY,
        lw=1,
        ls=":",
        label="Ready + starting",
    )
    replicas.set_ylabel("replicas")
    load.plot(times, [sample.in_flight for sample in samples], color=LOAD, lw=2, label="in flight (running + waiting)")
    load.step(
        times,
        [sample.ready * per_replica for sample in samples],
        where="post",
        color=READY,
        lw=1,
        ls="--",
        label=f"Ready x {per_replica:g}",
    )
    load.set_ylabel("requests")
    seconds, p95 = _p95_per_second(records, marks.start)
    latency.plot(seconds, p95, color=LATENCY, lw=1.5, label="TTFT p95 per second, at the client")
    latency.axhline(ttft_slo_ms, color=INK, lw=1, ls="--", label=f"SLO {ttft_slo_ms:g} ms")
    latency.set_yscale("log")
    for axis in (latency.yaxis.set_major_formatter, latency.yaxis.set_minor_formatter):
        axis(LogFormatter(labelOnlyBase=False, minor_thresholds=(2, 0.5)))
    latency.set_ylabel("TTFT, ms")
    latency.set_xlabel("seconds from T0")
    for panel in (replicas, load, latency):
        _mark(panel, marks)
    return svg_of(figure)


def svg_of(figure: Figure) -> str:
    """The figure as one `<svg>` element, the same text for the same data."""
    mpl.rcParams["svg.hashsalt"] = "warmline"
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]


def _p95_per_second(records: Sequence[RequestRecord], start: float) -> tuple[list[float], list[float]]:
    by_second: dict[int, list[float]] = {}
    for record in records:
        if record.ttft_s is not None:
            by_second.setdefault(int(due_at(record) - start // 1), []).append(1000 * record.ttft_s)
    seconds = sorted(by_second)
    return [float(second) for second in seconds], [percentile(by_second[second], 95) for second in seconds]


def _mark(panel: Axes, marks: Marks) -> None:
    for moment, text in ((marks.raise_at, "raise"), (marks.start, "T0"), (marks.end, "end")):
        panel.axvline(moment - marks.start, color=INK, lw=0.8, ls=":")
        panel.annotate(
            text, (moment - marks.start, 1.0), xycoords=("data", "axes fraction"), fontsize=8, va="bottom", ha="center"
        )
    panel.grid(visible=True, axis="y", alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(loc="upper left", fontsize=8, frameon=False)
