"""Points into sweeps: by folder, each measurement once however often it was written."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from capacity.sweeps.sweep import Latency, Origin, Point, Sweep
from evidence.formats.source import Format


@dataclass
class Collection:
    """What was read so far. `repeated` are the places that held a measurement once more, and where it stood first.

    `rewritten` are those of them that tools write beside the first: a list of a folder's runs, another tool's report.
    """

    repeated: list[tuple[Origin, Origin]] = field(default_factory=list)
    rewritten: list[tuple[Origin, Origin]] = field(default_factory=list)
    _points: list[tuple[str, Format, Point]] = field(default_factory=list)
    _first: dict[tuple[Any, ...], Origin] = field(default_factory=dict)

    def add(self, folder: str, row: Format, point: Point) -> None:
        """Take `point` into the sweep of `folder`, unless it was taken before."""
        first = self._first.setdefault(_measurement(point), point.origin)
        if first is point.origin:
            self._points.append((folder, row, point))
        else:
            is_listed = bool(first.place) != bool(point.origin.place)
            self._again(point.origin, first, by_a_tool=is_listed or row.is_secondhand)

    def _again(self, origin: Origin, first: Origin, *, by_a_tool: bool) -> None:
        beside = origin.file != first.file and PurePath(origin.file).parent == PurePath(first.file).parent
        (self.rewritten if by_a_tool and beside else self.repeated).append((origin, first))

    def sweeps(self) -> tuple[Sweep, ...]:
        """All of them, in the order in which their first points were read."""
        self._drop_conversions()
        names = self._names()
        sweeps: defaultdict[str, list[Point]] = defaultdict(list)
        for folder, row, point in self._points:
            sweeps[names.get(_run_folder(folder, row, point), folder)].append(point)
        return tuple(Sweep(name, tuple(sorted(points, key=_load))) for name, points in sweeps.items())

    def _drop_conversions(self) -> None:
        """Leave out what was converted from a result that is there itself."""
        native = {_latencies(point): point.origin for _, row, point in self._points if not row.is_secondhand}
        native.pop((None, None, None), None)  # of those that all failed, each is its own
        kept = []
        for folder, row, point in self._points:
            first = native.get(_latencies(point)) if row.is_secondhand else None
            if first is None:
                kept.append((folder, row, point))
            else:
                self._again(point.origin, first, by_a_tool=True)
        self._points = kept

    def _names(self) -> dict[tuple[Any, ...], str]:
        """The sweep of runs that lie in folders beside each other, where they served the same."""
        beside: defaultdict[tuple[str, Any], set[tuple[Any, ...]]] = defaultdict(set)
        for folder, row, point in self._points:
            if run := _run_folder(folder, row, point):
                beside[str(PurePath(folder).parent), run[1:]].add(run)
        return {run: parent for (parent, _), runs in beside.items() if len(runs) > 1 for run in runs}


def _run_folder(folder: str, row: Format, point: Point) -> tuple[Any, ...]:
    return (folder, row.name, *sorted(point.configuration.items())) if row.one_run_a_folder else ()


def _measurement(point: Point) -> tuple[Any, ...]:
    """What no two runs have in common: what the point says, and not where it was read."""
    numbers = (point.requested_rps, point.concurrency_limit, point.throughput_rps, point.duration_s, point.completed)
    served = tuple(sorted(point.configuration.items()))
    return (point.tool, served, *numbers, point.output_tokens_per_s, *_latencies(point))


def _latencies(point: Point) -> tuple[Any, ...]:
    return tuple(_ladder(latency) for latency in (point.ttft, point.tpot, point.e2e))


def _ladder(latency: Latency | None) -> tuple[Any, ...] | None:
    return None if latency is None else (latency.mean_s, *latency.percentiles_s.items())


def _load(point: Point) -> tuple[int, float]:
    """Least load first: by the rate asked for, then closed loops by their concurrency, then the rest as measured."""
    if point.requested_rps is not None:
        return 0, point.requested_rps
    concurrency = point.concurrency_limit or point.concurrency
    return (1, concurrency) if concurrency is not None else (2, point.throughput_rps or 0)
