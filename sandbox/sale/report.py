"""The sale as one HTML file that opens anywhere: verdict, figure, settings. No script, nothing fetched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from sandbox.sale.verdict import Expectation

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"


@dataclass(frozen=True)
class Play:
    """One way of playing the sale, drawn."""

    title: str
    svg: str


def write(
    path: Path, title: str, facts: Sequence[tuple[str, str]], expectations: Sequence[Expectation], plays: Sequence[Play]
) -> None:
    """Write the report; `facts` are name and value, in order."""
    environment = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, autoescape=True)
    drawn = [{"title": play.title, "svg": Markup(play.svg)} for play in plays]  # noqa: S704 - our own SVG
    text = environment.get_template("sale-report.html.j2").render(
        title=title, facts=facts, expectations=expectations, plays=drawn, met=all(line.met for line in expectations)
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
