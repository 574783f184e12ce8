"""Plans as one HTML file: reserves, money and the evidence's curves drawn, no script, nothing fetched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from capacity.purchase.pool import Bought
from capacity.sizing.plan import End, Plan
from cli.bench import chart
from cli.bench import text as bench_text
from cli.bench.picture import picture
from cli.size.chapters import chapters
from cli.size.purchase import dollars
from cli.size.report import Report
from cli.svg import element
from stacks.folders import shown

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"

COLOURS = ("#2b5f9e", "#1c6e5a", "#7a3b8f", "#b4821e", "#b44a1e")
"""Of the base, and of the parts of the reserve in their order."""

INK = "#1f2933"


def html(report: Report) -> str:
    """The page."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, autoescape=True, trim_blocks=True
    )
    charts = {plan.name: reserve_svg(plan, f"reserve-{number}") for number, plan in enumerate(report.plans)}
    charts |= {
        f"pool {one.pool}": svg
        for number, one in enumerate(report.bill.pools)
        if one.bought and (svg := money_svg(one.bought, f"money-{number}"))
    }
    curves = [
        {
            "name": shown(Path(reading.sweep.name)),
            "svg": Markup(chart.svg([picture(reading)], f"curve-{number}")),  # noqa: S704 - our own SVG
            "conclusions": list(bench_text.conclusions(reading)),
        }
        for number, reading in enumerate(report.readings, 1)
    ]
    return environment.get_template("size-report.html.j2").render(
        title=f"Sizing of stack {report.stack}",
        findings=report.findings,
        chapters=list(chapters(report)),
        charts={title: Markup(svg) for title, svg in charts.items()},  # noqa: S704 - our own SVG
        diff=report.diff,
        notes=report.notes,
        curves=curves,
    )


@contextmanager
def _bars(names: list[str], label: str) -> Iterator[tuple[Axes, Figure]]:
    """Horizontal bars to draw, one below the other; the figure is whole afterwards."""
    figure = Figure(figsize=(9, 1.2 + 0.5 * len(names)), layout="constrained")
    axes = figure.subplots()
    yield axes, figure
    axes.set_yticks(range(len(names)), names)
    figure.legend(loc="outside upper left", ncols=len(COLOURS), frameon=False)
    axes.set_xlabel(label)
    axes.set_xlim(left=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(left=False)


def reserve_svg(plan: Plan, name: str) -> str:
    """The replicas as a bar of their sets, both ends where they differ, and the ceiling.

    Args:
        name: of no other drawing on the page.
    """
    ends = [("", plan.most)] if plan.fewest == plan.most else [("at most", plan.most), ("at least", plan.fewest)]
    with _bars([name for name, _ in ends], f"replicas of {plan.workload.service}; dashed: its ceiling") as (
        axes,
        figure,
    ):
        for row, (_, end) in enumerate(ends):
            _bar(axes, row, end)
        axes.axvline(plan.service.replicas.max, color=INK, linestyle="--", linewidth=1)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    said = "; ".join(f"{word or 'replicas'}: {_words(end)}" for word, end in ends)
    ceiling = f"ceiling of {plan.workload.service}: {plan.service.replicas.max}"
    return element(figure, name, f"Reserve of {plan.name}", f"{said}; {ceiling}")


def _words(end: End) -> str:
    parts = [part for part in end.reserve.parts if part.replicas and not part.covered]
    return ", ".join(f"{part.name.replace('_', ' ')} {part.replicas}" for part in parts)


def money_svg(bought: Bought, name: str) -> str | None:
    """A month by way of paying, from the baselines alone to the peak's nodes always; None where no price is known.

    Args:
        name: of no other drawing on the page.
    """
    known = [(way, way.least.usd, way.most.usd) for way in reversed(bought.ways)]  # drawn upwards
    ways = [
        (way.term.replace("_", " "), least, most)
        for way, least, most in known
        if least is not None and most is not None
    ]
    if not ways:
        return None
    with _bars([name for name, _, _ in ways], "$ a month") as (axes, figure):
        for row, (_, least, most) in enumerate(ways):
            first = row == 0
            axes.barh(row, float(least), color=COLOURS[0], height=0.6, label="baselines" if first else "_")
            beyond = "beyond them, if the peak's nodes always run" if first else "_"
            axes.barh(row, float(most - least), left=float(least), color=COLOURS[3], height=0.6, label=beyond)
            axes.text(float(most), row, f" {dollars(most)}", va="center", color=INK, fontsize=9)
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    said = "; ".join(f"{term}: {dollars(least)} to {dollars(most)}" for term, least, most in ways)
    return element(figure, name, "$ a month, from the baselines alone to the peak's nodes always", said)


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
