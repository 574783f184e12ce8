"""One record for each request, and what a run's records say together. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One request. Seconds are counted from the run's start, which is `started_at` (Unix time) minus `sent_s`.

    Args:
        scheduled_s: when it was due.
        sent_s: when its bytes were written; minus `scheduled_s` it is the generator's own lateness.
        started_at: Unix time of `sent_s`.
        ttft_s: sent to first token; None without one.
        tpot_s: mean seconds per token after the first; None with fewer than two tokens.
        tokens: output tokens: the server's usage, or the tokens seen when the stream was cut.
        e2e_s: sent to the end, whatever end it was.
        status: HTTP status, 0 without an answer.
        error: why it failed, "" if it did not.
        cut: the stream had begun and ended without its end mark.
    """

    scheduled_s: float
    sent_s: float
    started_at: float
    ttft_s: float | None
    tpot_s: float | None
    tokens: int
    e2e_s: float
    status: int
    error: str
    cut: bool

    def as_line(self) -> str:
        """One JSON line."""
        rounded = {key: round(value, 6) if isinstance(value, float) else value for key, value in asdict(self).items()}
        return json.dumps(rounded, separators=(",", ":")) + "\n"


def read_records(path: Path) -> list[RequestRecord]:
    """Records of a JSONL file that `run` wrote."""
    return [RequestRecord(**json.loads(line)) for line in path.read_text().splitlines() if line]


def percentile(values: Iterable[float], pct: float) -> float:
    """The smallest value that at least `pct` percent of the values do not exceed; NaN for none."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    return ordered[max(0, math.ceil(len(ordered) * pct / 100) - 1)]


@dataclass(frozen=True, slots=True)
class LoadSummary:
    """What a run's records say together; times in seconds."""

    requests: int
    failed: int
    cut: int
    offered_rps: float
    lateness_p99_s: float
    lateness_max_s: float
    ttft_p50_s: float
    ttft_p95_s: float
    tpot_p50_s: float
    tpot_p95_s: float
    e2e_p50_s: float
    errors: dict[str, int]


def summary_of(records: Sequence[RequestRecord], seconds: float) -> LoadSummary:
    """Summarise; `seconds` is the length of the schedule that `offered_rps` is measured over."""
    errors: dict[str, int] = {}
    for record in records:
        if record.error:
            errors[record.error] = errors.get(record.error, 0) + 1
    lateness = [record.sent_s - record.scheduled_s for record in records]
    ttft = [record.ttft_s for record in records if record.ttft_s is not None]
    tpot = [record.tpot_s for record in records if record.tpot_s is not None]
    return LoadSummary(
        requests=len(records),
        failed=sum(errors.values()),
        cut=sum(record.cut for record in records),
        offered_rps=len(records) / seconds if seconds else math.nan,
        lateness_p99_s=percentile(lateness, 99),
        lateness_max_s=percentile(lateness, 100),
        ttft_p50_s=percentile(ttft, 50),
        ttft_p95_s=percentile(ttft, 95),
        tpot_p50_s=percentile(tpot, 50),
        tpot_p95_s=percentile(tpot, 95),
        e2e_p50_s=percentile((record.e2e_s for record in records if not record.error), 50),
        errors=errors,
    )
