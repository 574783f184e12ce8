"""What a measured point is worth as evidence: remarks, each with what it rules out.

A remark rules out nothing (to be known, not more), the load (the requests per second of the point say nothing of what
the replica sustains; its requests in flight may), or the point as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from capacity.shown import shown
from capacity.sweeps.derived import (
    KEPT_UP,
    answer_s,
    chance,
    in_flight,
    is_all_failed,
    is_closed_loop,
    load_rps,
    sent,
    sent_at_least_rps,
)
from capacity.sweeps.objective import Objective
from capacity.sweeps.sweep import Point, Sweep, exact

RulesOut = Literal["nothing", "load", "point"]
Code = Literal[
    "nothing-answered",
    "closed-loop",
    "burst",
    "arrivals-unknown",
    "replay",
    "even",
    "sending-unknown",
    "not-kept-up",
    "kept-up-unknown",
    "client-queue",
    "failures",
    "failures-unknown",
    "incomplete",
    "few-requests",
    "short",
    "first-wave",
    "little",
]

TENTH = Fraction(1, 10)
"""How far two accounts of one thing may lie apart: what is beyond it is not noise."""
OBSERVED_BEYOND = 10
"""Requests that should lie beyond a percentile before it is believed."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing to know of a point."""

    code: Code
    text: str
    rules_out: RulesOut = "nothing"


def remarks(point: Point, objective: Objective | None = None) -> tuple[Remark, ...]:
    """All that is to be said of `point`, for an objective where one is asked."""
    return tuple(remark for rule in _RULES for remark in rule(point, objective))


def _arrivals(point: Point, _objective: Objective | None) -> Iterator[Remark]:
    if is_closed_loop(point):
        limit = point.concurrency_limit
        held = "as many as before were held" if limit is None else f"{shown(limit)} were held"
        text = f"closed loop: {held} in flight, each request sent after another's end: a slow server is sent less"
        yield Remark("closed-loop", text, "load")
    elif point.arrivals == "burst":
        yield Remark("burst", "all requests were sent at once: there was no rate", "load")
    elif point.arrivals is None:
        yield Remark("arrivals-unknown", "the file does not say how requests were sent", "load")
    elif point.arrivals == "replay":
        yield Remark("replay", "sent at the times of a trace: the load is its mean, and its peaks were higher")
    elif point.is_evenly_spaced or (point.burstiness or 0) > 1:
        yield Remark("even", "requests were spaced evener than at random: real ones come in bunches and wait longer")


def _kept_up(point: Point, _objective: Objective | None) -> Iterator[Remark]:
    if point.arrivals != "open" or point.requested_rps is None:
        return
    asked, held, limit = exact(point.requested_rps), in_flight(point), point.concurrency_limit
    at_the_limit = limit is not None and held is not None and held.value >= (1 - TENTH) * exact(limit)
    full = f"; {shown(held.value)} in flight by Little's law, of at most {shown(limit)}" if held and limit else ""
    least = sent_at_least_rps(point)
    if point.achieved_rps is not None:
        if exact(point.achieved_rps) < KEPT_UP * asked:
            text = f"the client sent {shown(point.achieved_rps)} of the {shown(asked)} requests/s asked{full}"
            if at_the_limit or 1 - exact(point.achieved_rps) / asked > chance(point):
                yield Remark("not-kept-up", f"{text}: a closed loop", "load")
            else:
                yield Remark("kept-up-unknown", f"{text}: {_by_chance(point)}, too few to tell; it counts as sent")
    elif at_the_limit:
        yield Remark("not-kept-up", f"the client was at its limit{full}: a closed loop", "load")
    elif load_rps(point) != asked:
        text = f"the file does not say how fast the {shown(asked)} requests/s were really sent"
        known = f"; counted as {shown(least.value)}, over the whole run" if least else ""
        yield Remark("sending-unknown", text + known, "nothing" if least else "load")


def _by_chance(point: Point) -> str:
    return f"of {sent(point)} requests chance alone takes up to {shown(100 * chance(point))} %"


def _client_queue(point: Point, objective: Objective | None) -> Iterator[Remark]:
    """Waiting in the client that the file's latencies leave out, against what it is to be small beside.

    In a closed loop it is no fault: there all but those held wait.
    """
    waited, answer = point.client_queue, answer_s(point)
    if waited is None or waited.mean_s is None or is_closed_loop(point):
        return
    limits = [limit.limit_s for limit in objective.limits if limit.latency == "ttft"] if objective else []
    beside = min([*limits, *([answer.value] if answer else [])], default=None)
    if beside is not None and exact(waited.mean_s) > TENTH * beside:
        text = f"requests waited {shown(waited.mean_s)} s in the client on average, which the latencies leave out"
        yield Remark("client-queue", text, "load")


