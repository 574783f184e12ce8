"""GuideLLM's reports of 0.8, and of 0.3 in the shape it had then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from capacity.sweeps.sweep import Point
from evidence.files import read
from tests.evidence import made

FILES = Path(__file__).parent / "files"


def _report(name: str = "guidellm_concurrent.json") -> dict[str, Any]:
    report: dict[str, Any] = json.loads((FILES / name).read_text(encoding="utf-8"))
    return report


def _points(path: Path) -> tuple[Point, ...]:
    (sweep,) = read([path]).sweeps
    return sweep.points


def test_every_load_is_a_point() -> None:
    points = _points(FILES / "guidellm_concurrent.json")
    assert [(point.arrivals, point.concurrency_limit) for point in points] == [
        ("closed", 1.0),
        ("closed", 32.0),
        ("closed", 64.0),
    ]
    assert [(point.completed, point.failed, point.incomplete) for point in points] == [
        (22, 2, 1),
        (353, 45, 31),
        (320, 37, 64),
    ]
    assert [str(point.origin).rpartition(" ")[2] for point in points] == [f"benchmarks[{index}]" for index in range(3)]
    assert points[0].tool_version == "0.8.1"
    assert points[0].configuration == {"model.name": "mock-8b", "tokenizer.name": "/bench/tok"}


def test_only_the_successful_are_measured() -> None:
    metrics = _report()["benchmarks"][2]["metrics"]
    point = _points(FILES / "guidellm_concurrent.json")[2]
    assert point.e2e is not None
    assert point.e2e.mean_s == metrics["request_latency"]["successful"]["mean"]
    assert point.ttft is not None
    assert (
        point.ttft.percentiles_s[99.9] == metrics["time_to_first_token_ms"]["successful"]["percentiles"]["p999"] / 1e3
    )
    assert point.ttft.percentiles_s[0.1] == metrics["time_to_first_token_ms"]["successful"]["percentiles"]["p001"] / 1e3
    assert point.keys["ttft.p1"] == "metrics.time_to_first_token_ms.successful.percentiles.p01"
    # Not `time_per_output_token_ms`, which includes the first token.
    assert point.keys["tpot.mean"] == "metrics.inter_token_latency_ms.successful.mean"
    assert point.throughput_rps == metrics["requests_per_second"]["successful"]["mean"]
    assert point.concurrency == metrics["request_concurrency"]["total"]["mean"]


def test_a_rate_is_an_open_loop() -> None:
    points = _points(FILES / "guidellm_constant.json")
    assert [(point.arrivals, point.requested_rps, point.concurrency_limit) for point in points] == [
        ("open", 2.0, 10240.0),
        ("open", 4.0, 10240.0),
    ]
    # No streams were cut off; that is counted, so it is 0.
    assert {point.incomplete for point in points} == {0}


def test_zeros_over_no_requests_are_unknown(tmp_path: Path) -> None:
    report = _report()
    for benchmark in report["benchmarks"]:
        for metric in ("time_to_first_token_ms", "inter_token_latency_ms"):
            for summary in benchmark["metrics"][metric].values():
                summary |= {"count": 0, "mean": 0.0, "percentiles": dict.fromkeys(summary["percentiles"], 0.0)}
    for point in _points(made.write(tmp_path / "silent.json", report)):
        assert (point.ttft, point.tpot) == (None, None)
        assert point.e2e is not None


def test_its_own_goodput_with_its_limits(tmp_path: Path) -> None:
    report = _report()
    benchmark = report["benchmarks"][0]
    benchmark["config"]["slo"] = {"ttft_ms": 500.0, "tpot_ms": 20.0, "e2el_ms": None}
    benchmark["metrics"]["request_goodput"] = {"successful": {"mean": 3.5, "count": 21}}
    point = _points(made.write(tmp_path / "goodput.json", report))[0]
    assert point.goodput is not None
    assert (point.goodput.rps, point.goodput.limits_s) == (3.5, {"ttft": 0.5, "tpot": 0.02})


@pytest.mark.parametrize(("limit", "arrivals"), [(None, "burst"), (512, "closed")])
def test_a_throughput_strategy(tmp_path: Path, limit: int | None, arrivals: str) -> None:
    report = _report()
    report["benchmarks"] = report["benchmarks"][:1]
    report["benchmarks"][0]["config"]["strategy"] = {"type_": "throughput", "max_concurrency": limit}
    (point,) = _points(made.write(tmp_path / "burst.json", report))
    assert (point.arrivals, point.concurrency_limit) == (arrivals, limit)


def test_a_report_of_0_3(tmp_path: Path) -> None:
    report = _report("guidellm_constant.json")
    old = []
    for benchmark in report["benchmarks"]:
        config = benchmark.pop("config")
        benchmark["args"] = {"strategy": {key: config["strategy"][key] for key in ("type_", "rate")}}
        benchmark["worker"] = {"type_": "generative_requests_worker", "backend_model": config["backend"]["model"]}
        benchmark["request_totals"] = benchmark["metrics"].pop("request_totals")
        old.append(benchmark)
    (first, second) = _points(made.write(tmp_path / "old.json", {"benchmarks": old}))
    assert (first.requested_rps, second.requested_rps, first.completed) == (2.0, 4.0, 2)
    assert first.concurrency_limit is None
    assert first.tool_version is None
    assert first.configuration == {"model.name": "e2e-mock-model"}
    assert first.keys["completed"] == "request_totals.successful"


def test_one_bad_load_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    report = _report()
    report["benchmarks"][1]["metrics"]["request_latency"]["successful"]["mean"] = float("nan")
    report["benchmarks"][2]["metrics"]["request_totals"] |= {"successful": 0, "errored": 0}
    evidence = read([made.write(tmp_path / "mixed.json", report)])
    assert len(evidence.sweeps[0].points) == 1
    assert [item.file.rpartition(": ")[2] for item in evidence.refused] == ["benchmarks[1]", "benchmarks[2]"]
    assert [item.reason for item in evidence.refused] == [
        "metrics.request_latency.successful.mean is NaN",
        "no request completed, so nothing was measured",
    ]
