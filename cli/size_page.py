"""Plans as one HTML file: their reserves and the curves of their evidence drawn, no script, nothing fetched."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib as mpl
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from capacity.plan import End, Plan
from cli import bench_chart, bench_text
from cli.bench_picture import picture
from cli.size_run import Report
from cli.size_sections import headlines, sections
from cli.size_settings import settings_sections
from cli.size_validation import validation_sections

TEMPLATES = Path(__file__).resolve().parents[1] / "templates"

COLOURS = ("#2b5f9e", "#1c6e5a", "#7a3b8f", "#b4821e", "#b44a1e")
"""Of the base, and of the parts of the reserve in their order."""

INK = "#1f2933"


def html(report: Report) -> str:
    """The page."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, autoescape=True, trim_blocks=True
    )
    plans = [
        {
            "name": plan.name,
            "headlines": [line.removeprefix(f"{plan.name}: ") for line in headlines(plan)],
            "svg": Markup(reserve_svg(plan)),  # noqa: S704 - our own SVG
            "sections": [*sections(plan), *validation_sections(plan, report.validations[plan.name])],
        }
        for plan in report.plans
    ]
    curves = [
        {
            "name": reading.sweep.name,
            "svg": Markup(bench_chart.svg([picture(reading)])),  # noqa: S704 - our own SVG
            "conclusions": list(bench_text.conclusions(reading)),
        }
        for reading in report.readings
    ]
    return environment.get_template("size-report.html.j2").render(
        title=f"Sizing of stack {report.stack}",
        findings=report.findings,
        plans=plans,
        settings=list(settings_sections(report.settings)),
        diff=report.diff,
        notes=report.notes,
        curves=curves,
    )


def reserve_svg(plan: Plan) -> str:
    """One `<svg>` element: the replicas as a bar of their sets, both ends where they differ, and the ceiling."""
    ends = [("", plan.most)] if plan.fewest == plan.most else [("at most", plan.most), ("at least", plan.fewest)]
    with mpl.rc_context({"svg.hashsalt": "warmline"}):
        figure = Figure(figsize=(9, 1.2 + 0.5 * len(ends)), layout="constrained")
        axes = figure.subplots()
        for row, (_, end) in enumerate(ends):
            _bar(axes, row, end)
        axes.set_yticks(range(len(ends)), [name for name, _ in ends])
        figure.legend(loc="outside upper left", ncols=len(COLOURS), frameon=False)
        axes.axvline(plan.service.replicas.max, color=INK, linestyle="--", linewidth=1)
        axes.set_xlabel(f"replicas of {plan.workload.service}; dashed: its ceiling")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlim(left=0)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.tick_params(left=False)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    whole = text.getvalue()
    return whole[whole.index("<svg") :]


def _bar(axes: Axes, row: int, end: End) -> None:
    """The sets one after another, each with its number."""
    left = 0.0
    for part, colour in zip(end.reserve.parts, COLOURS, strict=False):
        if not part.replicas or part.covered:
            continue
        name = part.name.replace("_", " ")
        known = axes.get_legend_handles_labels()[1]
        label = "_" if name in known else name  # the legend has each once
        axes.barh(row, float(part.replicas), left=left, color=colour, edgecolor="white", height=0.6, label=label)
        middle = left + part.replicas / 2
        axes.text(middle, row, str(part.replicas), ha="center", va="center", color="white", fontsize=9)
        left += part.replicas
