"""The objective that all requests of one service ask for together, and whether a recording shows that it was kept.

The engine's clock starts when a request reaches it and stops at its last token: what a gateway holds back before, and
the way to the client, are not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from capacity.recordings.histogram import Between
from capacity.recordings.recording import Recording, Timed
from capacity.request import Request
from capacity.sweeps.objective import P95, Share, Verdict, jointly, worst

# Field of a requested SLO -> the latency it limits, and how many of its unit are a second. Source: stacks.workloads.
LIMITS: dict[str, tuple[Timed, int]] = {
    "ttft_p95_ms": ("ttft", 1000),
    "tpot_p95_ms": ("tpot", 1000),
    "itl_p95_ms": ("itl", 1000),
    "e2e_p95_s": ("e2e", 1),
    "queue_p95_ms": ("queue", 1000),
}
OF_A_REQUEST: tuple[Timed, ...] = ("ttft", "tpot", "e2e", "queue")
"""Each request has one of these; a gap between tokens is no request's own."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One limit: the share of requests (of gaps, for itl) within it, where the 95th percentile lies, the mean.

    around: the bucket's bounds that lie around a limit which is none itself: then only a range is known.
    """

    latency: Timed
    limit_s: Fraction
    share: Share
    p95_s: Between
    mean_s: Fraction
    verdict: Verdict
    around: tuple[Fraction, Fraction | None] | None


@dataclass(frozen=True, slots=True)
class Promise:
    """Every limit that can be looked at, and of all requests sent the share that kept all of them at once.

    Failed and refused requests kept nothing. missing: limits of what was not observed.
    """

    kept: tuple[Kept, ...]
    missing: tuple[Timed, ...]
    required_pct: Fraction
    share: Share
    verdict: Verdict

    @property
    def too_coarse(self) -> tuple[Kept, ...]:
        """Limits that the buckets cannot tell of."""
        return tuple(one for one in self.kept if one.verdict == "unknown" and one.around)


def limits(requests: Sequence[Request]) -> dict[Timed, Fraction]:
    """The strictest limit of each latency that any request asks for, in seconds; unsaid, it is the service's own."""
    found: dict[Timed, Fraction] = {}
    for request in requests:
        for field, (latency, units) in LIMITS.items():
            said: Decimal | None = getattr(request.workload.slo, field) or getattr(request.service.slo, field, None)
            if said is not None:
                limit_s = Fraction(said) / units
                found[latency] = min(limit_s, found.get(latency, limit_s))
    return found


def attainment_pct(requests: Sequence[Request]) -> Fraction:
    """The highest share that any request asks for, in per cent."""
    return max(Fraction(one.workload.slo.attainment_pct or one.service.slo.attainment_pct) for one in requests)


def promise(requests: Sequence[Request], recording: Recording) -> Promise:
    """Hold a recording against what the requests of a service ask for."""
    asked = limits(requests)
    kept = tuple(_kept(latency, limit_s, recording) for latency, limit_s in asked.items() if latency in recording.timed)
    required = attainment_pct(requests) / 100
    answered = jointly([one.share for one in kept if one.latency in OF_A_REQUEST])
    served = 1 - recording.not_served
    share = Share(answered.low * served, answered.high * served)
    missing = tuple(latency for latency in asked if latency not in recording.timed)
    verdict = worst([share.reaches(required), *(one.verdict for one in kept)])
    # Too few leave no room for the one that may miss it, and what was not observed was not kept.
    may_miss = recording.requests * (1 - max(P95, required))
    if verdict == "holds" and (missing or (required < 1 and may_miss < 1)):
        verdict = "unknown"
    return Promise(kept, missing, required * 100, share, verdict)


def _kept(latency: Timed, limit_s: Fraction, recording: Recording) -> Kept:
    seen = recording.timed[latency]
    share = seen.share_within(limit_s)
    around = None if limit_s in seen.bounds else seen.around(limit_s)
    return Kept(latency, limit_s, share, seen.quantile(P95), seen.mean, share.reaches(P95), around)
