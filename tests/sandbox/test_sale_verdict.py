"""The demo's verdict: every promise can be broken, and then says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sandbox.load.record import RequestRecord
from sandbox.sale.expectations import Moments, Played, expectations
from sandbox.sale.timeline import PodStart, Sample
from sandbox.sale.verdict import attainment, replica_seconds
from stacks.loader import load_platform

T0 = 1_900_000_000.0
MOMENTS = Moments(
    raise_at=T0 - 90,
    raise_began=T0 - 89,
    whole_began=T0 - 89,
    start=T0,
    planned_until=T0 + 35,
    up_began=T0 + 39,
    up_ended=T0 + 50,
    end=T0 + 85,
)


def request(at: float, **changes: object) -> RequestRecord:
    made = RequestRecord(
        scheduled_s=at - T0 + 200,
        sent_s=at - T0 + 200.001,
        started_at=at + 0.001,
        ttft_s=0.58,
        tpot_s=0.018,
        tokens=400,
        e2e_s=7.8,
        status=200,
        error="",
        cut=False,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def sample(at: float, floor: int, ready: int, starting: int = 0) -> Sample:
    return Sample(at, floor, None, ready, starting, 208.0)


def good() -> Played:
    service = load_platform("local").services["support-bot"]
    cold = service.cold_start.model_copy(update={"weights_s": 6, "engine_start_s": 9})
    samples = [
        sample(T0 - 100, 2, 2),
        sample(T0 - 87, 7, 2, 5),
        sample(T0 - 70, 7, 7),
        sample(T0 + 40, 7, 7),
        sample(T0 + 70, 7, 11),
        sample(T0 + 150, 2, 2),
    ]
    starts = [PodStart(f"pod-{number}", T0 - 87, T0 - 71) for number in range(5)]
    records = [request(T0 + number / 10) for number in range(300)]
    return Played(service.model_copy(update={"cold_start": cold}), 7, MOMENTS, samples, starts, records)


def missed(played: Played) -> list[str]:
    return [line.what for line in expectations(played) if not line.met]


def test_a_good_evening_meets_every_expectation() -> None:
    assert missed(good()) == []


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("7 Ready before T0", {"samples": [sample(T0 - 87, 7, 6), *good().samples[3:]]}),
        ("HPA minReplicas 7", {"samples": [sample(T0 - 80, 7, 7), *good().samples[3:]]}),
        ("p95 cold start", {"starts": [PodStart("slow", T0 - 87, T0 - 50)]}),
        ("p95 cold start", {"starts": []}),
        ("planned load", {"records": [request(T0 + 1, ttft_s=0.7)]}),
        ("planned load", {"records": [request(T0 + 1, tpot_s=0.021)]}),
        ("planned load", {"records": []}),
        ("`pulumi up`", {"samples": [*good().samples[:3], sample(T0 + 40, 2, 7), *good().samples[4:]]}),
        ("load beyond 7", {"samples": [*good().samples[:4], *good().samples[5:]]}),
        ("load beyond 7", {"samples": [*good().samples[:4], sample(T0 + 70, 7, 17), *good().samples[5:]]}),
        ("back to 2", {"samples": good().samples[:-1]}),
        ("back to 2", {"samples": [*good().samples[:-1], sample(T0 + 150, 7, 2)]}),
        ("no stream cut", {"records": [*good().records, request(T0 + 40, error="cut", cut=True)]}),
        ("no stream cut", {"records": [*good().records, request(T0 + 40, error="http 503", status=503)]}),
        ("the load generator", {"records": [request(T0 + 1, sent_s=202.0)]}),
    ],
)
def test_each_promise_can_be_broken(what: str, changes: dict[str, object]) -> None:
    broken = replace(good(), **changes)  # type: ignore[arg-type]
    assert any(line.startswith(what) for line in missed(broken)), missed(broken)


def test_with_a_ramp_the_whole_floor_is_due_when_its_last_step_is() -> None:
    """Seen 3 s after the sync of the last step, and 40 s after that of the first."""
    evening = good()
    stepped = [sample(T0 - 127, 4, 2, 2), sample(T0 - 110, 4, 4), *evening.samples[1:]]
    moments = replace(MOMENTS, raise_at=T0 - 130, raise_began=T0 - 129)
    assert missed(replace(evening, samples=stepped, moments=moments)) == []
    late = [one for one in stepped if one.at > T0 - 80]
    assert missed(replace(evening, samples=late, moments=moments)) == ["HPA minReplicas 7 within 5 s of sync"]


def test_attainment_counts_a_request_where_it_was_due_and_a_failed_one_as_not_kept() -> None:
    slo = load_platform("local").services["support-bot"].slo
    late = request(T0 - 0.5, sent_s=request(T0 - 0.5).scheduled_s + 1, started_at=T0 + 0.5)
    got = attainment([late, request(T0 + 1), request(T0 + 2, error="http 503", ttft_s=None)], slo, T0, T0 + 10)
    assert (got.requests, got.kept_pct, got.failed) == (2, 50.0, 1)


def test_replica_seconds_count_what_is_starting_too() -> None:
    samples = [sample(0, 2, 2, 1), sample(10, 2, 3), sample(20, 2, 3)]
    assert replica_seconds(samples, 5, 20) == 5 * 3 + 10 * 3
