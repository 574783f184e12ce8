"""vLLM's results, old and new, alone, appended, and as a sweep's folders."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from capacity.sweeps.sweep import Point
from evidence.files import read
from tests.evidence import made


def _point(folder: Path, document: dict[str, Any]) -> Point:
    (sweep,) = read([made.write(folder / "result.json", document)]).sweeps
    (point,) = sweep.points
    return point


def test_a_new_result(tmp_path: Path) -> None:
    point = _point(tmp_path, made.vllm_serve())
    assert (point.arrivals, point.requested_rps, point.throughput_rps) == ("open", 10.0, 9.95)
    assert (point.completed, point.failed, point.incomplete) == (597, 3, None)
    assert point.ttft is not None
    assert point.ttft.percentiles_s == {50.0: 0.04, 95.0: 0.08, 99.0: 0.12, 99.9: 0.16}
    assert point.keys["ttft.p50"] == "median_ttft_ms"
    assert point.keys["ttft.p99.9"] == "p99.9_ttft_ms"
    assert point.e2e is not None
    assert point.e2e.mean_s == pytest.approx(0.9152)
    assert (point.input_tokens_mean, point.output_tokens_mean) == (200.0, 100.0)
    assert (point.input_tokens_per_s, point.output_tokens_per_s) == (1990.0, 995.0)
    assert point.keys["input_tokens_per_s"] == "total_input_tokens / duration"
    assert point.configuration == {"model.name": "org/model-8b", "tokenizer.name": "org/model-8b"}
    assert point.goodput is None


def test_an_old_result(tmp_path: Path) -> None:
    point = _point(tmp_path, made.vllm_old(**{"request_goodput:": 9.5}))
    assert point.e2e is None
    assert point.failed == 3
    assert point.keys["failed"] == "num_prompts - completed"
    assert point.goodput is not None
    # The limits are nowhere in the file.
    assert (point.goodput.rps, point.goodput.limits_s) == (9.5, {})
    assert point.keys["goodput"] == "request_goodput:"


NO_LATENCY = {key: 0.0 for key in made.vllm_serve() if key.endswith("_ms")}


def test_a_load_at_which_all_failed_is_a_point_without_latencies(tmp_path: Path) -> None:
    point = _point(tmp_path, made.vllm_serve(completed=0, failed=600, request_throughput=0.0, **NO_LATENCY))
    assert (point.requested_rps, point.completed, point.failed, point.incomplete) == (10.0, 0, 600, None)
    assert (point.ttft, point.tpot, point.itl, point.e2e, point.throughput_rps) == (None,) * 5
    old = _point(tmp_path / "old", made.vllm_old(completed=0, **NO_LATENCY))
    assert (old.completed, old.failed) == (0, 600)


@pytest.mark.parametrize(("failed", "incomplete"), [(0, 200), (60, 140), (200, None)])
def test_prompts_of_which_nothing_is_said_are_counted(tmp_path: Path, failed: int, incomplete: int | None) -> None:
    point = _point(tmp_path, made.vllm_serve(completed=400, failed=failed))
    assert (point.completed, point.failed, point.incomplete) == (400, failed, incomplete)
    assert point.keys.get("incomplete") == (None if incomplete is None else "num_prompts - completed - failed")


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (made.vllm_serve(completed=601, failed=0), "completed (601) and failed (0) are more than num_prompts (600): "),
        (
            made.vllm_serve(completed=400, failed=201),
            "completed (400) and failed (201) are more than num_prompts",
        ),
        (made.vllm_old(completed=601), "completed (601) are more than num_prompts (600): every prompt is sent once"),
    ],
)
def test_more_answers_than_prompts_are_refused(tmp_path: Path, document: dict[str, Any], reason: str) -> None:
    evidence = read([made.write(tmp_path / "result.json", document)])
    assert evidence.sweeps == ()
    (refusal,) = evidence.refused
    assert refusal.reason.startswith(reason)


@pytest.mark.parametrize("prompts", [-1, 0])
def test_all_prompts_of_a_dataset_are_no_number_of_them(tmp_path: Path, prompts: int) -> None:
    point = _point(tmp_path, made.vllm_serve(num_prompts=prompts))
    assert (point.completed, point.failed, point.incomplete) == (597, 3, None)
    old = _point(tmp_path / "old", made.vllm_old(num_prompts=prompts))
    assert (old.completed, old.failed) == (597, None)


@pytest.mark.parametrize("rate", ["inf", math.inf])
@pytest.mark.parametrize(("limit", "arrivals"), [(None, "burst"), (64, "closed")])
def test_no_rate_is_a_burst_or_a_closed_loop(tmp_path: Path, rate: Any, limit: int | None, arrivals: str) -> None:
    point = _point(tmp_path, made.vllm_serve(request_rate=rate, max_concurrency=limit))
    assert (point.arrivals, point.requested_rps, point.concurrency_limit) == (arrivals, None, limit)
    assert point.burstiness is None


def test_zeros_that_only_mean_not_measured(tmp_path: Path) -> None:
    silent = {key: 0.0 for key in made.vllm_serve() if key.endswith(("_ttft_ms", "_tpot_ms", "_itl_ms"))}
    point = _point(tmp_path, made.vllm_serve(**silent, failed=0))
    assert (point.ttft, point.tpot, point.itl) == (None, None, None)
    assert not any(key.startswith(("ttft", "tpot", "itl")) for key in point.keys)
    assert point.failed == 0


def test_percentiles_that_fall_are_refused_by_their_keys(tmp_path: Path) -> None:
    evidence = read([made.write(tmp_path / "result.json", made.vllm_serve(p95_ttft_ms=800.0, p99_ttft_ms=500.0))])
    (refusal,) = evidence.refused
    assert refusal.reason == "p99_ttft_ms (500) is below p95_ttft_ms (800): these are no percentiles"
    assert evidence.sweeps == ()


def test_waiting_in_the_client_may_be_none(tmp_path: Path) -> None:
    queue = {"mean_client_queue_time_ms": 0.0, "p99_client_queue_time_ms": 0.0}
    point = _point(tmp_path, made.vllm_serve(**queue))
    assert point.client_queue is not None
    assert (point.client_queue.mean_s, point.client_queue.percentiles_s) == (0.0, {99.0: 0.0})


def test_single_requests_are_seconds_and_only_the_completed(tmp_path: Path) -> None:
    detail = {
        "num_prompts": 3,
        "completed": 2,
        "failed": 1,
        "ttfts": [0.5, 0.0, 0.25],
        "itls": [[0.5, 1.0], [], []],
        "output_lens": [3, 0, 1],
        "latencies": [2.0, 0.0, 0.25],
        "start_times": [100.0, 101.0, 102.0],
        "errors": ["", "timeout", ""],
    }
    point = _point(tmp_path, made.vllm_serve(**detail))
    assert point.per_request is not None
    assert point.per_request.ttft_s == (0.5, 0.25)
    assert point.per_request.tpot_s == (0.75, 0.0)
    assert point.per_request.e2e_s == (2.0, 0.25)
    assert point.achieved_rps == 1.0  # three at 0, 1 and 2 s
    del detail["latencies"]
    point = _point(tmp_path / "old", made.vllm_serve(**detail))
    assert point.per_request is not None
    assert point.per_request.e2e_s == (2.0, 0.25)


def test_an_infinite_burstiness_is_even_spacing(tmp_path: Path) -> None:
    point = _point(tmp_path, made.vllm_serve(burstiness=math.inf))
    assert (point.is_evenly_spaced, point.burstiness) == (True, None)
    point = _point(tmp_path / "gamma", made.vllm_serve(burstiness=2.0))
    assert (point.is_evenly_spaced, point.burstiness) == (None, 2.0)


def test_a_rate_is_fitted_since_failures_are_counted(tmp_path: Path) -> None:
    assert _point(tmp_path / "new", made.vllm_serve()).is_rate_fitted
    assert _point(tmp_path / "old", made.vllm_old()).is_rate_fitted is None
    assert _point(tmp_path / "burst", made.vllm_serve(request_rate="inf")).is_rate_fitted is None


def test_waiting_in_the_client_is_known_from_single_requests_alone(tmp_path: Path) -> None:
    """Every result has them since there are such, whatever else is saved."""
    behind = {"max_concurrency": 8, "queue_times": [0.0, 0.5, 1.0]}
    point = _point(tmp_path / "a", made.vllm_serve(**behind))
    assert point.client_queue is not None
    assert (point.client_queue.mean_s, point.keys["client_queue.mean"]) == (0.5, "mean of queue_times")
    said = _point(tmp_path / "b", made.vllm_serve(**behind, mean_client_queue_time_ms=250.0))
    assert said.client_queue is not None
    assert said.client_queue.mean_s == 0.25
    unknowns: list[dict[str, Any]] = [{"max_concurrency": None}, {"queue_times": [0.0, -5.0]}, {"queue_times": []}]
    for unknown in unknowns:
        assert _point(tmp_path / "c", made.vllm_serve(**behind | unknown)).client_queue is None


def test_a_trace_sent_at_its_own_times_is_no_burst(tmp_path: Path) -> None:
    trace = {"request_rate": "inf", "start_times": [0.0, 20.0, 59.0], "duration": 60.0}
    point = _point(tmp_path / "trace", made.vllm_serve(**trace))
    assert (point.arrivals, point.keys["arrivals"]) == ("replay", "start_times")
    assert _point(tmp_path / "burst", made.vllm_serve(**trace | {"start_times": [0.0, 0.1, 0.3]})).arrivals == "burst"


def test_single_requests_that_do_not_add_up_are_left_out(tmp_path: Path) -> None:
    point = _point(tmp_path, made.vllm_serve(latencies=[1.0, 2.0]))
    assert point.per_request is None


def test_appended_results_are_points_of_one_sweep(tmp_path: Path) -> None:
    runs = [made.vllm_serve(request_rate=rate, duration=rate + 60) for rate in (8.0, 2.0, 4.0)]
    (sweep,) = read([made.write_lines(tmp_path / "runs.json", runs)]).sweeps
    assert [point.requested_rps for point in sweep.points] == [2.0, 4.0, 8.0]
    assert str(sweep.points[0].origin).endswith("runs.json: line 2")


def test_a_ramp_is_no_load(tmp_path: Path) -> None:
    evidence = read([made.write(tmp_path / "ramp.json", made.vllm_serve(ramp_up_strategy="linear"))])
    assert evidence.sweeps == ()
    assert "ramps up" in evidence.refused[0].reason


def _sweep(root: Path) -> None:
    for rate in (4, 2):
        folder = root / "20261101_120000" / f"SERVE--max_num_seqs=64-BENCH--request_rate={rate}"
        runs = [
            made.vllm_serve(request_rate=rate, run_number=number, duration=60.0 + rate + number, max_num_seqs=64)
            for number in range(2)
        ]
        for number, run in enumerate(runs):
            made.write(folder / f"run={number}.json", run)
        made.write(folder / "summary.json", runs)
        made.write(folder / "warmup.json", made.vllm_serve(run_number=-1, num_prompts=8))
        failure = {"run_number": 2, "error_type": "RuntimeError", "error": "died", "serve_overrides": {}}
        made.write(folder / "run=2.failure.json", failure | {"bench_overrides": {}})
    (root / "20261101_120000" / "summary.csv").write_text("run_number,duration\n", encoding="utf-8")


def test_a_sweeps_folders_are_one_sweep_and_no_run_counts_twice(tmp_path: Path) -> None:
    _sweep(tmp_path)
    evidence = read([tmp_path])
    (sweep,) = evidence.sweeps
    assert sweep.name == str(tmp_path / "20261101_120000" / "SERVE--max_num_seqs=64")
    assert [point.requested_rps for point in sweep.points] == [2.0, 2.0, 4.0, 4.0]
    assert evidence.refused == ()
    reasons = sorted({item.reason.partition(" as ")[0] for item in evidence.skipped})
    assert [reason.partition(",")[0] for reason in reasons] == [
        ".csv is not read; results are JSON or YAML",
        "a run of the sweep that failed",
        "a warm-up run (run_number -1)",
        "the same measurement",
    ]


def test_a_summary_alone_is_read(tmp_path: Path) -> None:
    runs = [made.vllm_serve(run_number=number, duration=60.0 + number) for number in range(3)]
    (sweep,) = read([made.write(tmp_path / "summary.json", runs)]).sweeps
    assert [str(point.origin).rpartition(" ")[2] for point in sweep.points] == ["[0]", "[1]", "[2]"]


@pytest.mark.parametrize(
    ("folder", "sweep"),
    [
        ("out/e1/BENCH--request_rate=4", "out/e1"),
        ("out/e1/SERVE--tp=2-BENCH--request_rate=4", "out/e1/SERVE--tp=2"),
        ("out/e1/SERVE--tp=2-WL--request_rate=4", "out/e1/SERVE--tp=2"),
        ("out/e1/SERVE--tp=2", "out/e1/SERVE--tp=2"),
        ("out/e1/WL--max_concurrency=4", "out/e1"),
        ("out/e1", "out/e1"),
        ("out/SERVERS", "out/SERVERS"),
    ],
)
def test_the_folder_of_a_sweep(tmp_path: Path, folder: str, sweep: str) -> None:
    made.write(tmp_path / folder / "run=0.json", made.vllm_serve(run_number=0))
    assert [found.name for found in read([tmp_path]).sweeps] == [str(tmp_path / sweep)]
