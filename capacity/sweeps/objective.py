"""What a service promises of its answers, and whether a measured point keeps it: holds, fails, or cannot be told.

One meaning for `slo: {ttft_p95_ms: 600, tpot_p95_ms: 20, attainment_pct: 99}` everywhere. A request keeps the objective
if it was answered with its first token within 600 ms and its tokens within 20 ms each on average; an answer of a single
token has no pace to break. The objective holds at a load if

- of all requests sent, failed ones included, at least 99 % keep it, all limits at once, and
- the 95th percentile of each latency, over the answered requests, is within its limit.

At an attainment of 95 % and more the second follows from the first; below, it is the stricter one. An inter-token limit
is about gaps and not about requests, so that only its percentile is asked.

A file seldom says the share outright. What it has binds the share from both sides (`Share`), and only a bound that
settles the question is an answer: a point of which it cannot be told is never relied upon. Nor do so few requests show
that it holds that a single one would be more than may miss it: of 99 %, fewer than 100.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from capacity.sweeps.sweep import Latency, LatencyName, Point, exact
from stacks.spec import Slo

Verdict = Literal["holds", "fails", "unknown"]
Source = Literal["per request", "stated goodput", "percentiles"]

P95 = Fraction(95, 100)
OF_A_REQUEST: tuple[LatencyName, ...] = ("ttft", "tpot", "e2e")
"""The latencies that each request has one of."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that one latency's 95th percentile, and each request that is to count as kept, may have."""

    latency: LatencyName
    limit_s: Fraction


@dataclass(frozen=True, slots=True)
class Objective:
    """Limits that a request keeps together, and the share of requests that must: in per cent, above 0."""

    limits: tuple[Limit, ...]
    attainment_pct: Fraction

    @property
    def required(self) -> Fraction:
        """The share of requests that must keep every limit, 0 to 1."""
        return self.attainment_pct / 100

    @property
    def strictest(self) -> Fraction:
        """The highest quantile that the objective asks about, 0 to 1."""
        return max(P95, self.required)


def objective(limits_ms: Mapping[LatencyName, Fraction], attainment_pct: Fraction) -> Objective:
    """The objective with these limits, in milliseconds."""
    limits = tuple(Limit(name, Fraction(limit_ms) / 1000) for name, limit_ms in limits_ms.items())
    return Objective(limits, Fraction(attainment_pct))


def of_slo(slo: Slo) -> Objective:
    """The objective that a service's `slo` states."""
    limits_ms: dict[LatencyName, Fraction] = {"ttft": Fraction(slo.ttft_p95_ms), "tpot": Fraction(slo.tpot_p95_ms)}
    return objective(limits_ms, Fraction(slo.attainment_pct))


@dataclass(frozen=True, slots=True)
class Share:
    """A share of requests, 0 to 1, known to lie in [low, high]; with `is_below_high` in [low, high)."""

    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    is_below_high: bool = False

    def reaches(self, required: Fraction) -> Verdict:
        """Whether the share is at least `required`."""
        if self.low >= required:
            return "holds"
        if self.high < required or (self.is_below_high and self.high == required):
            return "fails"
        return "unknown"


@dataclass(frozen=True, slots=True)
class Attainment:
    """How one point stands to an objective: the share of requests sent that kept it, and each limit's by itself."""

    verdict: Verdict
    share: Share
    source: Source
    within: Mapping[LatencyName, Share]


def attainment(point: Point, objective: Objective) -> Attainment:
    """The best answer that the point's file allows: request by request, by the tool's own count, or by percentiles."""
    within = {limit.latency: _within(point, limit) for limit in objective.limits}
    answered, source = _together(point, objective, within)
    share = _of_sent(point, answered)
    verdict = worst([share.reaches(objective.required), *(each.reaches(P95) for each in within.values())])
    if verdict == "holds" and not _are_enough(point, objective):
        verdict = "unknown"
    return Attainment(verdict, share, source, within)


