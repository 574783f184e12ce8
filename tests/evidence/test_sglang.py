"""SGLang's JSON lines: appended runs, bare Infinity, traces, and a server that says much."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from evidence.files import read
from tests.evidence import made


def test_appended_runs_are_one_sweep(tmp_path: Path) -> None:
    runs = [made.sglang(request_rate=rate) for rate in (math.inf, 16.0, 4.0)]
    evidence = read([made.write_lines(tmp_path / "runs.jsonl", runs)])
    (sweep,) = evidence.sweeps
    assert evidence.refused == ()
    assert [point.requested_rps for point in sweep.points] == [4.0, 16.0, None]
    assert [point.arrivals for point in sweep.points] == ["open", "open", "burst"]
    assert "Infinity" in (tmp_path / "runs.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "arrivals", "limit"),
    [
        ({"request_rate": "trace"}, "replay", None),
        ({"request_rate": math.inf, "max_concurrency": 32}, "closed", 32.0),
        ({"request_rate": 4.0, "max_concurrency": 32}, "open", 32.0),
    ],
)
def test_arrivals(tmp_path: Path, changes: dict[str, Any], arrivals: str, limit: float | None) -> None:
    (sweep,) = read([made.write_lines(tmp_path / "runs.jsonl", [made.sglang(**changes)])]).sweeps
    assert (sweep.points[0].arrivals, sweep.points[0].concurrency_limit) == (arrivals, limit)


def test_shorter_names_of_its_totals(tmp_path: Path) -> None:
    """As `benchmark/metrics.py` writes them."""
    shorter = {
        "total_input_tokens": "total_input",
        "total_output_tokens": "total_output",
        "total_output_tokens_retokenized": "total_output_retokenized",
    }
    run = {shorter.get(key, key): value for key, value in made.sglang().items()}
    (sweep,) = read([made.write_lines(tmp_path / "runs.jsonl", [run])]).sweeps
    (point,) = sweep.points
    assert (point.tool, point.input_tokens_mean, point.output_tokens_mean) == ("sglang", 1000.0, 200.0)
    assert point.keys["output_tokens_mean"] == "total_output / completed"


def test_a_run_in_which_all_failed_has_no_latencies(tmp_path: Path) -> None:
    """It writes the mean of none: NaN."""
    none = {key: math.nan for key in made.sglang() if key.endswith("_e2e_latency_ms")}
    none |= {key: 0.0 for key in made.sglang() if key.endswith(("_ttft_ms", "_tpot_ms", "_itl_ms", "_throughput"))}
    none |= {"completed": 0, "concurrency": 0.0, "total_output_tokens": 0, "total_input_tokens": 0}
    detail = {"errors": ["refused"] * 3, "ttfts": [0.0] * 3, "itls": [[]] * 3, "output_lens": [0] * 3}
    lines = [made.sglang(**none, **detail), made.sglang(**none, request_rate=16.0)]
    evidence = read([made.write_lines(tmp_path / "runs.jsonl", lines)])
    (sweep,) = evidence.sweeps
    (point,) = sweep.points
    assert (point.completed, point.failed, point.e2e, point.ttft) == (0, 3, None, None)
    (refusal,) = evidence.refused
    assert refusal.reason == (
        "no request completed, so nothing was measured; whether any failed it does not say (SGLang: --output-details)"
    )


def test_its_own_names(tmp_path: Path) -> None:
    (sweep,) = read([made.write_lines(tmp_path / "runs.jsonl", [made.sglang()])]).sweeps
    (point,) = sweep.points
    assert point.tool == "sglang"
    assert point.e2e is not None
    assert point.e2e.percentiles_s == {50.0: 2.0, 95.0: 4.0, 99.0: 6.0, 99.9: 8.0}
    assert point.keys["e2e.p99"] == "p99_e2e_latency_ms"
    assert point.concurrency == 17.5
    # Retokenised tokens are another count of the same ones.
    assert point.output_tokens_mean == 200.0
    assert point.failed is None
    assert point.configuration == {
        "model.name": "org/model-8b",
        "tokenizer.name": "org/model-8b",
        "parallelism.tensor": "2",
        "precision.kv_cache": "auto",
        "runtime.version": "0.5.23",
        "runtime.name": "sglang",
    }


def test_failures_are_known_with_single_requests_only(tmp_path: Path) -> None:
    detail = {
        "completed": 2,
        "ttfts": [0.1, 0.0, 0.2],
        "itls": [[0.1, 0.1], [], [0.3]],
        "output_lens": [3, 0, 2],
        "errors": ["", "refused", ""],
    }
    (sweep,) = read([made.write_lines(tmp_path / "runs.jsonl", [made.sglang(**detail)])]).sweeps
    (point,) = sweep.points
    assert point.failed == 1
    assert point.per_request is not None
    assert point.per_request.e2e_s == pytest.approx((0.3, 0.5))
    assert point.per_request.tpot_s == pytest.approx((0.1, 0.3))


def test_a_broken_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = made.write_lines(tmp_path / "runs.jsonl", [made.sglang(), made.sglang(duration=90.0)])
    text = path.read_text(encoding="utf-8")
    path.write_text(text + text[:200] + "\n" + '{"hello": 1}\n', encoding="utf-8")
    evidence = read([path])
    assert len(evidence.sweeps[0].points) == 2
    assert [(item.file.rpartition(": ")[2], item.reason.partition(":")[0]) for item in evidence.refused] == [
        ("line 3", "cut short"),
        ("line 4", "no result of a benchmark tool that is known here"),
    ]


def test_a_broken_first_line_does_not_spoil_the_second(tmp_path: Path) -> None:
    path = made.write_lines(tmp_path / "runs.jsonl", [made.sglang()])
    path.write_text('{"backend": "sgl\n' + path.read_text(encoding="utf-8"), encoding="utf-8")
    evidence = read([path])
    assert [point.origin.place for sweep in evidence.sweeps for point in sweep.points] == ["line 2"]
    assert [item.file.rpartition(": ")[2] for item in evidence.refused] == ["line 1"]
