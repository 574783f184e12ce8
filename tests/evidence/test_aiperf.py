"""AIPerf old and new, and GenAI-Perf: a file a run, and the folders their sweeps make."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from capacity.sweeps.sweep import Point
from evidence.files import read
from tests.evidence import made

FOLDER = Path(__file__).parent / "files" / "aiperf_rate20"


def _new() -> dict[str, Any]:
    profile: dict[str, Any] = json.loads((FOLDER / "profile_export_aiperf.json").read_text(encoding="utf-8"))
    return profile


def _point(path: Path) -> Point:
    (sweep,) = read([path]).sweeps
    (point,) = sweep.points
    return point


def test_a_new_run_and_the_table_beside_it() -> None:
    evidence = read([FOLDER])
    (sweep,) = evidence.sweeps
    (point,) = sweep.points
    assert evidence.refused == ()
    assert [Path(item.file).name for item in evidence.skipped] == ["profile_export_aiperf.csv"]
    assert (point.tool, point.tool_version) == ("aiperf", "0.13.0")
    assert (point.arrivals, point.requested_rps, point.concurrency_limit) == ("open", 20.0, None)
    assert (point.completed, point.failed, point.incomplete) == (120, 0, None)
    assert point.keys["failed"] == "counts of error_summary"
    assert point.duration_s == 5.9875008
    assert point.tpot is not None
    assert point.tpot.mean_s == pytest.approx(0.005950983260460992)
    assert point.keys["tpot.p99"] == "inter_token_latency.p99"
    assert point.concurrency == 5.68804423758802
    assert (point.input_tokens_mean, point.output_tokens_mean) == (128.0, 48.0)
    assert point.configuration == {"model.name": "mock-8b", "tokenizer.name": "local/tok"}


SPACED: dict[str, tuple[dict[str, Any], tuple[str | None, float | None, bool | None]]] = {
    "at random": ({"type": "poisson", "rate": 5.0}, ("open", None, False)),
    "at even distances": ({"type": "constant", "rate": 5.0}, ("open", None, True)),
    "in bunches": ({"type": "gamma", "rate": 5.0, "smoothness": 0.5}, ("open", 0.5, None)),
    "as the last one ends": ({"type": "concurrency", "concurrency": 8}, ("closed", None, None)),
    "by users": ({"type": "user_centric", "rate": 5.0, "users": 10}, (None, None, None)),
}


@pytest.mark.parametrize("name", SPACED)
def test_how_evenly_requests_came(tmp_path: Path, name: str) -> None:
    phase, expected = SPACED[name]
    profile = _new()
    profile["input_config"]["phases"] = [{"name": "profiling", **phase}]
    point = _point(made.write(tmp_path / "new.json", profile))
    assert (point.arrivals, point.burstiness, point.is_evenly_spaced) == expected


@pytest.mark.parametrize("name", ["arrival_pattern", "request_rate_mode"])
def test_how_evenly_they_came_before_there_were_phases(tmp_path: Path, name: str) -> None:
    loads: list[tuple[dict[str, Any], tuple[float | None, bool | None]]] = [
        ({name: "constant"}, (None, True)),
        ({name: "poisson"}, (None, False)),
        ({name: "gamma", "arrival_smoothness": 4.0}, (4.0, None)),
        ({}, (None, None)),
    ]
    for number, (load, expected) in enumerate(loads):
        profile = made.aiperf_0_3()
        profile["input_config"]["loadgen"] |= load
        point = _point(made.write(tmp_path / f"{number}" / "old.json", profile))
        assert (point.burstiness, point.is_evenly_spaced) == expected
    closed = made.aiperf_0_3()
    closed["input_config"]["loadgen"] = {"concurrency": 8, name: "concurrency_burst"}
    assert _point(made.write(tmp_path / "closed.json", closed)).is_evenly_spaced is None


def test_genai_perf_sends_at_even_distances(tmp_path: Path) -> None:
    profile = made.genai_perf()
    profile["input_config"]["perf_analyzer"]["stimulus"] = {"request_rate": 4.0}
    point = _point(made.write(tmp_path / "rate.json", profile))
    assert (point.arrivals, point.is_evenly_spaced) == ("open", True)


@pytest.mark.parametrize("change", [{"rate_ramp": {"duration": 30}}, {"rate_series": {"points": []}}])
def test_a_load_that_changes_in_the_run_is_none(tmp_path: Path, change: dict[str, Any]) -> None:
    profile = _new()
    profile["input_config"]["phases"][-1] |= change
    evidence = read([made.write(tmp_path / "ramp.json", profile)])
    assert evidence.sweeps == ()
    assert "its load changes in the run" in evidence.refused[0].reason


def test_a_run_in_which_all_failed_has_errors_and_no_answers(tmp_path: Path) -> None:
    new, old = _new(), made.aiperf_0_3()
    for number, profile in enumerate((new, old)):
        kept = {key: value for key, value in profile.items() if key in {"input_config", "benchmark_duration"}}
        errors = [{"error_details": {"code": 503}, "count": 120}]
        kept |= {"error_request_count": {"unit": "requests", "avg": 120.0}, "error_summary": errors}
        point = _point(made.write(tmp_path / f"{number}.json", kept))
        assert (point.arrivals, point.completed, point.failed) == ("open", 0, 120)
        assert (point.ttft, point.e2e, point.throughput_rps) == (None, None, None)
        assert point.keys["completed"] == "no request_latency beside error_request_count"


def test_units_are_read_and_not_assumed(tmp_path: Path) -> None:
    profile = _new()
    profile["request_latency"] = {"unit": "us", "avg": 250_000.0, "p99": 500_000.0}
    profile["benchmark_duration"] = {"unit": "ms", "avg": 6000.0}
    point = _point(made.write(tmp_path / "a.json", profile))
    assert point.e2e is not None
    assert (point.e2e.mean_s, point.e2e.percentiles_s[99.0], point.duration_s) == (0.25, 0.5, 6.0)
    profile["request_latency"]["unit"] = "fortnights"
    refused = read([made.write(tmp_path / "b.json", profile)]).refused
    assert [item.reason for item in refused] == [
        "request_latency is in 'fortnights', which is no unit of time known here"
    ]


def test_errors_are_counted_one_by_one(tmp_path: Path) -> None:
    profile = _new()
    profile["error_summary"] = [{"error_details": {"code": 503}, "count": 4}, {"error_details": {}, "count": 2}]
    assert _point(made.write(tmp_path / "a.json", profile)).failed == 6
    profile["error_request_count"] = {"unit": "requests", "avg": 7.0}
    assert _point(made.write(tmp_path / "b.json", profile)).failed == 7
    del profile["error_request_count"], profile["error_summary"]
    assert _point(made.write(tmp_path / "c.json", profile)).failed is None


@pytest.mark.parametrize(
    ("phase", "arrivals"),
    [
        ({"type": "concurrency", "concurrency": 8}, "closed"),
        ({"type": "gamma", "rate": 4.0, "smoothness": 0.5}, "open"),
        ({"type": "fixed_schedule"}, "replay"),
        ({"type": "user_centric", "rate": 1.0}, None),
    ],
)
def test_the_last_phase_that_is_no_warmup_is_the_load(tmp_path: Path, phase: dict[str, Any], arrivals: str) -> None:
    profile = _new()
    warmup = {"name": "warmup", "kind": "warmup", "type": "poisson", "rate": 99.0}
    profile["input_config"]["phases"] = [{"name": "profiling", "kind": "profiling", **phase}, warmup]
    point = _point(made.write(tmp_path / "a.json", profile))
    assert point.arrivals == arrivals
    assert (point.requested_rps, point.concurrency_limit) == (phase.get("rate"), phase.get("concurrency"))


@pytest.mark.parametrize(
    ("loadgen", "arrivals", "rate", "limit"),
    [
        ({"request_rate": 4.0}, "open", 4.0, None),
        ({"request_rate": 4.0, "concurrency": 8}, "open", 4.0, 8.0),
        ({"concurrency": 8}, "closed", None, 8.0),
        ({}, None, None, None),
    ],
)
def test_an_old_run(
    tmp_path: Path, loadgen: dict[str, Any], arrivals: str | None, rate: float | None, limit: float | None
) -> None:
    profile = made.aiperf_0_3()
    profile["input_config"]["loadgen"] = loadgen
    point = _point(made.write(tmp_path / "old.json", profile))
    assert (point.arrivals, point.requested_rps, point.concurrency_limit) == (arrivals, rate, limit)
    assert (point.tool, point.tool_version, point.duration_s) == ("aiperf", None, 60.0)


def test_a_run_of_genai_perf(tmp_path: Path) -> None:
    point = _point(made.write(tmp_path / "profile_export_genai_perf.json", made.genai_perf()))
    assert (point.tool, point.arrivals, point.concurrency_limit) == ("genai-perf", "closed", 16.0)
    assert point.failed is None
    assert point.duration_s == 60.0
    assert point.keys["duration_s"] == "request_count.avg / request_throughput.avg"


def test_its_own_goodput_only_with_limits_that_a_point_has(tmp_path: Path) -> None:
    profile = made.aiperf_0_3(goodput={"unit": "requests/sec", "avg": 3.0})
    profile["input_config"]["input"] = {"goodput": {"time_to_first_token": 200.0, "inter_token_latency": 20.0}}
    point = _point(made.write(tmp_path / "a.json", profile))
    assert point.goodput is not None
    assert (point.goodput.rps, point.goodput.limits_s) == (3.0, {"ttft": 0.2, "tpot": 0.02})
    profile["input_config"]["input"]["goodput"]["output_token_throughput_per_user"] = 50.0
    point = _point(made.write(tmp_path / "b.json", profile))
    assert point.goodput is not None
    assert point.goodput.limits_s == {}


def _run(folder: Path, rate: float, model: str = "org/model-8b", latency_ms: float = 1500.0) -> None:
    profile = made.aiperf_0_3(request_throughput={"unit": "requests/sec", "avg": latency_ms})
    profile["input_config"] |= {"loadgen": {"request_rate": rate}, "endpoint": {"model_names": [model]}}
    made.write(folder / "profile_export_aiperf.json", profile)


@pytest.mark.parametrize(
    "layout",
    ["{rate}", "profile_runs/trial_0001/{rate}", "{rate}/profile_runs/trial_0001", "{rate}/profile_runs/run_0001"],
)
def test_folders_of_runs_beside_each_other_are_one_sweep(tmp_path: Path, layout: str) -> None:
    for rate in (8.0, 2.0):
        _run(tmp_path / "base" / layout.format(rate=f"rate_{rate:g}"), rate)
    (sweep,) = read([tmp_path]).sweeps
    assert sweep.name == str(tmp_path / "base")
    assert [point.requested_rps for point in sweep.points] == [2.0, 8.0]


def test_folders_of_other_models_are_other_sweeps(tmp_path: Path) -> None:
    _run(tmp_path / "a", 2.0)
    _run(tmp_path / "b", 2.0, model="org/model-70b")
    assert [sweep.name for sweep in read([tmp_path]).sweeps] == [str(tmp_path / "a"), str(tmp_path / "b")]


def test_repeats_are_one_sweep(tmp_path: Path) -> None:
    for number in (1, 2):
        _run(tmp_path / "profile_runs" / f"run_000{number}", 2.0, latency_ms=1000.0 + number)
    (sweep,) = read([tmp_path]).sweeps
    assert (sweep.name, len(sweep.points)) == (str(tmp_path), 2)


def test_byproducts_are_passed_over(tmp_path: Path) -> None:
    _run(tmp_path, 2.0)
    made.write(tmp_path / "inputs.json", {"data": [{"session_id": "a", "payloads": [{}]}]})
    made.write(tmp_path / "profile_export_aiperf_sweep.json", {"aggregation_type": "sweep", "metadata": {}})
    made.write(tmp_path / "profile_export_aiperf_timeslices.json", {"timeslices": [{}], "input_config": {}})
    requests = [{"metadata": {"request_start_ns": number, "session_num": number}, "metrics": {}} for number in range(3)]
    made.write_lines(tmp_path / "profile_export.jsonl", requests)
    made.write(tmp_path / "server_metrics_export.json", {"summary": {}, "metrics_phase": "profiling"})
    evidence = read([tmp_path])
    assert evidence.refused == ()
    assert len(evidence.skipped) == 5
    assert len(evidence.sweeps) == 1


def test_the_first_release_says_the_same_below_records(tmp_path: Path) -> None:
    old = _point(made.write(tmp_path / "old.json", made.aiperf_0_1()))
    later = _point(made.write(tmp_path / "later.json", made.aiperf_0_3()))
    assert replace(old, origin=later.origin, keys=later.keys) == later
    assert old.keys["ttft.p99"] == "records.ttft.p99"
    assert old.keys["throughput_rps"] == "records.request_throughput.avg"
    assert old.keys["requested_rps"] == "input_config.loadgen.request_rate"
    assert old.keys.keys() == later.keys.keys()
    del (without := made.aiperf_0_1())["records"]["benchmark_duration"]
    derived = _point(made.write(tmp_path / "derived.json", without)).keys["duration_s"]
    assert derived == "records.request_count.avg / records.request_throughput.avg"
