"""inference-perf: a real sweep of seven stages, whose last three asked for more than its client let through."""

from __future__ import annotations

import json
from pathlib import Path

from capacity.sweeps.sweep import Point
from evidence.files import read
from tests.evidence import made

FOLDER = Path(__file__).parent / "files" / "inference_perf_sweep"


def _points(*paths: Path) -> tuple[Point, ...]:
    (sweep,) = read(paths).sweeps
    return sweep.points


def test_a_folder_is_one_sweep_in_order_of_load() -> None:
    evidence = read([FOLDER])
    (sweep,) = evidence.sweeps
    assert sweep.name == str(FOLDER)
    assert [point.requested_rps for point in sweep.points] == [1.0, 31.4, 61.79, 92.19, 122.59, 152.98, 183.38]
    assert {point.arrivals for point in sweep.points} == {"open"}
    assert evidence.refused == ()


def test_every_number_is_the_files_own_and_names_its_key() -> None:
    stage = json.loads((FOLDER / "stage_4_lifecycle_metrics.json").read_text(encoding="utf-8"))
    point = _points(FOLDER)[4]
    assert (point.achieved_rps, point.completed, point.failed) == (106.49371985245213, 7355, 0)
    assert point.throughput_rps == stage["successes"]["throughput"]["requests_per_sec"]
    assert point.ttft is not None
    assert point.ttft.percentiles_s[99.0] == stage["successes"]["latency"]["time_to_first_token"]["p99"]
    assert point.ttft.percentiles_s[50.0] == stage["successes"]["latency"]["time_to_first_token"]["median"]
    assert point.keys["ttft.p99"] == "successes.latency.time_to_first_token.p99"
    assert list(point.ttft.percentiles_s) == sorted(point.ttft.percentiles_s)
    assert point.client_queue is not None
    assert point.client_queue.mean_s == stage["load_summary"]["schedule_delay"]["mean"]


def test_what_the_configuration_beside_it_says() -> None:
    point = _points(FOLDER)[0]
    assert point.concurrency_limit == 44 * 10
    assert point.configuration["model.name"] == "meta-llama/Meta-Llama-3-8B-Instruct"
    assert point.configuration["runtime.name"] == "vllm"


def test_one_stage_by_its_name_finds_the_configuration_too() -> None:
    (point,) = _points(FOLDER / "stage_3_lifecycle_metrics.json")
    assert (point.requested_rps, point.concurrency_limit) == (92.19, 440.0)


def test_the_summary_pools_all_stages_and_is_passed_over() -> None:
    skipped = {Path(item.file).name: item.reason for item in read([FOLDER]).skipped}
    assert "pools all stages" in skipped["summary_lifecycle_metrics.json"]
    assert set(skipped) == {"summary_lifecycle_metrics.json", "config.yaml"}


def test_unknown_without_the_configuration_is_unknown(tmp_path: Path) -> None:
    stage = json.loads((FOLDER / "stage_3_lifecycle_metrics.json").read_text(encoding="utf-8"))
    (point,) = _points(made.write(tmp_path / "renamed.txt", stage))
    assert point.concurrency_limit is None
    assert point.configuration == {}


def test_newer_stages_say_duration_and_concurrency(tmp_path: Path) -> None:
    stage = json.loads((FOLDER / "stage_3_lifecycle_metrics.json").read_text(encoding="utf-8"))
    stage["benchmark_time_seconds"] = 61.25
    stage["load_summary"] |= {"concurrency": 32, "achieved_rate": 0.0}
    (point,) = _points(made.write(tmp_path / "stage.json", stage))
    assert (point.arrivals, point.concurrency_limit, point.requested_rps) == ("closed", 32.0, None)
    assert point.duration_s == 61.25
    # 0.0 is written where all requests started at once: nothing can be said of a rate.
    assert point.achieved_rps is None
    assert {"requested_rps", "achieved_rps"} & point.keys.keys() == set()


def test_a_constant_load_is_sent_at_random_in_the_time_it_should_take() -> None:
    assert {(point.is_evenly_spaced, point.is_rate_fitted) for point in _points(FOLDER)} == {(None, True)}


