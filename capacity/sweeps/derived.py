"""What follows from a point's own figures: how long an answer took, what was in flight, what load it stands for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from capacity.sweeps.sweep import Latency, Point, exact

KEPT_UP = Fraction(97, 100)
"""A generator that sent less than this share of what it was told did not keep up, and the load is not what it says."""
CHANCE_SDS = 2
"""Standard deviations of a count that are left to chance: less, of arrivals at random, one run in 44 has."""


@dataclass(frozen=True, slots=True)
class Reckoned:
    """A number that no key of the file holds, and the fields of the point that it was reckoned from."""

    value: Fraction
    by: str


def typical_s(latency: Latency | None) -> Fraction | None:
    """The mean, else the median."""
    if latency is None:
        return None
    value = latency.mean_s if latency.mean_s is not None else latency.percentiles_s.get(50.0)
    return None if value is None else exact(value)


def answer_s(point: Point) -> Reckoned | None:
    """Mean seconds from a request to the end of its answer; from its first token and its pace where no file says so."""
    if (whole := typical_s(point.e2e)) is not None:
        return Reckoned(whole, "e2e")
    first, each, tokens = typical_s(point.ttft), typical_s(point.tpot), point.output_tokens_mean
    if first is None or each is None or tokens is None:
        return None
    return Reckoned(first + each * max(exact(tokens) - 1, Fraction(0)), "ttft + tpot x (output_tokens_mean - 1)")


def in_flight(point: Point) -> Reckoned | None:
    """Requests that the server had at any moment: throughput x mean answer, else as measured, else as held.

    Source: Little's law, L = lambda x W (J. D. C. Little, 1961).
    """
    answer = answer_s(point)
    if point.throughput_rps is not None and answer is not None:
        return Reckoned(exact(point.throughput_rps) * answer.value, f"throughput_rps x ({answer.by})")
    if point.concurrency is not None:
        return Reckoned(exact(point.concurrency), "concurrency")
    if is_closed_loop(point) and point.concurrency_limit is not None:
        return Reckoned(exact(point.concurrency_limit), "concurrency_limit")
    return None


def is_closed_loop(point: Point) -> bool:
    """Whether the client held the requests in flight, and not their rate: a burst behind a limit does, too."""
    return point.arrivals == "closed" or (point.arrivals == "burst" and point.concurrency_limit is not None)


def sent(point: Point) -> int | None:
    """Requests that were sent, as far as the file counts them."""
    if point.completed is None:
        return None
    return point.completed + (point.failed or 0) + (point.incomplete or 0)


def is_all_failed(point: Point) -> bool:
    """Whether every request failed: then it has no latency at all, and still says that its load was too much."""
    return point.completed == 0 and bool(point.failed) and not point.incomplete


def chance(point: Point) -> float:
    """How far, as a share of itself, chance alone takes the rate of requests as many as these: 0.2 of a hundred.

    0 where they are not counted, so that nothing is put down to it, and where nothing was left to chance.
    """
    requests = sent(point)
    if not requests or point.is_evenly_spaced or point.is_rate_fitted:
        return 0.0
    return CHANCE_SDS / math.sqrt(requests * (point.burstiness or 1.0))


def sent_at_least_rps(point: Point) -> Reckoned | None:
    """What was sent, per second, over the whole run: with the drain after the last request, so less than the truth."""
    requests = sent(point)
    if requests and point.duration_s:
        return Reckoned(requests / exact(point.duration_s), "sent / duration_s")
    return Reckoned(exact(point.throughput_rps), "throughput_rps") if point.throughput_rps is not None else None


def is_drain_enough(point: Point) -> bool:
    """Whether the longest answer known explains why the run took longer than sending its requests should."""
    requests, answers, duration_s = sent(point), point.e2e.percentiles_s if point.e2e else {}, point.duration_s
    if point.requested_rps is None or requests is None or not answers or duration_s is None:
        return False
    sending_s = exact(duration_s) - exact(answers[max(answers)])
    return sending_s * KEPT_UP * exact(point.requested_rps) <= requests


def load_rps(point: Point) -> Fraction | None:
    """The load an open-loop point stands for, and never more than was sent: what was asked, or sent, or answered."""
    asked = exact(point.requested_rps) if point.requested_rps is not None else None
    if point.achieved_rps is not None:
        achieved = exact(point.achieved_rps)
        return achieved if asked is None else min(asked, achieved)
    least = sent_at_least_rps(point)
    if asked is None or least is None:
        return least.value if least else None
    return asked if least.value >= KEPT_UP * asked or is_drain_enough(point) else least.value