def _failures(point: Point, _objective: Objective | None) -> Iterator[Remark]:
    requests = sent(point)
    if is_all_failed(point):
        text = f"failed here: all {point.failed} requests; if not for another reason, a replica carries less"
        yield Remark("nothing-answered", text, "point")
        return
    if point.completed == 0:
        yield Remark("nothing-answered", "no request was answered", "point")
    if point.failed is None:
        yield Remark("failures-unknown", "the file does not count failed requests")
    if requests and point.failed:
        text = f"{point.failed} of {requests} requests failed; the latencies are those of the others"
        yield Remark("failures", text, "point" if point.failed > (1 - KEPT_UP) * requests else "nothing")
    if requests and point.incomplete:
        text = f"{point.incomplete} of {requests} requests were cut off, or what came of them is not said"
        text += "; the slowest are missing"
        yield Remark("incomplete", text, "point" if point.incomplete > TENTH * requests else "nothing")


def _sample(point: Point, objective: Objective | None) -> Iterator[Remark]:
    """Too few for the highest percentile asked; and whether those that came first, together, are what it shows."""
    if objective is None or point.completed == 0:
        return
    if point.completed is None:
        yield Remark("few-requests", "the file does not say how many requests were answered")
        return
    beyond = 1 - objective.strictest
    asked = f"p{shown(objective.strictest * 100)}"
    if point.completed * beyond < OBSERVED_BEYOND:
        needed = f"{shown(OBSERVED_BEYOND / beyond)} are needed" if beyond else "no number is enough"
        yield Remark("few-requests", f"{point.completed} requests answered; for {asked} {needed}")
    wave = point.concurrency_limit if is_closed_loop(point) else point.completed if point.arrivals == "burst" else None
    if wave is not None and exact(wave) > beyond * point.completed:
        text = f"the first {shown(wave)} requests came together, of {point.completed}: {asked} of TTFT is their wait"
        yield Remark("first-wave", text)


def _short(point: Point, _objective: Objective | None) -> Iterator[Remark]:
    """A run's beginning and end, when the replica is not full, are about one answer long."""
    answer = answer_s(point)
    if answer is None or point.duration_s is None or exact(point.duration_s) * TENTH >= answer.value:
        return
    text = f"the run took {shown(point.duration_s)} s, less than ten answers of {shown(answer.value)} s"
    yield Remark("short", text)


def _little(point: Point, _objective: Objective | None) -> Iterator[Remark]:
    """Throughput x mean answer is the requests in flight, or one of the three is something else than it seems.

    And no more is answered than sent.
    """
    rates = [rate for rate in (point.requested_rps, point.achieved_rps) if rate is not None]
    by_chance = chance(point) if point.achieved_rps is None else 0
    most = exact(max(rates, default=0)) * (1 + max(TENTH, exact(by_chance)))
    if rates and point.throughput_rps is not None and exact(point.throughput_rps) > most:
        text = f"{shown(point.throughput_rps)} requests/s were answered, but {shown(max(rates))} were sent"
        yield Remark("little", text, "point")
    held = point.concurrency
    if held is None and is_closed_loop(point):
        held = point.concurrency_limit
    answer = answer_s(point)
    if not held or answer is None or point.throughput_rps is None:
        return
    reckoned = exact(point.throughput_rps) * answer.value
    if abs(reckoned - exact(held)) > TENTH * exact(held):
        text = f"throughput x mean answer is {shown(reckoned)} in flight, but {shown(held)} were"
        yield Remark("little", text)


_RULES: tuple[Callable[[Point, Objective | None], Iterator[Remark]], ...] = (
    _arrivals,
    _kept_up,
    _client_queue,
    _failures,
    _sample,
    _short,
    _little,
)


def mixed_configurations(sweep: Sweep) -> tuple[str, ...]:
    """Where the points of one sweep name different serving configurations: such a curve is of nothing."""
    found: dict[str, dict[str, str]] = {}
    for point in sweep.points:
        for name, value in point.configuration.items():
            found.setdefault(name, {}).setdefault(value, str(point.origin))
    return tuple(
        f"{name}: " + ", ".join(f"{value} ({origin})" for value, origin in values.items())
        for name, values in sorted(found.items())
        if len(values) > 1
    )


def mixed_work(sweep: Sweep) -> tuple[str, ...]:
    """Where the points ask for different work, by more than a tenth: the curve is of load and of length."""
    said = []
    for field, what in (("input_tokens_mean", "prompts"), ("output_tokens_mean", "answers")):
        means = [mean for point in sweep.points if (mean := getattr(point, field)) is not None]
        if means and exact(min(means)) < (1 - TENTH) * exact(max(means)):
            said.append(f"{what} of {shown(min(means))} to {shown(max(means))} tokens on average")
    return tuple(said)
