"""What was converted from other tools' results: llm-d-benchmark's reports and InferenceX's aggregates."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from evidence.files import read
from tests.evidence import made

FILES = Path(__file__).parent / "files"


def test_a_report_of_0_2() -> None:
    evidence = read([FILES / "llmd_report_0_2.yaml"])
    (point,) = evidence.sweeps[0].points
    assert (point.tool, point.tool_version) == ("inference-perf by llm-d-benchmark", "0.3.0")
    assert (point.arrivals, point.requested_rps, point.concurrency_limit) == ("open", 10.0, None)
    assert (point.completed, point.failed, point.incomplete) == (500, 0, None)
    assert point.duration_s == 49.97206788184121
    assert point.ttft is not None
    assert point.ttft.percentiles_s[99.9] == 0.057014757215045425
    assert point.keys["ttft.p99.9"] == "results.request_performance.aggregate.latency.time_to_first_token.p99p9"
    assert point.configuration["model.name"] == "Qwen/Qwen3-0.6B"
    assert point.configuration["parallelism.tensor"] == "8"


def test_a_report_of_0_1(tmp_path: Path) -> None:
    (sweep,) = read([made.write(tmp_path / "report.json", made.llmd_report_0_1())]).sweeps
    (point,) = sweep.points
    assert (point.completed, point.failed, point.incomplete) == (590, 3, 7)
    assert point.ttft is not None
    assert (point.ttft.mean_s, point.ttft.percentiles_s) == (0.044, {50.0: 0.04, 99.9: 0.16})
    assert point.tpot is not None
    assert point.tpot.mean_s == pytest.approx(0.0088)
    assert (point.throughput_rps, point.output_tokens_per_s, point.duration_s) == (9.8, 995.0, 60.0)
    assert point.configuration["runtime.version"] == "0.11.0"
    # It does not say how the requests came.
    assert point.arrivals is None


def test_an_infinite_rate_is_a_burst_or_a_closed_loop(tmp_path: Path) -> None:
    """A `request_rate` of vLLM, converted as it stands."""
    for limit, arrivals in ((None, "burst"), (math.inf, "burst"), (64, "closed")):
        report = made.llmd_report_0_1()
        report["scenario"]["load"]["standardized"] = {"rate_qps": math.inf, "concurrency": limit}
        (sweep,) = read([made.write(tmp_path / f"{limit}" / "report.json", report)]).sweeps
        assert (sweep.points[0].arrivals, sweep.points[0].requested_rps) == (arrivals, None)


@pytest.mark.parametrize("version", ["0.1", "0.2"])
def test_a_report_of_a_run_in_which_all_failed(tmp_path: Path, version: str) -> None:
    report = made.llmd_report_0_1(failures=600, incomplete=None) | {"version": version}
    report["metrics"] = {"requests": report["metrics"]["requests"]}
    if version == "0.2":
        report["results"] = {"request_performance": {"aggregate": report.pop("metrics")}}
    (sweep,) = read([made.write(tmp_path / "report.json", report)]).sweeps
    (point,) = sweep.points
    assert (point.completed, point.failed, point.ttft) == (0, 600, None)


def test_completed_is_unknown_where_failures_are(tmp_path: Path) -> None:
    (sweep,) = read([made.write(tmp_path / "report.json", made.llmd_report_0_1(failures=None))]).sweeps
    assert (sweep.points[0].completed, sweep.points[0].failed) == (None, None)
    assert "completed" not in sweep.points[0].keys


def test_failures_of_aiperf_are_not_believed(tmp_path: Path) -> None:
    report = made.llmd_report_0_1()
    report["scenario"]["load"]["name"] = "aiperf"
    (sweep,) = read([made.write(tmp_path / "report.json", report)]).sweeps
    assert (sweep.points[0].completed, sweep.points[0].failed) == (None, None)


def test_more_failures_than_requests_are_refused(tmp_path: Path) -> None:
    evidence = read([made.write(tmp_path / "report.json", made.llmd_report_0_1(failures=601))])
    assert evidence.sweeps == ()
    assert "more failed and incomplete than the total of 600" in evidence.refused[0].reason


def test_the_native_result_counts_where_both_are(tmp_path: Path) -> None:
    native = made.vllm_serve()
    made.write(tmp_path / "z_native.json", native)
    report = made.llmd_report_0_1()
    for ours, theirs in (
        ("ttft", "time_to_first_token"),
        ("tpot", "time_per_output_token"),
        ("e2el", "request_latency"),
    ):
        statistics = {f"p{rank}": native[f"p{rank}_{ours}_ms"] for rank in (95, 99)}
        report["metrics"]["latency"][theirs] |= statistics | {"mean": native[f"mean_{ours}_ms"]}
        report["metrics"]["latency"][theirs] |= {
            "p50": native[f"median_{ours}_ms"],
            "p99p9": native[f"p99.9_{ours}_ms"],
        }
    made.write(tmp_path / "benchmark_report.json", report)
    evidence = read([tmp_path])
    (sweep,) = evidence.sweeps
    assert [point.tool for point in sweep.points] == ["vllm"]
    assert evidence.refused == ()
    assert [Path(item.file).name for item in evidence.skipped] == ["benchmark_report.json"]


def test_an_aggregate_on_one_node(tmp_path: Path) -> None:
    (sweep,) = read([made.write(tmp_path / "agg.json", made.inferencex())]).sweeps
    (point,) = sweep.points
    assert (point.arrivals, point.concurrency_limit, point.gpus) == ("closed", 64.0, 8)
    assert (point.output_tokens_per_s, point.input_tokens_per_s) == (3600.0, 3600.0)
    assert (point.completed, point.failed, point.throughput_rps, point.duration_s) == (None, None, None, None)
    assert point.ttft is not None
    assert point.ttft.percentiles_s[99.0] == pytest.approx(0.24)
    assert point.keys["ttft.p99"] == "p99_ttft"
    # The lengths asked for are not the lengths measured.
    assert point.input_tokens_mean is None
    assert point.configuration["gpu.type"] == "h200"


def test_an_aggregate_of_split_prefill_and_decode(tmp_path: Path) -> None:
    nodes = {"is_multinode": True, "num_prefill_gpu": 8, "num_decode_gpu": 16}
    (sweep,) = read([made.write(tmp_path / "agg.json", made.inferencex(**nodes))]).sweeps
    (point,) = sweep.points
    assert (point.gpus, point.output_tokens_per_s, point.input_tokens_per_s) == (24, 7200.0, 3600.0)


def test_an_aggregate_of_agents_traces(tmp_path: Path) -> None:
    counts = {"num_requests_total": 40, "num_requests_successful": 38, "output_tput_tps": 1234.5}
    trace = made.inferencex(**counts)
    del trace["isl"], trace["osl"]
    (sweep,) = read([made.write(tmp_path / "agg.json", trace)]).sweeps
    (point,) = sweep.points
    assert (point.completed, point.failed, point.output_tokens_per_s) == (38, 2, 1234.5)
    assert point.keys["output_tokens_per_s"] == "output_tput_tps"
    assert point.keys["input_tokens_per_s"] == "input_tput_per_gpu x its GPUs"


def test_an_aggregate_of_a_pipeline_has_the_gpus_of_all_its_stages(tmp_path: Path) -> None:
    result = made.inferencex(tp=4, pp=2, pcp_size=2, dcp_size=4)
    (sweep,) = read([made.write(tmp_path / "agg.json", result)]).sweeps
    (point,) = sweep.points
    assert (point.gpus, point.output_tokens_per_s) == (16, 450.0 * 16)
    assert point.keys["gpus"] == "tp x pp x pcp_size"


def test_an_aggregate_of_agents_traces_in_groups(tmp_path: Path) -> None:
    flat = made.inferencex()
    result = {key: value for key, value in flat.items() if not re.search("_(ttft|tpot|itl|e2el)$|per_gpu", key)}
    latency = {
        name: {"mean": flat[f"mean_{name}"], "p95": flat[f"p95_{name}"], "std": 1.0} for name in ("ttft", "e2el")
    }
    result["request_metrics"] = {
        "latency": latency | {"intvty": {"mean": 100.0}},
        "throughput": {"output": {"tokens_per_second": 3600.0}, "duration_seconds": 600.0},
    }
    result |= {"num_requests_total": 130, "num_requests_successful": 100}
    result["request_accounting"] = {"records_warmup_dropped": 25, "records_error_dropped": 5}
    (sweep,) = read([made.write(tmp_path / "agg.json", result)]).sweeps
    (point,) = sweep.points
    # What was dropped in the warm-up did not fail.
    assert (point.completed, point.failed, point.duration_s, point.output_tokens_per_s) == (100, 5, 600.0, 3600.0)
    assert point.ttft is not None
    assert point.ttft.percentiles_s == {95.0: flat["p95_ttft"]}
    assert point.keys["e2e.p95"] == "request_metrics.latency.e2el.p95"


def test_a_list_of_aggregates_is_a_sweep(tmp_path: Path) -> None:
    path = made.write(tmp_path / "all.json", [made.inferencex(conc=conc) for conc in (64, 4, 16)])
    (sweep,) = read([path]).sweeps
    assert [point.concurrency_limit for point in sweep.points] == [4.0, 16.0, 64.0]
    assert len(json.loads(path.read_text(encoding="utf-8"))) == 3
