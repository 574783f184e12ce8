"""What is asked of Prometheus is what engines expose, and what it answers is read as it is."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from capacity.recording import COUNTED, TIMED, window
from evidence.prometheus import Prometheus
from evidence.recording import Source, read
from infra.dialects.vllm import VLLM
from sandbox.engine.metrics import EngineMetrics
from tests.evidence.prometheus_double import Made, result, serving

SOURCE = Source(VLLM.metrics, "serving", "support-8b")
WINDOW = window(1_800_000_000, 1_800_003_600)


def test_every_series_is_one_the_engine_exposes_with_its_labels() -> None:
    page = EngineMetrics(rejections={"queued_reqs": 1}).text("support-8b", 1, 1, 0.1)
    names = VLLM.metrics
    counters = (names.finished, names.refused, names.preemptions)
    parts = [f"{getattr(names, name)}_{part}" for name in (*TIMED, *COUNTED) for part in ("bucket", "sum", "count")]
    for name in (names.running, names.waiting, *counters, *parts):
        assert re.search(rf'^{name}{{.*{names.model_label}="support-8b"', page, re.MULTILINE), name
    for reason in names.failed:
        assert f'{names.finished_reason}="{reason}"' in page


def test_a_service_as_it_was_made() -> None:
    made = Made(ends={"stop": 0.75, "length": 0.2, "error": 0.05}, refused_rps=0.7)
    with serving(made.answer) as url:
        found = read(Prometheus(url), SOURCE, WINDOW)
    assert set(found.replicas.values()) == {7}
    assert min(found.in_flight) == WINDOW.first
    assert min(found.ended) == WINDOW.first + WINDOW.busy_s
    assert max(found.ended) == WINDOW.end
    assert float(found.requests) == pytest.approx(26 * 3600)
    assert float(found.failed) == pytest.approx(0.05 * 26 * 3600)
    assert float(found.refusals or 0) == pytest.approx(0.7 * 3600)
    assert float(found.timed["e2e"].mean) == pytest.approx(7.8)
    assert found.timed["ttft"].bounds == tuple(map(Fraction, ("0.25", "0.5", "0.75", "1", "2.5")))
    assert set(found.timed) == {"ttft", "tpot", "e2e"}, "no gap and no queue was made, and none is 0"


def test_no_series_is_nothing_and_not_0() -> None:
    with serving(Made(is_scraped=False).answer) as url:
        found = read(Prometheus(url), SOURCE, WINDOW)
    assert (found.in_flight, found.replicas, found.ended, found.refused) == ({}, {}, {}, None)
    assert (found.ends, found.refusals, found.preemptions, found.timed, found.counted) == ({}, None, None, {}, {})


def test_nan_and_infinity_are_no_numbers() -> None:
    values = [[1, "NaN"], [2, "+Inf"], [3, "0.1"]]
    with serving(lambda path, asked: (200, result([{"metric": {}, "values": values}]))) as url:
        assert Prometheus(url).series("up", 1, 3, 1) == {3: Fraction(1, 10)}
    with serving(lambda path, asked: (200, result([{"metric": {}, "value": [1, "NaN"]}]))) as url:
        assert Prometheus(url).instant("up", 1) == ()


def test_go_and_python_write_bounds_in_two_ways() -> None:
    """`le="1"` and `le="1.0"` are one bound."""

    def answer(path: str, asked: object) -> tuple[int, str]:
        if path.endswith("query_range"):
            return 200, result([])
        buckets = [("1", "4"), ("2.0", "6"), ("+Inf", "8")]
        return 200, result([{"metric": {"le": bound}, "value": [1, value]} for bound, value in buckets])

    with serving(answer) as url:
        found = read(Prometheus(url), SOURCE, WINDOW).timed["ttft"]
    assert [int(bound) for bound in found.bounds] == [1, 2]
    assert [int(each) for each in (*found.at_most, found.count)] == [4, 6, 8]
