"""What to measure before a plan is believed: single loads again, twice the replicas, and what is left after a loss.

A plan divides by one replica's number, so that number is measured again where the answer turns. That many replicas
carry so many times as much, and that the rest carries a loss, no single replica can show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import get_args

from capacity.replicas import whole
from capacity.shown import shown
from capacity.sizing.plan import Plan
from capacity.sizing.policy import policy, reserve
from capacity.sizing.reserve import Domain, lost
from capacity.sweeps.curve import Axis
from capacity.sweeps.goodput import Spread
from capacity.sweeps.objective import P95
from capacity.sweeps.operating import Reading
from capacity.sweeps.worth import OBSERVED_BEYOND, TENTH
from stacks.spec import NodePool

RUNS = 3
"""Two runs that differ do not say which is the odd one."""
AROUND_TYPED = (Fraction(3, 4), Fraction(1), Fraction(5, 4), Fraction(3, 2))
"""Of a number without result files: below, at and above it, and where it should fail."""
FURTHER = Fraction(5, 4)
CLASSES = "profile.classes."
SHORT = Fraction(9, 10)
"""Of twice what half the replicas carry: the deviation whose price is told."""


@dataclass(frozen=True)
class Run:
    """One load to put on one replica, `times` over; `of` is the class, or the sweep that it belongs to."""

    load: Fraction
    axis: Axis
    times: int
    of: str
    why: str


@dataclass(frozen=True)
class Linearity:
    """`replicas` and twice as many, each under its part of the peak; then all of the plan's under all of it.

    rps, in_flight: at one replica's full load; None where the plan has no such number. planned: replicas of the plan;
    if_short: what it would be if twice as many carried only `SHORT` of twice as much.
    """

    replicas: int
    rps: Fraction | None
    in_flight: Fraction | None
    planned: int
    peak: Fraction
    if_short: int


@dataclass(frozen=True)
class Loss:
    """A domain lost at the peak. each: replicas of load on each that remains; None where none does.

    asked: the request wants it survived.
    """

    domain: Domain
    gone: int
    remain: int
    each: Fraction | None
    asked: bool

    @property
    def is_carried(self) -> bool:
        """Whether the rest is not asked for more than one replica's number each."""
        return self.each is not None and self.each <= 1


@dataclass(frozen=True)
class Validation:
    """Everything that is to be tried.

    requests: how many a run needs at least, for its percentile to be believed. assumed: class -> fields that nobody has
    seen. of_the_mix: of several classes those that were not measured by themselves.
    """

    runs: tuple[Run, ...]
    requests: int
    assumed: Mapping[str, tuple[str, ...]]
    of_the_mix: tuple[str, ...]
    linearity: Linearity
    losses: tuple[Loss, ...]
    cold_start_s: int


def validation(plan: Plan, pool: NodePool, readings: Sequence[Reading] = ()) -> Validation:
    """What to try of `plan`, at its upper end where it is a range.

    Args:
        readings: of the result files it rests on.
    """
    required = Fraction(plan.workload.slo.attainment_pct or plan.service.slo.attainment_pct) / 100
    may_miss = 1 - max(P95, required) or 1 - P95
    ours = readings if plan.kind == "measured" else ()  # what was measured elsewhere is not measured better
    return Validation(
        runs=(*_typed(plan), *(run for reading in ours for run in _measured(reading))),
        requests=whole(OBSERVED_BEYOND / may_miss),
        assumed=_assumed(plan),
        of_the_mix=_of_the_mix(plan),
        linearity=_linearity(plan, pool),
        losses=tuple(_losses(plan, pool)),
        cold_start_s=plan.service.cold_start.total_s,
    )


def _typed(plan: Plan) -> Iterator[Run]:
    """Of classes whose number no result file shows, or none from the target hardware."""
    for kind, carries in plan.carries.items():
        if carries.why and carries.kind == "measured":
            continue
        load = plan.most.offered[kind].load
        rps, held, full = load.get("rps"), load.get("in_flight"), carries.load["in_flight"]
        each = full * rps / held if rps and held else None
        why = f"is {carries.kind} evidence" if carries.kind != "measured" else "no result files show"
        for share in AROUND_TYPED:
            text = f"{shown(100 * share)} % of its number, which {why}"
            yield Run(share * (each or full), "rps" if each else "in_flight", RUNS, kind, text)


