"""What `make demo` promises, held against what was seen. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.load.play import MAX_LATENESS_P99_S
from sandbox.load.record import RequestRecord, summary_of
from sandbox.sale.timeline import PodStart, Sample
from sandbox.sale.verdict import Expectation, at, attainment, cold_start_p95_s, first
from stacks.spec import Service

FLOOR_IN_FORCE_S = 5
COLD_START_TOLERANCE = 0.25
"""How far the measured p95 may lie from the plan's, beside the second to which conditions are kept."""


@dataclass(frozen=True)
class Moments:
    """When things happened, Unix times.

    `raise_began` is when the `sync` was started that began to raise the floor, `whole_began` that which raised the last
    of it: with a ramp a later one.
    """

    raise_at: float
    raise_began: float
    whole_began: float
    start: float
    planned_until: float
    up_began: float
    up_ended: float
    end: float


@dataclass(frozen=True)
class Played:
    """One play of the sale with Warmline: what was planned, and everything that was seen."""

    service: Service
    floor: int
    moments: Moments
    samples: Sequence[Sample]
    starts: Sequence[PodStart]
    records: Sequence[RequestRecord]


def expectations(played: Played) -> list[Expectation]:
    """Every promise, in the order of the evening."""
    return [
        _ready_before_start(played),
        _floor_in_force(played),
        _cold_start(played),
        _kept_slo(played),
        _up_left_floor(played),
        _beyond_floor(played),
        _back_to_baseline(played),
        _no_stream_cut(played),
        _open_loop(played),
    ]


def _ready_before_start(played: Played) -> Expectation:
    sample = at(played.samples, played.moments.start)
    ready = sample.ready if sample else 0
    enough = [one.at for one in played.samples if one.ready >= played.floor and one.at >= played.moments.raise_began]
    early = f", {played.moments.start - enough[0]:.0f} s before" if enough and enough[0] <= played.moments.start else ""
    return Expectation(f"{played.floor} Ready before T0", f"{ready} Ready at T0{early}", ready >= played.floor)


def _floor_in_force(played: Played) -> Expectation:
    took_s = first(played.samples, played.moments.whole_began, played.floor)
    seen = "never" if took_s is None else f"{took_s:.1f} s after sync was started"
    met = took_s is not None and took_s <= FLOOR_IN_FORCE_S
    return Expectation(f"HPA minReplicas {played.floor} within {FLOOR_IN_FORCE_S} s of sync", seen, met)


def _cold_start(played: Played) -> Expectation:
    planned_s = played.service.cold_start.total_s
    measured_s = cold_start_p95_s(played.starts, played.moments.raise_began - 1)
    allowed_s = planned_s * COLD_START_TOLERANCE + 1
    what = f"p95 cold start as planned: {planned_s} s (within {allowed_s:.2g} s)"
    seen = f"{measured_s:.0f} s over {len(played.starts)} pods, by their own conditions"
    return Expectation(what, seen, abs(measured_s - planned_s) <= allowed_s)


def _kept_slo(played: Played) -> Expectation:
    slo = played.service.slo
    got = attainment(played.records, slo, played.moments.start, played.moments.planned_until)
    what = f"planned load: TTFT p95 <= {slo.ttft_p95_ms} ms, TPOT p95 <= {slo.tpot_p95_ms} ms"
    seen = (
        f"{got.ttft_p95_ms:.0f} ms and {got.tpot_p95_ms:.1f} ms over {got.requests} requests; "
        f"{got.kept_pct:.1f} % kept both, {got.failed} failed"
    )
    limits = (float(slo.ttft_p95_ms), float(slo.tpot_p95_ms))  # without requests the p95 is NaN, which no Decimal bears
    met = got.ttft_p95_ms <= limits[0] and got.tpot_p95_ms <= limits[1] and got.failed == 0
    return Expectation(what, seen, met)


def _up_left_floor(played: Played) -> Expectation:
    moments = played.moments
    during = [one.floor for one in played.samples if moments.up_began <= one.at <= moments.up_ended + 5]
    floors = sorted({floor for floor in during if floor is not None})
    seen = f"floor {', '.join(map(str, floors)) or 'unknown'} during it ({moments.up_ended - moments.up_began:.0f} s)"
    return Expectation("`pulumi up` in the middle of the sale leaves the floor alone", seen, floors == [played.floor])


def _beyond_floor(played: Played) -> Expectation:
    during = [one for one in played.samples if played.moments.planned_until <= one.at < played.moments.end]
    most = max((one.ready for one in during), default=0)
    load = max((one.in_flight for one in during if one.in_flight is not None), default=0.0)
    ceiling = played.service.replicas.max
    what = f"load beyond {played.floor} replicas is answered by KEDA, up to {ceiling}"
    return Expectation(what, f"{most} Ready at most, for {load:.0f} in flight", played.floor < most <= ceiling)


def _back_to_baseline(played: Played) -> Expectation:
    baseline = played.service.replicas.min
    last = played.samples[-1] if played.samples else None
    met = last is not None and last.ready == baseline and last.floor == baseline
    back = [one.at for one in played.samples if one.at > played.moments.end and one.ready == baseline]
    when = f", {back[0] - played.moments.end:.0f} s after the end" if back else ""
    seen = f"{last.ready} Ready, floor {last.floor}{when}" if last else "nothing"
    return Expectation(f"back to {baseline} after the end", seen, met)


def _no_stream_cut(played: Played) -> Expectation:
    cut = sum(record.cut for record in played.records)
    failed = sum(bool(record.error) for record in played.records)
    return Expectation(
        "no stream cut, at the clients", f"{cut} cut, {failed} failed of {len(played.records)}", not failed
    )


def _open_loop(played: Played) -> Expectation:
    late_s = summary_of(played.records, 1).lateness_p99_s
    what = f"the load generator stayed open loop (p99 at most {1000 * MAX_LATENESS_P99_S:.0f} ms late)"
    return Expectation(what, f"{1000 * late_s:.1f} ms late at p99", late_s <= MAX_LATENESS_P99_S)