def test_newer_stages_call_prompts_otherwise_and_count_goodput(tmp_path: Path) -> None:
    stage = json.loads((FOLDER / "stage_3_lifecycle_metrics.json").read_text(encoding="utf-8"))
    stage["successes"]["prompt_tokens"] = {"total": 5000.0, "cached": 0.0, **stage["successes"].pop("prompt_len")}
    stage["successes"]["goodput_metrics"] = {"goodput_percentage": 98.0, "request_goodput": 89.5}
    made.write(tmp_path / "stage_0_lifecycle_metrics.json", stage)
    config = "load: {type: poisson}\nserver: {type: vllm}\nreport: {goodput: {constraints: {ttft: 0.6, tpot: 0.02}}}\n"
    (tmp_path / "config.yaml").write_text(config, encoding="utf-8")
    (point,) = _points(tmp_path)
    assert point.input_tokens_mean == stage["successes"]["prompt_tokens"]["mean"]
    assert point.keys["input_tokens_mean"] == "successes.prompt_tokens.mean"
    assert point.is_rate_fitted is None
    assert point.goodput is not None
    assert (point.goodput.rps, point.goodput.limits_s) == (89.5, {"ttft": 0.6, "tpot": 0.02})
    (tmp_path / "config.yaml").write_text(config.replace("tpot", "ntpot"), encoding="utf-8")
    (point,) = _points(tmp_path)
    assert point.goodput is not None
    assert point.goodput.limits_s == {}


def test_a_stage_in_which_all_failed_is_a_point(tmp_path: Path) -> None:
    stage = json.loads((FOLDER / "stage_3_lifecycle_metrics.json").read_text(encoding="utf-8"))
    successes, failures = stage["successes"], stage["failures"]
    failures["count"], successes["count"] = successes["count"], 0
    successes["latency"] = dict.fromkeys(successes["latency"])
    successes["throughput"] = dict.fromkeys(successes["throughput"], 0.0)
    successes |= {"prompt_len": None, "output_len": None}
    (point,) = _points(made.write(tmp_path / "stage.json", stage))
    assert (point.requested_rps, point.completed, point.failed) == (92.19, 0, failures["count"])
    assert (point.ttft, point.e2e, point.throughput_rps, point.output_tokens_mean) == (None,) * 4


def test_other_files_of_a_run_are_passed_over(tmp_path: Path) -> None:
    stage = json.loads((FOLDER / "stage_3_lifecycle_metrics.json").read_text(encoding="utf-8"))
    made.write(tmp_path / "stage_0_lifecycle_metrics.json", stage)
    made.write(tmp_path / "adapter_sql_stage_0_lifecycle_metrics.json", stage | {"benchmark_time_seconds": 60.0})
    requests = [{"start_time": 0.0, "end_time": 1.0, "request": "{}", "response": "{}", "info": {}, "error": None}]
    made.write(tmp_path / "per_request_lifecycle_metrics.json", requests)
    made.write(tmp_path / "summary_prometheus_metrics.json", {"load_summary": {}, "failures": {}, "successes": {}})
    evidence = read([tmp_path])
    assert [len(sweep.points) for sweep in evidence.sweeps] == [1]
    assert evidence.refused == ()
    assert len(evidence.skipped) == 3


def test_the_configuration_is_found_among_reports(tmp_path: Path) -> None:
    made.write(tmp_path / "stage.json", json.loads((FOLDER / "stage_3_lifecycle_metrics.json").read_text("utf-8")))
    (tmp_path / "benchmark_report.yaml").write_text("load: no mapping\n", encoding="utf-8")
    (tmp_path / "broken.yaml").write_text("a: [\n", encoding="utf-8")
    (tmp_path / "run.yml").write_text((FOLDER / "config.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    (point,) = _points(tmp_path)
    assert point.concurrency_limit == 440.0


def test_what_the_difference_of_two_times_rounds_is_no_wait() -> None:
    """The tool's own golden file has 5.5e-17 s between two times that are the same."""
    evidence = read([FOLDER.parent / "inference_perf_lifecycle.yaml"])
    assert evidence.refused == ()
    (point,) = evidence.sweeps[0].points
    assert point.client_queue is not None
    assert point.client_queue.percentiles_s[25.0] == 0
    assert point.client_queue.percentiles_s[50.0] == 0.001
