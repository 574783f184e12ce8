"""The arithmetic of waiting, on the worked example and at its edges."""

from __future__ import annotations

import pytest

from infra import timing
from stacks.spec import Service
from tests.components.specs import service_data


def _service(**changes: object) -> Service:
    return Service.model_validate(service_data(**changes))


def test_worked_example() -> None:
    service = _service()
    assert timing.grace_s(service) == 15 + 180 + 30
    assert timing.startup_probe(service) == timing.ProbeTiming(period_s=6, timeout_s=5, failures=70)
    assert timing.rollout_waves(service) == 16
    # 17 waves of 300 s cold start and 225 s drain, and slack.
    assert timing.await_timeouts(service).update_s == 17 * 525 + 300


@pytest.mark.parametrize(
    ("surge", "unavailable", "ceiling", "waves"),
    [(1, 0, 16, 16), (2, 1, 16, 6), (4, 0, 16, 4), (0, 1, 1, 1), (20, 0, 16, 1)],
)
def test_rollout_waves(surge: int, unavailable: int, ceiling: int, waves: int) -> None:
    rollout = {"surge": surge, "unavailable": unavailable}
    assert timing.rollout_waves(_service(rollout=rollout, replicas={"min": 0, "max": ceiling})) == waves


@pytest.mark.parametrize(("engine_start_s", "period_s"), [(1, 1), (9, 1), (29, 1), (60, 2), (180, 6), (3600, 10)])
def test_startup_is_asked_often_enough_to_cost_little(engine_start_s: int, period_s: int) -> None:
    service = _service(cold_start={"weights_s": 0, "engine_start_s": engine_start_s})
    assert timing.startup_probe(service).period_s == period_s


def test_a_rehearsal_keeps_the_least_waits() -> None:
    """20 times faster: 15 s cold start, 9 s streams."""
    service = _service(longest_stream_s=9, cold_start={"weights_s": 6, "engine_start_s": 9})
    assert timing.grace_s(service) == 54
    assert timing.progress_deadline_s(service) == 600
    assert timing.await_timeouts(service) == timing.AwaitTimeouts(create_s=660, update_s=1473, delete_s=600)


def test_an_unlucky_readiness_costs_seconds_and_a_restart_a_minute() -> None:
    ready, alive = timing.readiness_probe(), timing.liveness_probe()
    assert ready.period_s * ready.failures < 10
    assert alive.period_s * alive.failures >= 60
