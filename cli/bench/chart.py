"""The curves of sweeps as SVG, and as one HTML file with what they say: no script, nothing fetched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from capacity.shown import shown
from cli.bench import record, text
from cli.bench.answer import Answer
from cli.bench.picture import Panel, Picture, picture
from cli.svg import element

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
INK, CURVE, LIMIT = "#1f2933", "#2b5f9e", "#b44a1e"
MARKS = {"knee": ("#1c6e5a", "-."), "target": ("#7a3b8f", ":"), "failed": (LIMIT, "-")}
"""Told apart without colour, too."""


def html(answer: Answer) -> str:
    """One page: each sweep with its curves, points, remarks and conclusions."""
    environment = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, autoescape=True)
    sweeps = [
        {
            "name": told.reading.sweep.name,
            "record": list(record.lines(told.recorded)),
            "svg": Markup(svg([picture(told.reading, told.kind)], f"sweep-{number}")),  # noqa: S704 - our own SVG
            "conclusions": list(text.conclusions(told.reading)),
            "columns": text.COLUMNS,
            "rows": text.rows(told.reading),
            "remarks": list(text.remark_lines(told.reading)),
        }
        for number, told in enumerate(answer.sweeps, 1)
    ]
    template = environment.get_template("bench-report.html.j2")
    return template.render(title="Benchmarks", promise=text.promise(answer.objective), sweeps=sweeps)


def svg(pictures: Sequence[Picture], name: str = "curves") -> str:
    """One `<svg>` element, a row of panels for each sweep; the same text for the same data.

    Args:
        name: of no other drawing on its page.
    """
    title = ", ".join(one.title for one in pictures)
    return element(_figure(pictures), name, title, " ".join(f"{one.title}: {one.words}." for one in pictures))


def _figure(pictures: Sequence[Picture]) -> Figure:
    columns = max((len(drawn.panels) for drawn in pictures), default=0) or 1
    figure = Figure(figsize=(6 * columns, 3.6 * len(pictures)), layout="constrained")
    grid = figure.subplots(len(pictures), columns, squeeze=False)
    for row, drawn in zip(grid, pictures, strict=True):
        for number, axes in enumerate(row):
            if number < len(drawn.panels):
                _panel(axes, drawn.panels[number], drawn)
            else:
                axes.axis("off")
        row[0].set_title(drawn.title, fontsize=9, loc="left", color=INK, parse_math=False)
    return figure


def _panel(axes: Axes, panel: Panel, drawn: Picture) -> None:
    solid = [dot for dot in panel.dots if not dot.is_hollow]
    hollow = [dot for dot in panel.dots if dot.is_hollow]
    axes.plot(
        [dot.load for dot in solid],
        [dot.value_ms for dot in solid],
        color=CURVE,
        marker="o",
        label=f"{drawn.setting} evidence",
    )
    axes.plot(
        [dot.load for dot in hollow],
        [dot.value_ms for dot in hollow],
        color=CURVE,
        marker="o",
        markerfacecolor="none",
        linestyle="none",
        label="no evidence",
    )
    if panel.limit_ms is not None:
        axes.axhline(panel.limit_ms, color=LIMIT, lw=1, ls="--", label=f"limit {shown(panel.limit_ms)} ms")
    for mark in drawn.marks:
        colour, style = MARKS[mark.kind]
        axes.axvline(mark.load, color=colour, lw=1, ls=style, label=mark.name)
    axes.set_yscale("log")
    for set_formatter in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        set_formatter(LogFormatter(labelOnlyBase=False, minor_thresholds=(2, 0.5)))
    axes.set_xlim(left=0)
    axes.set_xlabel(drawn.unit)
    axes.set_ylabel(panel.title)
    axes.grid(visible=True, axis="y", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="best", fontsize=8, frameon=False)
