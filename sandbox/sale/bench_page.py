"""docs/benchmarks/event.md: results as JSON beside it, one page and one figure made from them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from matplotlib.figure import Figure

from sandbox import machine
from sandbox.load.play import MAX_LATENESS_P99_S
from sandbox.load.record import RequestRecord
from sandbox.sale.chart import INK, svg_of
from sandbox.sale.comparison import Comparison, Result
from sandbox.sale.rehearsal import NOT_SCALED
from sandbox.sale.report import TEMPLATES
from sandbox.sale.script import BEYOND_S, PLANNED_S, SUBSIDE_S
from sandbox.sale.verdict import due_at, keeps
from sandbox.toolchain.tools import NAMES, TOOLS
from stacks.spec import Slo

COLOURS = {"reactive": "#b44a1e", "keda-cron": "#2b5f9e", "warmline": "#1c6e5a"}
BUCKETS = 60


def write(folder: Path, comparison: Comparison, beside: str = "") -> Path:
    """Write this run's JSON and figure, then the page over all runs in `folder`.

    `beside` says what else the machine did meanwhile: its cores count what was not ours, too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scale = comparison.stage.rehearsal.factor
    data = json.dumps(facts(comparison, beside), indent=2) + "\n"
    (folder / f"event-scale{scale}.json").write_text(data, encoding="utf-8")
    (folder / f"event-scale{scale}.svg").write_text(draw(comparison), encoding="utf-8")
    return page(folder)


def page(folder: Path) -> Path:
    """Make event.md anew from the JSON of every run in `folder`."""
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("event-scale*.json")]
    runs.sort(key=lambda run: -int(run["time_scale"]))
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        autoescape=False,  # noqa: S701
    )
    path = folder / "event.md"
    path.write_text(environment.get_template("bench-event.md.j2").render(runs=runs), encoding="utf-8")
    return path


def facts(comparison: Comparison, beside: str) -> dict[str, Any]:
    """What the page shows of one run; numbers rounded to what they are worth."""
    stage = comparison.stage
    service = next(iter(stage.rehearsal.platform.services.values()))
    lengths_s = (PLANNED_S, BEYOND_S, SUBSIDE_S)
    return {
        "time_scale": stage.rehearsal.factor,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "seed": stage.seed,
        "usual_rps": str(stage.script.usual_rps),
        "phases": [
            {"what": phase.what, "rps": str(phase.rps), "real_s": real_s}
            for phase, real_s in zip(stage.script.phases, lengths_s, strict=True)
        ],
        "floor": comparison.floor,
        "lead_time_s": stage.rehearsal.lead_time_s,
        "margin_s": stage.rehearsal.margin_s,
        "window_s": service.scale_down.window_s,
        "ttft_slo_ms": str(service.slo.ttft_p95_ms),
        "tpot_slo_ms": str(service.slo.tpot_p95_ms),
        "not_scaled": NOT_SCALED,
        "cores": os.cpu_count(),
        "cpu_busy": round(comparison.cpu_busy_pct / 100, 2),
        "beside": beside,
        "machine": machine.description(),
        "versions": ", ".join(sorted({f"{tool.name} {tool.version}" for tool in TOOLS if tool.name in NAMES})),
        "requests": comparison.results[0].whole.requests,
        "ways": [_way(result) for result in comparison.results],
    }


def _way(result: Result) -> dict[str, Any]:
    return {
        "way": result.way,
        "ready_at_start": result.ready_at_start,
        "floor_ready_after_start_s": _seconds(result.floor_ready_after_start_s),
        "planned_kept_pct": round(result.planned.kept_pct, 1),
        "beyond_kept_pct": round(result.beyond.kept_pct, 1),
        "whole_kept_pct": round(result.whole.kept_pct, 1),
        "planned_ttft_p95_ms": round(result.planned.ttft_p95_ms),
        "planned_tpot_p95_ms": round(result.planned.tpot_p95_ms, 1),
        "failed": sum(bool(record.error) for record in result.records),
        "cut": sum(record.cut for record in result.records),
        "most_ready": result.most_ready,
        "replica_seconds": round(result.replica_seconds),
        "back_after_end_s": _seconds(result.back_after_end_s),
        "lateness_p99_ms": round(1000 * result.lateness_p99_s, 1),
        "is_open_loop": result.lateness_p99_s <= MAX_LATENESS_P99_S,
    }


def draw(comparison: Comparison) -> str:
    """Replicas Ready, and the share of requests that kept the SLO, over the seconds from T0."""
    course = comparison.course
    service = next(iter(comparison.stage.rehearsal.platform.services.values()))
    figure = Figure(figsize=(10, 6), layout="constrained")
    replicas, kept = figure.subplots(2, 1, sharex=True)
    width_s = (course.finish - course.raise_at) / BUCKETS
    for result in comparison.results:
        colour = COLOURS[result.way]
        times = [sample.at - course.start for sample in result.samples]
        replicas.step(times, [sample.ready for sample in result.samples], where="post", color=colour, label=result.way)
        seconds, shares = _shares(result.records, service.slo, course.start, width_s)
        kept.plot(seconds, shares, color=colour, label=result.way)
    replicas.set_ylabel("replicas Ready")
    kept.set_ylabel("requests that kept the SLO, %")
    kept.set_xlabel("seconds from T0, when the request was due")
    for panel in (replicas, kept):
        for moment, text in ((course.raise_at, "raise"), (course.start, "T0"), (course.end, "end")):
            panel.axvline(moment - course.start, color=INK, lw=0.8, ls=":")
            panel.annotate(
                text, (moment - course.start, 1), xycoords=("data", "axes fraction"), fontsize=8, ha="center"
            )
        panel.spines[["top", "right"]].set_visible(False)
        panel.legend(loc="lower left", fontsize=8, frameon=False)
    return svg_of(figure)


def _shares(
    records: Sequence[RequestRecord], slo: Slo, start: float, width_s: float
) -> tuple[list[float], list[float]]:
    buckets: dict[int, list[bool]] = {}
    for record in records:
        buckets.setdefault(int((due_at(record) - start) // width_s), []).append(keeps(record, slo))
    order = sorted(buckets)
    return [bucket * width_s for bucket in order], [100 * sum(buckets[one]) / len(buckets[one]) for one in order]


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.0f}"
