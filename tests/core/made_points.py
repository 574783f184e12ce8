"""Points as a load generator would write them, of replicas whose truth is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from capacity.sweeps.curve import Curve, curve_of, judge
from capacity.sweeps.objective import Objective
from capacity.sweeps.sweep import Latency, Origin, Point

LADDER = (50.0, 90.0, 95.0, 99.0, 99.9)


def latency(mean_s: float, spread: float = 0.0) -> Latency:
    """All percentiles at the mean, or rising from it by `spread` of it at p99.9."""
    return Latency(mean_s, {each: mean_s * (1 + spread * (each - 50) / 50) for each in LADDER})


def open_point(rps: float, ttft_s: float, e2e_s: float | None = None, name: str = "", **more: object) -> Point:
    """An open-loop point that kept up, of ten minutes, with 2,000 requests and none failed."""
    point = Point(
        Origin(name or f"{rps:g}.json"),
        "made",
        arrivals="open",
        requested_rps=rps,
        achieved_rps=rps,
        throughput_rps=rps,
        duration_s=600.0,
        completed=2000,
        failed=0,
        ttft=latency(ttft_s),
        e2e=latency(ttft_s if e2e_s is None else e2e_s),
        output_tokens_per_s=100 * rps,
    )
    return replace(point, **more)  # type: ignore[arg-type]


def closed_point(held: int, rps: float, **more: object) -> Point:
    """A closed-loop point: `held` in flight, `rps` came of it; the answer takes what Little's law leaves."""
    point = Point(
        Origin(f"c{held}.json"),
        "made",
        arrivals="closed",
        throughput_rps=rps,
        concurrency_limit=float(held),
        concurrency=float(held),
        duration_s=6000.0,
        completed=60_000,
        failed=0,
        ttft=latency(0.5),
        tpot=latency(held / rps / 400),
        e2e=latency(held / rps),
        output_tokens_per_s=400 * rps,
    )
    return replace(point, **more)  # type: ignore[arg-type]


def open_curve(response_s: Callable[[float], float], loads: Sequence[float]) -> Curve:
    """The curve of a replica whose response time at a load is known."""
    return made_curve([open_point(load, response_s(load)) for load in loads])


def made_curve(points: Sequence[Point], objective: Objective | None = None) -> Curve:
    """The open-loop curve of `points`."""
    return curve_of([judge(point, objective) for point in points], "rps")


def exactly(*values: object) -> tuple[object, ...]:
    """Several at once, where a `Fraction` is compared with an `int`."""
    return values