def _are_enough(point: Point, objective: Objective) -> bool:
    """Whether the strictest share leaves room for at least one request that misses it, where it leaves any."""
    may_miss = 1 - objective.strictest
    return point.completed is None or may_miss == 0 or point.completed * may_miss >= 1


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    order: tuple[Verdict, ...] = ("fails", "unknown", "holds")
    return min(verdicts, key=order.index)


def _within(point: Point, limit: Limit) -> Share:
    """The share of the answered requests (of the gaps, for itl) that kept one limit."""
    column = _column(point, limit.latency)
    if column:
        limit_s = float(limit.limit_s)
        return _counted(sum(value <= limit_s for value in column), len(column))
    return by_percentiles(point.latency(limit.latency), limit.limit_s)


def by_percentiles(latency: Latency | None, limit_s: Fraction) -> Share:
    """Bounds from a ladder of percentiles, to within one request.

    The highest percentile within the limit is the least share that kept it; the next one, beyond the limit, is above
    the share.
    """
    low = Fraction(0)
    for percentile, value_s in sorted(latency.percentiles_s.items()) if latency else ():
        if exact(value_s) > limit_s:
            return Share(low, exact(percentile) / 100, is_below_high=True)
        low = exact(percentile) / 100
    return Share(low)


def _together(point: Point, objective: Objective, within: Mapping[LatencyName, Share]) -> tuple[Share, Source]:
    """The share of the answered requests that kept all limits at once."""
    limits = [limit for limit in objective.limits if limit.latency in OF_A_REQUEST]
    columns = [_column(point, limit.latency) for limit in limits]
    if limits and all(columns):
        limits_s = [float(limit.limit_s) for limit in limits]
        requests = list(zip(*(column for column in columns if column), strict=True))
        kept = sum(not any(map(operator.gt, request, limits_s)) for request in requests)
        return _counted(kept, len(requests)), "per request"
    stated = _stated(point, limits)
    if stated is not None:
        return stated, "stated goodput"
    return jointly([within[limit.latency] for limit in limits]), "percentiles"


def jointly(shares: list[Share]) -> Share:
    """Bounds of the share that is in all of `shares`, however they go together.

    Source: M. Fréchet, 1935: max(0, sum - (n - 1)) <= joint <= min.
    """
    low = max(Fraction(0), sum((share.low for share in shares), Fraction(0)) - (len(shares) - 1))
    high = min((share.high for share in shares), default=Fraction(1))
    return Share(
        min(low, Fraction(1)), high, is_below_high=any(each.high == high and each.is_below_high for each in shares)
    )


def _stated(point: Point, limits: list[Limit]) -> Share | None:
    """The tool's own count, if it was told the very limits."""
    stated, throughput = point.goodput, point.throughput_rps
    asked = {limit.latency: limit.limit_s for limit in limits}
    if stated is None or not limits or {name: exact(limit) for name, limit in stated.limits_s.items()} != asked:
        return None
    if point.duration_s and point.completed:  # the count behind the rate
        return _counted(min(round(stated.rps * point.duration_s), point.completed), point.completed)
    return _counted(exact(min(stated.rps, throughput)), exact(throughput)) if throughput else None


def _of_sent(point: Point, answered: Share) -> Share:
    """A share of the answered requests as one of those sent: failed ones kept nothing, cut-off ones may have."""
    failed, cut = point.failed or 0, point.incomplete or 0
    if point.completed is None or failed + cut == 0:
        return answered
    sent = point.completed + failed + cut
    high = (answered.high * point.completed + cut) / sent
    return Share(answered.low * point.completed / sent, high, is_below_high=answered.is_below_high)


def _counted(kept: int | Fraction, of: int | Fraction) -> Share:
    share = Fraction(kept) / Fraction(of)
    return Share(share, share)


def _column(point: Point, name: LatencyName) -> tuple[float, ...] | None:
    column: tuple[float, ...] | None = getattr(point.per_request, f"{name}_s", None)
    return column
