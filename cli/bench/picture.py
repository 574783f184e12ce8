"""A sweep as a picture: what is drawn, whatever draws it. Loads in the curve's unit, latencies in milliseconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from capacity.shown import shown
from capacity.sweeps.curve import Judged, load_of
from capacity.sweeps.operating import Reading
from capacity.sweeps.sweep import Latency, LatencyName

UNITS = {"rps": "requests/s", "in_flight": "requests in flight"}
SETTING = {"rps": "open-loop", "in_flight": "closed-loop"}
NAMES: dict[LatencyName, str] = {"ttft": "TTFT", "tpot": "TPOT", "itl": "ITL", "e2e": "answer"}
_PREFERRED = (95.0, 99.0, 90.0, 50.0)


@dataclass(frozen=True, slots=True)
class Dot:
    """One measured point; hollow where it is no evidence of the load it lies at."""

    load: float
    value_ms: float
    is_hollow: bool


@dataclass(frozen=True, slots=True)
class Panel:
    """One latency over load, with its limit."""

    title: str
    dots: tuple[Dot, ...]
    limit_ms: float | None

    @property
    def range_ms(self) -> tuple[float, float]:
        """Least and greatest of what is drawn."""
        values = [dot.value_ms for dot in self.dots] + ([] if self.limit_ms is None else [self.limit_ms])
        return min(values), max(values)

    def words(self, setting: str, unit: str) -> str:
        """Where its dots lie, and where its limit."""
        solid = [dot for dot in self.dots if not dot.is_hollow]
        loads = [shown(dot.load) for dot in solid]
        values = [shown(dot.value_ms) for dot in solid]
        between = f": {values[0]} ms at {loads[0]} to {values[-1]} ms at {loads[-1]} {unit}" if solid else ""
        others = f", {len(self.dots) - len(solid)} of no evidence" if len(solid) < len(self.dots) else ""
        limit = "" if self.limit_ms is None else f", limit {shown(self.limit_ms)} ms"
        return f"{self.title} over {unit}, {len(solid)} {setting} points{between}{others}{limit}"


@dataclass(frozen=True, slots=True)
class Mark:
    """A load to be shown on every panel."""

    kind: Literal["knee", "target", "failed"]
    name: str
    load: float


@dataclass(frozen=True, slots=True)
class Picture:
    """A sweep's panels and marks; without panels where nothing can be drawn."""

    title: str
    unit: str
    setting: str
    panels: tuple[Panel, ...]
    marks: tuple[Mark, ...]

    @property
    def most(self) -> float:
        """The greatest load of anything drawn."""
        loads = [dot.load for panel in self.panels for dot in panel.dots] + [mark.load for mark in self.marks]
        return max(loads, default=0.0)

    @property
    def words(self) -> str:
        """What it shows, for those who do not see it."""
        said = [panel.words(self.setting, self.unit) for panel in self.panels]
        return ". ".join([*said, *(f"{mark.name} {self.unit}" for mark in self.marks)]) or "Nothing to draw"


def picture(reading: Reading, kind: str | None = None) -> Picture:
    """What to draw of `reading`; evidence of another `kind` than measured is titled so."""
    axis = reading.curve.axis
    marks = []
    if reading.knee:
        words = "knee at or above" if reading.knee.is_at_or_above else "knee"
        marks.append(Mark("knee", f"{words} {shown(reading.knee.load)}", float(reading.knee.load)))
    if reading.capacity and (target := reading.capacity.target.rps or reading.capacity.target.in_flight):
        marks.append(Mark("target", f"target {shown(target)}", float(target)))
    if broken := reading.curve.broken:
        marks.append(Mark("failed", f"requests failed at {shown(broken[0])}", float(broken[0])))
    title = reading.sweep.name if kind in {None, "measured"} else f"{reading.sweep.name}: {kind}, not measured"
    return Picture(title, UNITS[axis], SETTING[axis], tuple(_panels(reading)), tuple(marks))


def _panels(reading: Reading) -> Iterator[Panel]:
    limits = {limit.latency: limit.limit_s for limit in reading.objective.limits} if reading.objective else {}
    drawn = False
    for name in NAMES:
        if name in {"ttft", "tpot"} or name in limits or (name == "e2e" and not drawn):
            panel = _panel(reading, name, float(1000 * limits[name]) if name in limits else None)
            if panel:
                drawn = True
                yield panel


def _panel(reading: Reading, name: LatencyName, limit_ms: float | None) -> Panel | None:
    runs = [
        (float(load), run, latency)
        for run in reading.runs
        if (load := load_of(run.point, reading.curve.axis)) and (latency := run.point.latency(name))
    ]
    percentile = _common([latency for _, _, latency in runs])
    dots = tuple(
        Dot(load, 1000 * value, is_hollow=not is_evidence(run, reading))
        for load, run, latency in runs
        if (value := latency.mean_s if percentile is None else latency.percentiles_s[percentile]) is not None
        if value > 0
    )
    title = f"{NAMES[name]} {'mean' if percentile is None else f'p{percentile:g}'}, ms"
    return Panel(title, tuple(sorted(dots, key=lambda dot: dot.load)), limit_ms) if dots else None


def _common(latencies: Sequence[Latency]) -> float | None:
    """The percentile that all have, p95 before others; None for the mean."""
    return next((each for each in _PREFERRED if all(each in latency.percentiles_s for latency in latencies)), None)


def is_evidence(run: Judged, reading: Reading) -> bool:
    """Whether `run` is on the curve that the reading's conclusions are drawn from."""
    return any(run is other for step in reading.curve.steps for other in step.runs)
