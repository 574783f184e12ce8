"""A sweep in order of load: only the points that are evidence of it, repeats of one load together.

There are two curves of a sweep. Over the requests per second that arrive, from its open-loop points; and over the
requests in flight, from its closed-loop points, whose rate the replica itself set.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from capacity.sweeps.derived import in_flight, is_all_failed, is_closed_loop, load_rps
from capacity.sweeps.objective import Attainment, Objective, attainment
from capacity.sweeps.sweep import Point, exact
from capacity.sweeps.worth import Remark, remarks

Axis = Literal["rps", "in_flight"]
WORTHLESS = ("nothing-answered", "failures", "incomplete")
"""Remarks that may rule a point out for what is missing from its latencies, and not for its load."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A point, what is to be said of it, and how it stands to the objective, where there is one."""

    point: Point
    remarks: tuple[Remark, ...]
    attainment: Attainment | None

    @property
    def is_open_loop_evidence(self) -> bool:
        """Whether its load arrived as it says, whatever the replica did."""
        return load_rps(self.point) is not None and all(remark.rules_out == "nothing" for remark in self.remarks)

    @property
    def breaks(self) -> bool:
        """Whether so many of its requests failed that its latencies are worth nothing, and the objective is broken.

        Where all of them failed any objective is.
        """
        worthless = {remark.code for remark in self.remarks if remark.rules_out == "point"}
        is_broken = bool(worthless) and worthless <= set(WORTHLESS)
        fails = self.attainment is not None and self.attainment.verdict == "fails"
        return is_broken and (fails or is_all_failed(self.point))

    @property
    def is_in_flight_evidence(self) -> bool:
        """Whether it held a number of requests in flight, and measured what came of it."""
        return (
            is_closed_loop(self.point)
            and load_of(self.point, "in_flight") is not None
            and all(remark.rules_out != "point" for remark in self.remarks)
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One load, with every run of it: `load` is the least that any of them had."""

    load: Fraction
    runs: tuple[Judged, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """Steps of ascending load.

    not_reached: the most that a client sent when it could not send all; None if none. broken: loads at which so many
    requests failed that nothing is known of the latency, only that the objective was not kept.
    """

    axis: Axis
    steps: tuple[Step, ...]
    not_reached: Fraction | None = None
    broken: tuple[Fraction, ...] = ()


def judge(point: Point, objective: Objective | None = None) -> Judged:
    """`point` with its remarks and its verdict."""
    return Judged(point, remarks(point, objective), attainment(point, objective) if objective else None)


def load_of(point: Point, axis: Axis) -> Fraction | None:
    """What `point` stands for on `axis`."""
    if axis == "rps":
        return load_rps(point)
    held = in_flight(point)
    return held.value if held else None


def curve_of(points: Iterable[Judged], axis: Axis) -> Curve:
    """The curve over `axis`; without steps where no point is evidence of it."""
    judged = tuple(points)
    together: dict[float | Fraction, list[tuple[Fraction, Judged]]] = {}
    for run in judged:
        load = load_of(run.point, axis)
        if load is not None and (run.is_open_loop_evidence if axis == "rps" else run.is_in_flight_evidence):
            set_to = run.point.requested_rps if axis == "rps" else run.point.concurrency_limit
            together.setdefault(load if set_to is None else set_to, []).append((load, run))
    steps = [Step(min(load for load, _ in runs), tuple(run for _, run in runs)) for runs in together.values()]
    left_behind = [
        exact(run.point.achieved_rps)
        for run in judged
        if run.point.achieved_rps is not None and any(remark.code == "not-kept-up" for remark in run.remarks)
    ]
    not_reached = max(left_behind, default=None) if axis == "rps" else None
    broken = {load for run in judged if run.breaks and (load := _broken_load(run, axis)) is not None}
    return Curve(axis, tuple(sorted(steps, key=lambda step: step.load)), not_reached, tuple(sorted(broken)))


def _broken_load(run: Judged, axis: Axis) -> Fraction | None:
    """What its client set: of a closed loop, what it held, since those that failed were in flight, too."""
    if axis == "rps":
        return None if any(remark.rules_out == "load" for remark in run.remarks) else load_rps(run.point)
    held = run.point.concurrency_limit if is_closed_loop(run.point) else None
    return None if held is None else exact(held)
