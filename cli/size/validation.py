"""What to try before a plan is believed, as sections and as data."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from capacity.shown import shown
from capacity.sizing.plan import Plan
from capacity.sizing.validation import SHORT, Loss, Run, Validation
from cli.output import number
from cli.size.section import Section
from stacks.folders import shown as place

OF_A_RUN = ("input_tokens", "output_tokens", "prefix_cache_hit_pct", "request_duration_s")
"""Fields of a class that the requests of a benchmark have too."""
UNITS = {"rps": "requests/s", "in_flight": "in flight"}


def validation_sections(plan: Plan, found: Validation) -> Iterator[Section]:
    """One replica again, twice as many, and what is left after a loss."""
    rows = tuple(
        (f"{shown(run.load)} {UNITS[run.axis]}", str(run.times), place(Path(run.of)), run.why) for run in found.runs
    )
    yield Section("To measure on one replica", ("load", "runs", "of", "why"), rows, tuple(_how(found)))
    yield _linearity(found)
    yield Section(
        "To lose at the peak",
        ("lost", "replicas that go", "remain", "each then at", "expected"),
        tuple(_loss(loss, found, plan) for loss in found.losses),
    )


def _how(found: Validation) -> Iterator[str]:
    if not found.runs:
        yield "nothing: target, crossing and repeats are measured, and the runs of each lie together"
    else:
        yield (
            "open loop, on the target hardware with the plan's configuration, at least "
            f"{found.requests} requests a run: then ten lie beyond the strictest percentile"
        )
    for kind, fields in found.assumed.items():
        runs = "; the runs are to have what is seen" if any(name.startswith(OF_A_RUN) for name in fields) else ""
        yield f"class {kind}: assumed, and to be looked up first: {', '.join(fields)}{runs}"
    for kind in found.of_the_mix:
        yield f"class {kind}: it rests on the number of the whole mix; measure it alone (per_replica)"


def _linearity(found: Validation) -> Section:
    one = found.linearity
    rows = tuple(
        (str(replicas), _amount(one.rps, share), _amount(one.in_flight, share), why)
        for replicas, share, why in (
            (one.replicas, Fraction(one.replicas), "N, each with all that it is to carry"),
            (2 * one.replicas, Fraction(2 * one.replicas), "2N, with twice as much"),
            (one.planned, one.peak, "the plan, with its peak"),
        )
    )
    columns = ("replicas", "requests/s", "in flight", "")
    return Section("To run with N and with 2N replicas", columns, rows, tuple(_meaning(found)))


def _meaning(found: Validation) -> Iterator[str]:
    """What it says if 2N do not carry twice as much."""
    one = found.linearity
    then = "the same" if one.if_short == one.planned else f"{one.if_short} replicas instead of {one.planned}"
    yield (
        "through production's own balancer: 2N end twice as many requests a second, at the percentiles that N have, to "
        "within the spread of the repeats"
    )
    yield (
        "less: routing, cached prefixes or the network take a part of each replica; at "
        f"{shown(100 * SHORT)} % of twice as much the plan is {then}"
    )
    yield "more: N were not loaded evenly, or were still starting; run them again before 2N are believed"
    if 2 * one.replicas > one.planned:
        yield "2N are more replicas than the plan has, for as long as the run takes"


def _amount(each: Fraction | None, times: Fraction) -> str:
    return "not said" if each is None else shown(each * times)


def _loss(loss: Loss, found: Validation, plan: Plan) -> tuple[str, ...]:
    each, held = "", found.linearity.in_flight
    if loss.each is not None:
        beside = f" ({shown(held * loss.each)} in flight)" if held is not None else ""
        each = f"{shown(100 * loss.each)} % of its number{beside}"
    if loss.is_carried:
        expected = "the SLO holds throughout" if loss.asked else "the SLO holds, although nobody asked for it"
    else:
        slots = plan.service.engine.max_num_seqs
        queues = held is not None and loss.each is not None and held * loss.each > slots
        waits = f"; beyond {slots} at once requests wait" if queues else ""
        expected = f"not planned for: no SLO until replicas are Ready again, {found.cold_start_s} s or more{waits}"
    return loss.domain, str(loss.gone), str(loss.remain), each, expected


def validation_data(found: Validation) -> dict[str, Any]:
    """Loads in the unit of their axis."""
    one = found.linearity
    return {
        "runs": [_run(run) for run in found.runs],
        "requests_a_run": found.requests,
        "assumed": {kind: list(fields) for kind, fields in found.assumed.items()},
        "classes_of_the_mix": list(found.of_the_mix),
        "linearity": {
            "replicas": one.replicas,
            "twice": 2 * one.replicas,
            "rps_each": number(one.rps),
            "in_flight_each": number(one.in_flight),
            "planned": one.planned,
            "replicas_if_short": one.if_short,
            "short_pct": int(100 * SHORT),
        },
        "losses": [
            {
                "domain": loss.domain,
                "gone": loss.gone,
                "remain": loss.remain,
                "each_pct": None if loss.each is None else number(100 * loss.each),
                "carried": loss.is_carried,
                "asked": loss.asked,
            }
            for loss in found.losses
        ],
    }


def _run(run: Run) -> dict[str, Any]:
    return {"load": number(run.load), "axis": run.axis, "times": run.times, "of": run.of, "why": run.why}
