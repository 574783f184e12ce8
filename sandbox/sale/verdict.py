"""What the sale was expected to show, and whether it did. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sandbox.load.record import RequestRecord, percentile
from sandbox.sale.timeline import PodStart, Sample
from stacks.spec import Slo


@dataclass(frozen=True)
class Expectation:
    """One line of the verdict: what, what was seen, and whether that is as it should be."""

    what: str
    seen: str
    met: bool


@dataclass(frozen=True)
class Attainment:
    """Of the requests sent in a span: the share that kept both limits of the SLO, and the p95 of each."""

    requests: int
    kept_pct: float
    ttft_p95_ms: float
    tpot_p95_ms: float
    failed: int
    cut: int


def attainment(records: Iterable[RequestRecord], slo: Slo, start: float, end: float) -> Attainment:
    """Reckon over the requests that were due in [start, end), Unix times. A failed request kept nothing."""
    chosen = [record for record in records if start <= due_at(record) < end]
    kept = sum(keeps(record, slo) for record in chosen)
    return Attainment(
        requests=len(chosen),
        kept_pct=100 * kept / len(chosen) if chosen else float("nan"),
        ttft_p95_ms=1000 * percentile((record.ttft_s for record in chosen if record.ttft_s is not None), 95),
        tpot_p95_ms=1000 * percentile((record.tpot_s for record in chosen if record.tpot_s is not None), 95),
        failed=sum(bool(record.error) for record in chosen),
        cut=sum(record.cut for record in chosen),
    )


def keeps(record: RequestRecord, slo: Slo) -> bool:
    """Whether one request kept both limits. One that failed kept none; one of a single token has no TPOT to break."""
    if record.error or record.ttft_s is None:
        return False
    ttft_ms, tpot_ms = 1000 * record.ttft_s, 1000 * (record.tpot_s or 0)
    return ttft_ms <= slo.ttft_p95_ms and tpot_ms <= slo.tpot_p95_ms


def due_at(record: RequestRecord) -> float:
    """Unix time at which a request was due: a late generator must not move it into a kinder span."""
    return record.started_at - (record.sent_s - record.scheduled_s)


def at(samples: Sequence[Sample], moment: float) -> Sample | None:
    """The last sample not after `moment`."""
    before = [sample for sample in samples if sample.at <= moment]
    return before[-1] if before else None


def first(samples: Iterable[Sample], moment: float, floor: int) -> float | None:
    """Seconds from `moment` until the HPA's minimum was seen at `floor` or above; None if it never was."""
    return next(
        (sample.at - moment for sample in samples if sample.at >= moment and (sample.floor or 0) >= floor), None
    )


def replica_seconds(samples: Sequence[Sample], start: float, end: float) -> float:
    """Replicas that were paid for (Ready or starting), summed over [start, end)."""
    total = 0.0
    for now, after in pairwise(samples):
        length_s = min(after.at, end) - max(now.at, start)
        if length_s > 0:
            total += length_s * (now.ready + now.starting)
    return total


def cold_start_p95_s(starts: Iterable[PodStart], since: float) -> float:
    """p95 of the cold starts of pods made at or after `since`; NaN for none."""
    return percentile((start.cold_start_s for start in starts if start.created >= since), 95)
