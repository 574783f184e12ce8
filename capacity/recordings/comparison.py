"""A plan against what was recorded: which of its assumptions moved, and what each makes of the answer.

An assumption moves when it is further than the tolerance from what was planned. Of a load only more is a move: the
window need not hold the peak. A request that takes less time than planned has moved only under the planned load, for
an engine answers faster with less to do. Lengths do not depend on the load, so that they may move either way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from capacity.recordings.planned import Answer, Moving, Planned, Span
from capacity.recordings.promise import Promise, promise
from capacity.recordings.recording import COUNTED, Peak, Recording, most_in_flight, peak

Verdict = Literal["holds", "moved", "less", "not planned", "not recorded"]

MEANS: dict[str, Moving] = {
    "offered_rps": "load",
    "in_flight": "load",
    "request_duration_s": "request_duration_s",
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "in_flight_per_replica": "in_flight_per_replica",
}
"""What is compared -> what of the plan it is; replicas and preemptions are what comes of it."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One assumption. ratio: seen to the nearer end of what was planned. answer: of the plan with what was seen."""

    what: str
    planned: Span | None
    seen: Fraction | None
    verdict: Verdict
    ratio: Fraction | None = None
    answer: Answer | None = None


@dataclass(frozen=True)
class Comparison:
    """All assumptions of one service's plan, the objective, and `together`: the plan with all that moved at once."""

    planned: Planned
    recording: Recording
    peak: Peak | None
    assumptions: tuple[Compared, ...]
    promise: Promise
    together: Answer | None

    @property
    def moved(self) -> tuple[Compared, ...]:
        return tuple(one for one in self.assumptions if one.verdict == "moved")

    @property
    def is_empty(self) -> bool:
        """Whether nothing was recorded of the service, or no request came: nothing is known, and nothing is 0."""
        return not self.recording.in_flight or not self.recording.requests

    @property
    def needs_a_person(self) -> bool:
        return self.is_empty or bool(self.moved) or self.promise.verdict == "fails"


def compare(planned: Planned, recording: Recording, tolerance: Fraction) -> Comparison:
    """Hold a recording against a plan.

    Args:
        tolerance: as a share; 1/10 lets 7.8 s be up to 8.58 s.
    """
    kept, busiest = promise(planned.requests, recording), peak(recording)
    found = tuple(_assumptions(planned, recording, busiest, kept, tolerance))
    return Comparison(planned, recording, busiest, found, kept, _together(planned, found))


def _together(planned: Planned, found: tuple[Compared, ...]) -> Answer | None:
    """With all that moved at once; None where one thing makes as much of the answer, or nothing moved."""
    ratios: dict[Moving, Fraction] = {}
    for one in found:
        if one.verdict == "moved" and one.answer and one.planned and one.seen:
            ratios[MEANS[one.what]] = one.seen / one.planned.high
    answer = planned.moved(ratios).answer if len(ratios) > 1 else None
    return None if answer in [one.answer for one in found] else answer


def _assumptions(
    planned: Planned, recording: Recording, busiest: Peak | None, kept: Promise, tolerance: Fraction
) -> Iterator[Compared]:
    judge = _Judge(planned, tolerance)
    rate = judge.of("offered_rps", planned.load("rps"), busiest.arrived_rps if busiest else None)
    held = judge.of("in_flight", planned.load("in_flight"), most_in_flight(recording))
    load = rate if rate.planned else held
    is_at_peak = load.ratio is not None and load.ratio >= 1 - tolerance
    whole = recording.timed.get("e2e")
    yield rate
    yield judge.of("request_duration_s", planned.duration_s, whole.mean if whole else None, less_is_a_move=is_at_peak)
    # Where the rate is planned, what is in flight follows from it, and beyond that it is a queue and no load.
    yield replace(held, answer=None) if rate.planned else held
    for field in COUNTED:
        counted = recording.counted.get(field)
        yield judge.of(field, planned.tokens(field), counted.mean if counted else None, less_is_a_move=True)
    yield _per_replica(judge, busiest, kept)
    yield _replicas(judge, busiest, is_at_peak=is_at_peak)
    yield _preemptions(recording, tolerance)


@dataclass(frozen=True)
class _Judge:
    planned: Planned
    tolerance: Fraction

    def of(self, what: str, planned: Span | None, seen: Fraction | None, *, less_is_a_move: bool = False) -> Compared:
        """Judge one number that is not below 0, and reckon what it makes of the answer."""
        if planned is None or seen is None:
            return Compared(what, planned, seen, "not planned" if planned is None else "not recorded")
        ratio = planned.ratio(seen)
        verdict: Verdict = "holds"
        if ratio > 1 + self.tolerance:
            verdict = "moved"
        elif ratio < 1 - self.tolerance:
            verdict = "moved" if less_is_a_move else "less"
        return Compared(what, planned, seen, verdict, ratio, self._answer(what, seen / planned.high))

    def _answer(self, what: str, scaled: Fraction) -> Answer | None:
        """Of the plan with what was seen; an amount of nothing is no load to plan for."""
        return self.planned.moved({MEANS[what]: scaled}).answer if what in MEANS and scaled else None


def _per_replica(judge: _Judge, busiest: Peak | None, kept: Promise) -> Compared:
    """More than a replica is to carry says that too few ran; a broken promise with less, that it carries less."""
    seen = busiest.in_flight / busiest.replicas if busiest and busiest.replicas else None
    found = judge.of("in_flight_per_replica", judge.planned.per_replica, seen)
    if kept.verdict == "fails" and found.verdict in ("holds", "less"):
        is_less = found.ratio is not None and found.ratio < 1
        return replace(found, verdict="moved", answer=found.answer if is_less else None)
    return replace(found, answer=None)


def _replicas(judge: _Judge, busiest: Peak | None, *, is_at_peak: bool) -> Compared:
    """Under the planned load as many as planned; and never more than a rollout adds."""
    running = judge.planned.answer.replicas
    allowed = Span(running.low, Fraction(judge.planned.with_surge))
    found = judge.of("replicas", allowed, busiest.replicas if busiest else None, less_is_a_move=is_at_peak)
    return replace(found, planned=running)


def _preemptions(recording: Recording, tolerance: Fraction) -> Compared:
    """For each request: a plan counts on none, for each one is reckoned twice."""
    none = Span(Fraction(0), Fraction(0))
    if recording.preemptions is None or not recording.requests:
        return Compared("preemptions", none, None, "not recorded")
    seen = recording.preemptions / recording.requests
    return Compared("preemptions", none, seen, "moved" if seen > tolerance else "holds")
