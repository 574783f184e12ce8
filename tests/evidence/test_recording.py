"""What is asked of Prometheus is what engines expose, and what it answers is read as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import pytest
from whenever import Instant

from capacity.recordings.recording import COUNTED, TIMED, peak, window
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


@pytest.mark.parametrize(("name", "duration_s", "tokens"), [("holds", 7.762, 400), ("moved", 9.112, 475)])
def test_answers_of_a_genuine_prometheus(name: str, duration_s: float, tokens: int) -> None:
    """15 s of 7 requests/s in the sandbox; `files/SOURCES.md` says how they were had."""
    kept = json.loads((Path(__file__).parent / "files" / "prometheus" / f"{name}.json").read_text())
    answers = {(each["path"], *sorted(each["asked"].items())): each["answer"] for each in kept["answers"]}

    def answer(path: str, asked: Mapping[str, str]) -> tuple[int, str]:
        of_it = {key: value for key, value in asked.items() if key != "timeout"}
        return 200, json.dumps(answers[path, *sorted(of_it.items())])

    begin, end = (int(Instant.parse_iso(kept[key]).timestamp()) for key in ("from", "to"))
    with serving(answer) as url:
        found = read(Prometheus(url), SOURCE, window(begin, end))
    busiest = peak(found)
    assert busiest
    assert float(busiest.arrived_rps) == pytest.approx(7, rel=0.06)
    assert busiest.replicas == 2
    assert not busiest.is_queueing
    assert float(found.timed["e2e"].mean) == pytest.approx(duration_s, abs=1e-3)
    assert float(found.counted["input_tokens"].mean) == pytest.approx(1000)
    assert float(found.counted["output_tokens"].mean) == pytest.approx(tokens)
    ttft = found.timed["ttft"]
    assert ttft.quantile(Fraction(95, 100)).low == Fraction(1, 2)
    assert float(ttft.mean) == pytest.approx(0.58, abs=1e-3)
    assert found.refusals is None, "the engine has such a series only once it refused something"
    assert (found.preemptions, found.failed) == (Fraction(0), Fraction(0))


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
