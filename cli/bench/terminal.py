"""The curves of a sweep in a terminal: latency over load, logarithmic upwards, with limit, knee and target."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from plotille import Canvas  # type: ignore[import-untyped]

from capacity.shown import shown
from cli.bench.picture import Mark, Panel, Picture

HEIGHT = 14
_MARGIN = 10
GLYPHS = {"knee": "│", "target": "┊", "failed": "*"}
_NO_DOTS = "\u2800"
"""Braille without a dot: a blank that terminals do not take for one."""


def lines(picture: Picture, width: int) -> Iterator[str]:
    """`picture` as lines of at most `width` characters."""
    yield picture.title
    most = 1.05 * picture.most
    columns = max(width - _MARGIN - 2, 20)
    for panel in picture.panels:
        yield ""
        limit = "" if panel.limit_ms is None else f"   (── limit {shown(panel.limit_ms)})"
        yield f"{panel.title}{limit}"
        yield from _panel(panel, picture, columns, most)
        yield from _loads(most, columns, picture.unit)
    if picture.panels:
        marks = "".join(f"   {GLYPHS[mark.kind]} {mark.name}" for mark in sorted(picture.marks, key=_load))
        yield f"\n● {picture.setting} evidence   ○ none{marks}"
    else:
        yield "nothing to draw: no point has both a load and a latency"


def _panel(panel: Panel, picture: Picture, columns: int, most: float) -> Iterator[str]:
    bottom, top = _decades(*panel.range_ms)
    canvas = Canvas(columns, HEIGHT, xmin=0, ymin=bottom, xmax=most, ymax=top)
    for mark in picture.marks:
        for row in range(HEIGHT):
            canvas.point(mark.load, bottom + (row + 0.5) * (top - bottom) / HEIGHT, marker=GLYPHS[mark.kind])
    if panel.limit_ms is not None:
        canvas.line(0, math.log10(panel.limit_ms), canvas.xmax_inside, math.log10(panel.limit_ms))
    places = [(dot.load, math.log10(dot.value_ms), dot) for dot in panel.dots]
    solid = [(load, height) for load, height, dot in places if not dot.is_hollow]
    for (load, height), (next_load, next_height) in pairwise(solid):
        canvas.line(load, height, next_load, next_height)
    for load, height, dot in places:
        canvas.point(load, height, marker="○" if dot.is_hollow else "●")
    labels = _labels(bottom, top)
    for row, text in enumerate(canvas.plot().replace(_NO_DOTS, " ").splitlines()):
        label = labels.get(HEIGHT - 1 - row)
        yield f"{label or '':>{_MARGIN - 2}} {'┤' if label else '│'}{text}".rstrip()


def _load(mark: Mark) -> float:
    return mark.load


def _decades(least_ms: float, greatest_ms: float) -> tuple[float, float]:
    """The logarithms between which all lies, with a tenth of air."""
    bottom, top = math.log10(least_ms), math.log10(greatest_ms)
    air = 0.1 * (top - bottom) or 0.5
    return bottom - air, top + air


def _labels(bottom: float, top: float) -> dict[int, str]:
    """Row from below -> 1, 2 or 5 of a decade, where there is one."""
    labels: dict[int, str] = {}
    for decade in range(math.floor(bottom), math.ceil(top) + 1):
        for step in (1, 2, 5):
            height = decade + math.log10(step)
            row = int((height - bottom) / (top - bottom) * HEIGHT)
            if bottom <= height < top:
                labels.setdefault(row, shown(step * 10.0**decade))
    return labels


def _loads(most: float, columns: int, unit: str) -> Iterator[str]:
    """The axis below: about five round loads."""
    step = next(nice for nice in _round_steps(most) if most / nice <= 6)
    axis, words = ["─"] * columns, [" "] * (columns + 8)
    for number in range(int(most / step) + 1):
        place = int(number * step / most * columns)
        if place < columns:
            axis[place] = "┬"
            text = shown(number * step) if number else "0"
            words[place : place + len(text)] = text
    margin = " " * (_MARGIN - 1)
    yield f"{margin}└{''.join(axis)}"
    yield f"{margin} {''.join(words).rstrip()}  {unit}"


def _round_steps(most: float) -> Iterator[float]:
    decade = math.floor(math.log10(most)) - 1
    while True:
        yield from (step * 10.0**decade for step in (1, 2, 5))
        decade += 1