def _assumed(plan: Plan) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for gap in plan.assumptions:
        if gap.field.startswith(CLASSES):
            kind, _, field = gap.field.removeprefix(CLASSES).partition(".")
            found.setdefault(kind, []).append(field)
    return {kind: tuple(fields) for kind, fields in found.items()}


def _of_the_mix(plan: Plan) -> tuple[str, ...]:
    classes = plan.workload.profile.classes
    return tuple(kind for kind, load in classes.items() if not load.per_replica) if len(classes) > 1 else ()


def _measured(reading: Reading) -> Iterator[Run]:
    """Around the target and the crossing, and where repeats are missing or lie apart; each load once."""
    found: dict[Fraction, Run] = {}
    for load, times, why in (*_apart(reading.spreads), *_around(reading)):
        missing = times - sum(len(step.runs) for step in reading.curve.steps if step.load == load)
        if missing > 0 and load not in found:
            found[load] = Run(load, reading.curve.axis, missing, reading.sweep.name, why)
    yield from sorted(found.values(), key=lambda run: run.load)


def _apart(spreads: Sequence[Spread]) -> Iterator[tuple[Fraction, int, str]]:
    """Loads whose runs differ by more than a tenth, or in whether the objective holds: as many again, and then some."""
    for one in spreads:
        wide = [name for name, (least, most) in one.p95_s.items() if most > (1 + TENTH) * least]
        if wide:
            why = f"p95 of {' and '.join(wide)} differs by more than a tenth between {one.runs} runs"
            yield one.load, one.runs + RUNS, why
        elif 0 < one.held < one.runs:
            yield one.load, one.runs + RUNS, f"the objective held in {one.held} of {one.runs} runs"


def _around(reading: Reading) -> Iterator[tuple[Fraction, int, str]]:
    """Loads that the answer turns on."""
    axis, kept, capacity = reading.curve.axis, reading.goodput, reading.capacity
    found: list[tuple[Fraction | None, str]] = []
    if capacity:
        found.append((getattr(capacity.target, axis), "the target: what every replica is to carry"))
    if kept:
        further = kept.load * FURTHER if kept.load is not None and kept.fails_at is None else None
        found += [
            (kept.load, "the highest load at which the objective holds"),
            (kept.crossing, "where the objective is reckoned to be just kept"),
            (kept.fails_at, "the lowest load at which it fails"),
            (further, "nothing failed yet: go on until something does"),
        ]
        # Below the highest that holds, that one answers for them.
        untold = [load for load in kept.unknown if load >= (kept.load or 0)]
        found += [(load, "the file does not tell whether the objective holds") for load in untold]
    yield from ((load, RUNS, why) for load, why in found if load is not None)


def _linearity(plan: Plan, pool: NodePool) -> Linearity:
    end = plan.most
    peak, running = end.peak, end.reserve.running
    total = {
        name: sum((load.load[name] for load in end.offered.values()), Fraction(0))
        for name in ("rps", "in_flight")
        if all(name in load.load for load in end.offered.values())
    }
    short = reserve(peak / SHORT, end.growth / SHORT, end.reliability, plan.service, pool, peak=peak / SHORT)
    return Linearity(
        replicas=max(running // 2, 1),
        rps=total["rps"] / peak if "rps" in total else None,
        in_flight=total["in_flight"] / peak if "in_flight" in total else None,
        planned=running,
        peak=peak,
        if_short=short.running,
    )


def _losses(plan: Plan, pool: NodePool) -> Iterator[Loss]:
    """Of every domain; zones only where it is said, or assumed, how many there are."""
    end = plan.most
    has = policy(end.reliability, plan.service, pool)
    domains: tuple[Domain, ...] = get_args(Domain)
    running, order = end.reserve.running, domains.index(has.survive)
    for domain in domains[1:]:
        if domain == "zone" and end.reliability.zones is None:
            continue
        gone = lost(running, replace(has, survive=domain))
        remain = running - gone
        each = end.peak * has.capacity_after_loss_pct / 100 / remain if remain else None
        yield Loss(domain, gone, remain, each, domains.index(domain) <= order)
