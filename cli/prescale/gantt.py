"""The timetable as a picture: a bar for each event and service, and below it the floor that comes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

import matplotlib as mpl
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from whenever import Instant

from cli.prescale.plan_answer import COLUMNS, Answer
from cli.svg import element
from prescale.windows.window import Timetable, Window
from stacks.loader import Stack

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
# More bars are no picture any more.
MOST_BARS = 40
INK, WARMING, RUNNING, HELD, NOW = "#1f2933", "#e3a857", "#2b5f9e", "#9bb8d9", "#b44a1e"


@dataclass(frozen=True)
class Chart:
    """What is drawn, and what was left out. `words` tell it to those who do not see it."""

    title: str
    zone: str
    now: Instant
    windows: tuple[Window, ...]
    left_out: int
    floors: dict[str, list[tuple[Instant, int]]]

    @property
    def words(self) -> str:
        return "; ".join(
            f"{one.event}, {one.service}: floor {one.floor} from {one.raise_at.format_iso()} to "
            f"{one.end.to_instant().format_iso()}{', cancelled' if one.cancelled else ''}"
            for one in self.windows
        )


def chart(stack: Stack, table: Timetable, now: Instant) -> Chart:
    """What is not over, in order of its raise."""
    coming = [window for window in table.windows if window.end.to_instant() > now]
    shown = tuple(coming[:MOST_BARS])
    floors = {
        name: _course(table, name, service.replicas.min, shown)
        for name, service in stack.platform.services.items()
        if any(window.service == name for window in shown)
    }
    title = f"Stack {stack.name}: what is raised, and when"
    return Chart(title, stack.calendar.timezone, now, shown, len(coming) - len(shown), floors)


def _course(table: Timetable, service: str, baseline: int, shown: Sequence[Window]) -> list[tuple[Instant, int]]:
    """The floor at every moment at which it may change, over the time that is drawn."""
    begin, end = _span(shown)
    moments = {begin, end}
    for window in table.of(service):
        moments |= {window.end.to_instant(), *(rise.raise_at for rise in window.all_rises)}
        moments |= {moment for hold in window.holds for moment in (hold.rise.raise_at, hold.until)}
    return [(at, table.floor_at(at, service, baseline)) for at in sorted(moments) if begin <= at <= end]


def _span(shown: Sequence[Window]) -> tuple[Instant, Instant]:
    """The time that is drawn: all of it, and a little of what lies before and after."""
    begin = min(_begin(window) for window in shown)
    end = max(window.end.to_instant() for window in shown)
    edge_s = round((end - begin).total("seconds") / 20)
    return begin.subtract(seconds=edge_s), end.add(seconds=edge_s)


def _begin(window: Window) -> Instant:
    return min([window.raise_at, *(hold.rise.raise_at for hold in window.holds)])


def page(told: Answer) -> str:
    """The picture with table and arithmetic in one HTML file: no script, nothing fetched."""
    drawn = chart(told.stack, told.table, told.now)
    environment = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, autoescape=True)
    rows, more = told.rows
    return environment.get_template("plan.html.j2").render(
        title=drawn.title,
        at=told.heading,
        svg=Markup(_element(drawn)),  # noqa: S704 - our own SVG
        left_out=drawn.left_out,
        columns=COLUMNS,
        rows=rows,
        lines=[*more, *told.lines],
    )


def svg(told: Answer) -> str:
    """An `<svg>` element; the same text for the same data."""
    return _element(chart(told.stack, told.table, told.now))


def _element(drawn: Chart) -> str:
    with mpl.rc_context({"date.converter": "concise"}):
        return element(_figure(drawn), "plan", drawn.title, drawn.words)


def _figure(drawn: Chart) -> Figure:
    bars = max(len(drawn.windows), 1)
    figure = Figure(figsize=(11, 2.6 + 0.42 * bars), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[0.42 * bars + 0.4, 1.8])
    above.set_title(drawn.title, loc="left", fontsize=11, color=INK, parse_math=False)
    for row, window in enumerate(drawn.windows):
        _bars(above, row, window)
    above.set_yticks(range(len(drawn.windows)), [f"{one.event}\n{one.service}" for one in drawn.windows], fontsize=8)
    for label in above.get_yticklabels():
        label.set_parse_math(False)
    above.invert_yaxis()
    above.legend(handles=_legend(), loc="upper right", fontsize=8, frameon=False, ncols=4, bbox_to_anchor=(1, 1.15))
    _floors(below, drawn)
    for axes in (above, below):
        axes.axvline(_at(drawn.now), color=NOW, lw=1, ls="--")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(visible=True, axis="x", alpha=0.25)
    _time_axis(below, drawn)
    return figure


def _bars(axes: Axes, row: int, window: Window) -> None:
    raised, start, end = _at(window.raise_at), _at(window.start.to_instant()), _at(window.end.to_instant())
    for hold in window.holds:
        since = _at(hold.rise.raise_at)
        axes.barh(row, _at(hold.until) - since, left=since, height=0.5, color=HELD, hatch="///", edgecolor=INK, lw=0.5)
    faces = ("none", "none") if window.cancelled else (WARMING, RUNNING)
    for since, until, face in ((raised, start, faces[0]), (start, end, faces[1])):
        axes.barh(row, until - since, left=since, height=0.5, color=face, edgecolor=INK, lw=0.5)
    said = "cancelled" if window.cancelled else f"{window.floor}"
    axes.annotate(said, (end, row), (4, 0), textcoords="offset points", va="center", fontsize=9, color=INK)


def _legend() -> list[Patch]:
    return [
        Patch(facecolor=WARMING, edgecolor=INK, label="getting warm, with its margin"),
        Patch(facecolor=RUNNING, edgecolor=INK, label="event, with its floor"),
        Patch(facecolor=HELD, edgecolor=INK, hatch="///", label="held over a gap"),
    ]


def _floors(axes: Axes, drawn: Chart) -> None:
    for service, course in drawn.floors.items():
        axes.step([_at(at) for at, _ in course], [floor for _, floor in course], where="post", label=service)
    axes.set_ylabel("floor, replicas")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(bottom=0)
    if drawn.floors:
        legend = axes.legend(loc="best", fontsize=8, frameon=False)
        for text in legend.get_texts():
            text.set_parse_math(False)


def _time_axis(axes: Axes, drawn: Chart) -> None:
    axes.xaxis_date(tz=ZoneInfo(drawn.zone))
    if drawn.windows:
        axes.set_xlim(*(_at(moment) for moment in _span(drawn.windows)))
    axes.set_xlabel(drawn.zone)


def _at(moment: Instant) -> float:
    """As matplotlib counts time: days since 1970."""
    days: float = moment.timestamp() / 86400
    return days
