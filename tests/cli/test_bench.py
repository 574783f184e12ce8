"""`warmline bench`: evidence in, one replica's number out, and every number traceable to its file."""

from __future__ import annotations

import json
import math
import re
import shutil
import xml.etree.ElementTree as ET
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.bench import text
from cli.bench.answer import answered, question
from cli.main import warmline
from tests.evidence.made import vllm_serve, write
from tests.evidence.test_files import PLACES, RESULTS

SWEEP = Path(__file__).parents[1] / "evidence" / "files" / "inference_perf_sweep"
LIMITS = ("--ttft-p95-ms", "600", "--tpot-p95-ms", "20")


def bench(*arguments: str | Path) -> Result:
    return CliRunner().invoke(warmline, ["bench", *map(str, arguments)], env={"WARMLINE_STACK": None})


def data(*arguments: str | Path, exit_code: int = 0) -> dict[str, Any]:
    result = bench("read", *arguments, "-o", "json")
    assert result.exit_code == exit_code, result.output
    read: dict[str, Any] = json.loads(result.stdout)
    return read


def test_the_last_open_loop_stage_and_why_the_others_are_none() -> None:
    result = bench("read", SWEEP, *LIMITS)
    assert result.exit_code == 0, result.output
    assert "Last open-loop point: 92.19 requests/s (stage_3_lifecycle_metrics.json)" in result.stdout
    assert "Knee: at or above 92.19 requests/s, below the 106.5 that the client could send" in result.stdout
    for stage, asked, achieved, waited in (
        (4, "122.6", "106.5", "3.556"),
        (5, "153", "105.6", "12.3"),
        (6, "183.4", "106.5", "19.92"),
    ):
        (line,) = [line for line in result.stdout.splitlines() if f"(stage_{stage}_lifecycle_metrics.json): " in line]
        assert f"the client sent {achieved} of the {asked} requests/s asked" in line
        assert "of at most 440" in line
        assert f"requests waited {waited} s in the client" in line
        (row,) = [line for line in result.stdout.splitlines() if line.startswith(f"{asked}/s")]
        assert row.rstrip().endswith("no evidence")


def test_the_numbers_of_that_sweep() -> None:
    (sweep,) = data(SWEEP, *LIMITS)["sweeps"]
    assert [point["is_evidence"] for point in sweep["points"]] == [True] * 4 + [False] * 3
    assert sweep["last_evidence"] == 92.19
    assert sweep["knee"]["load"] == 92.19
    assert sweep["knee"]["is_at_or_above"]
    assert 92.19 < sweep["knee"]["below"] < 107
    assert sweep["goodput"] == {
        "load": 92.19,
        "fails_at": None,
        "interpolated_crossing": None,
        "unknown": [1],  # 60 requests: none of them may miss 99 %
        "holds_again_not_counted": [],
    }
    sustainable, target = sweep["capacity"]["sustainable"], sweep["capacity"]["target"]
    assert sustainable["in_flight"] == pytest.approx(91.35730480202015 * 1.0212724370473967)
    assert target["rps"] == 69.1425
    assert target["is_interpolated"]
    assert [Path(file).name for file in target["evidence"]] == [
        f"stage_{stage}_lifecycle_metrics.json" for stage in (2, 3)
    ]


def value_at(document: Any, key: str) -> Any:
    """What is at a dotted path whose parts may have dots of their own (`p99.9`)."""
    if not key:
        return document
    parts = key.split(".")
    for size in range(1, len(parts) + 1):
        name = ".".join(parts[:size])
        if isinstance(document, dict) and name in document:
            return value_at(document[name], ".".join(parts[size:]))
    return None


def test_every_number_is_at_the_key_it_names() -> None:
    (sweep,) = data(SWEEP, *LIMITS)["sweeps"]
    followed = 0
    for point in sweep["points"]:
        document = json.loads(Path(point["file"]).read_text(encoding="utf-8"))
        for name, figure in point["figures"].items():
            there = value_at(document, figure["key"]) if figure["key"] else None
            if there is not None:
                assert figure["value"] == there, name
                followed += 1
    assert followed > 7 * 40


def test_a_tighter_limit_is_crossed_between_two_stages() -> None:
    result = bench("read", SWEEP, "--ttft-p95-ms", "100", "--tpot-p95-ms", "8")
    assert "Goodput: 61.79 requests/s; it fails at 92.19; a straight line crosses at " in result.stdout
    (sweep,) = data(SWEEP, "--ttft-p95-ms", "100", "--tpot-p95-ms", "8")["sweeps"]
    assert sweep["capacity"]["target"]["rps"] == pytest.approx(61.78971176888304)
    assert 61.8 < sweep["goodput"]["interpolated_crossing"] < 92.19


def test_the_objective_of_a_service() -> None:
    by_service = data(SWEEP, "-s", "local", "--service", "support-bot")
    assert by_service["objective"] == {"ttft_p95_s": 0.6, "tpot_p95_s": 0.02, "attainment_pct": 99}
    assert by_service == data(SWEEP, *LIMITS, "--attainment-pct", "99")


RECORD = """kind: {kind}
model: {{name: {model}}}
runtime: {{name: vllm, version: {version}}}
gpu: {{type: L40S, count: 1}}
"""


def record(folder: Path, *, kind: str = "measured", model: str = "org/model-8b", version: str = "0.33.0") -> Path:
    path = folder / "serving.yaml"
    path.write_text(RECORD.format(kind=kind, model=model, version=version), encoding="utf-8")
    return path


def test_what_was_served_stands_first_and_says_so_if_nobody_measured(tmp_path: Path) -> None:
    write(tmp_path / "sweep" / "a.json", vllm_serve())
    assert "! no serving.yaml beside it" in bench("read", tmp_path).stdout
    path = record(tmp_path)
    result = bench("read", tmp_path)
    assert f"Measured: org/model-8b, vllm 0.33.0, 1 x L40S ({path})" in result.stdout.splitlines()
    record(tmp_path, kind="illustrative")
    assert "NOT MEASURED: org/model-8b" in bench("read", tmp_path).stdout
    assert f"{tmp_path / 'sweep'}: illustrative, not measured" in bench("plot", tmp_path).stdout
    (sweep,) = data(tmp_path)["sweeps"]
    assert (sweep["record"]["kind"], sweep["record"]["facts"]["runtime.version"]) == ("illustrative", "0.33.0")


def test_a_record_that_its_files_contradict_is_a_finding(tmp_path: Path) -> None:
    write(tmp_path / "a.json", vllm_serve())
    record(tmp_path, model="org/model-70b")
    result = bench("read", tmp_path)
    assert result.exit_code == 1
    assert "! model.name: org/model-70b was measured" in result.stdout


def test_evidence_of_another_engine_than_the_services_is_a_finding(tmp_path: Path) -> None:
    quick = {"p99_tpot_ms": 18.0, "p99.9_tpot_ms": 19.0}
    write(tmp_path / "a.json", vllm_serve(model_id="support-8b", **quick))
    record(tmp_path, model="support-8b", version="0.11.0")
    result = bench("read", tmp_path, "-s", "local", "--service", "support-bot")
    assert result.exit_code == 1
    assert "! runtime.version: 0.11.0 was measured, the service has 0.33.0" in result.stdout
    record(tmp_path, model="support-8b")
    asked = ("read", tmp_path, "-s", "local", "--service", "support-bot")
    same = bench(*asked)
    assert same.exit_code == 0
    assert same.stdout.count("Not compared: ") == 1
    assert "the record says nothing of " in same.stdout
    (sweep,) = json.loads(bench(*asked, "-o", "json").stdout)["sweeps"]
    assert {"host.cpu", "host.driver"} <= set(sweep["record"]["not_compared"])
    assert "Not compared" not in bench("read", tmp_path).stdout


def test_a_record_that_is_none_is_bad_input(tmp_path: Path) -> None:
    write(tmp_path / "a.json", vllm_serve())
    path = record(tmp_path, kind="guessed")
    result = bench("read", tmp_path)
    assert result.exit_code == 2
    assert f"{path}:1: kind: got 'guessed'" in result.stderr


def test_without_an_objective_there_is_a_knee_and_no_target() -> None:
    result = bench("read", SWEEP)
    assert "No objective was given" in result.stdout
    assert "Knee: at or above 92.19" in result.stdout
    assert "Target" not in result.stdout


def test_strict_makes_remarks_findings() -> None:
    assert bench("read", SWEEP, *LIMITS, "--strict").exit_code == 1
    assert "! every point: " not in bench("read", SWEEP, *LIMITS).stdout  # `constant`, and still at random


def test_strict_finds_nothing_in_a_sound_file(tmp_path: Path) -> None:
    counts = {"num_prompts": 6000, "completed": 6000, "failed": 0, "duration": 600.0, "request_throughput": 10.0}
    write(tmp_path / "a.json", vllm_serve(**counts))
    limits = ("--ttft-p95-ms", "600", "--tpot-p95-ms", "40")
    assert bench("read", tmp_path, *limits, "--strict").exit_code == 1  # what was served is not on record
    record(tmp_path)
    result = bench("read", tmp_path, *limits, "--strict")
    assert result.exit_code == 0, result.output


def test_what_is_refused_is_named_and_the_rest_read(tmp_path: Path) -> None:
    write(tmp_path / "a.json", vllm_serve())
    (tmp_path / "b.json").write_text('{"request_rate": 10, "dura', encoding="utf-8")
    result = bench("read", tmp_path, *LIMITS)
    assert result.exit_code == 1
    assert f"{tmp_path / 'b.json'}: refused, " in result.stderr
    assert "Last open-loop point: 10 requests/s (a.json)" in result.stdout
    read = data(tmp_path, *LIMITS, exit_code=1)
    assert [Path(one["file"]).name for one in read["refused"]] == ["b.json"]


def failing(rate: float) -> dict[str, Any]:
    nothing = {key: 0.0 for key in vllm_serve() if key.endswith(("_ms", "_throughput"))}
    return vllm_serve(request_rate=rate, completed=0, failed=600, duration=600 / rate, **nothing)


def test_a_load_at_which_all_failed_is_in_the_table_and_bounds_what_a_replica_carries(tmp_path: Path) -> None:
    for rate in (2.0, 4.0):
        sound = {"completed": 6000, "num_prompts": 6000, "failed": 0, "request_throughput": rate}
        write(tmp_path / f"{rate}.json", vllm_serve(request_rate=rate, duration=6000 / rate, **sound))
    write(tmp_path / "8.json", failing(8.0))
    limits = ("--ttft-p95-ms", "600", "--tpot-p95-ms", "40")
    result = bench("read", tmp_path, *limits)
    assert result.exit_code == 0, result.output
    (row,) = [line for line in result.stdout.splitlines() if line.startswith("8/s")]
    assert row.split()[1:] == ["-", "-", "-", "-", "-", "-", "0", "%", "failed", "here"]
    assert "failed here: all 600 requests" in result.stdout
    assert "Knee: at or above 4 requests/s, below the 8 at which requests failed" in result.stdout
    assert "Goodput: 4 requests/s; it fails at 8" in result.stdout
    (sweep,) = data(tmp_path, *limits)["sweeps"]
    assert (sweep["goodput"]["fails_at"], sweep["requests_failed_at"]) == (8, [8])
    assert "failed here" in bench("read", tmp_path).stdout


def test_where_all_loads_failed_the_least_of_them_is_said(tmp_path: Path) -> None:
    write(tmp_path / "8.json", failing(8.0))
    result = bench("read", tmp_path, *LIMITS)
    assert result.exit_code == 1
    assert "Requests failed at 8 requests/s: a replica carries less. Measure lower loads." in result.stdout
    assert bench("plot", tmp_path, *LIMITS).exit_code == 1


def test_an_objective_that_no_load_keeps_is_a_finding_that_says_what_to_do() -> None:
    """There is a knee, and still no number for a replica."""
    limits = ("--ttft-p95-ms", "600", "--tpot-p95-ms", "1")
    result = bench("read", SWEEP, *limits)
    assert result.exit_code == 1
    assert "Knee: at or above 92.19" in result.stdout
    assert "Goodput: none; no load is shown to keep the objective; it fails at 1 requests/s" in result.stdout
    assert "no replica's number follows from this sweep: measure loads below 1;" in result.stdout
    assert bench("plot", SWEEP, *limits).exit_code == 1
    assert bench("read", SWEEP).exit_code == 0  # nothing was promised


def test_an_objective_of_which_it_cannot_be_told_is_a_finding(tmp_path: Path) -> None:
    write(tmp_path / "a.json", vllm_serve())
    result = bench("read", tmp_path, "--ttft-p95-ms", "600", "--tpot-p95-ms", "30")
    assert result.exit_code == 1
    assert "no replica's number follows from this sweep: measure so that it can be told" in result.stdout
    assert "it cannot be told at 10: measure more requests" in result.stdout


EXTREME = [5e-324, 1e-320, 1e-300, 1e-12, -0.0, 0, 1, 0.5, 1e12, 1e15, 1e300, 10**400, math.nan, -1, True, "x", [], {}]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.sampled_from(sorted(RESULTS)), st.data())
def test_whatever_is_read_is_reckoned_with_and_printed(tmp_path: Path, name: str, data: st.DataObject) -> None:
    """Numbers at the end of what a float holds, and two of them in one file: none ends in a traceback."""
    result = json.loads(json.dumps(RESULTS[name]))
    for place in data.draw(st.lists(st.sampled_from(PLACES[name]), min_size=1, max_size=3)):
        inner = result
        try:
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = data.draw(st.sampled_from(EXTREME))
        except (TypeError, KeyError, IndexError):  # what was put in first has no such place
            continue
    path = write(tmp_path / "result.json", result)
    for output in ("table", "json"):
        printed = bench("read", path, *LIMITS, "--e2e-p95-ms", "9000", "-o", output)
        assert printed.exit_code in {0, 1, 2}, printed.output
        assert printed.exception is None or isinstance(printed.exception, SystemExit)
        if output == "json" and printed.stdout:
            json.loads(printed.stdout, parse_constant=no_number)


def no_number(text: str) -> float:
    """What a fault says of a file may name it; a value never is one."""
    pytest.fail(f"{text} is no JSON")


def test_no_evidence_at_all_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.json").write_text("{}", encoding="utf-8")
    for path in (tmp_path / "empty", tmp_path / "notes.json"):
        for command in ("read", "plot"):
            result = bench(command, path, *LIMITS)
            assert result.exit_code == 2, result.output
            assert result.stdout == ""
            assert f"{path}: got " in result.stderr
            assert "Traceback" not in result.output


BAD: dict[str, tuple[tuple[str | Path, ...], str]] = {
    "no such path": (("/nowhere/at/all",), "does not exist"),
    "a limit of 0": ((SWEEP, "--ttft-p95-ms", "0"), "0 is not above 0"),
    "a limit that is no number": ((SWEEP, "--ttft-p95-ms", "NaN"), "NaN is not above 0"),
    "a share": ((SWEEP, *LIMITS, "--attainment-pct", "0.99"), "0.99 is not from 1 to 100"),
    "a share of nothing": ((SWEEP, "--attainment-pct", "99"), "give one of them, too"),
    "both": ((SWEEP, *LIMITS, "-s", "local", "--service", "support-bot"), "either limits or --service"),
    "a service of no stack": ((SWEEP, "--service", "support-bot"), "give -s STACK"),
    "no such service": ((SWEEP, "-s", "local", "--service", "bot"), "no service 'bot', expected one of support-bot"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_ends_with_2(name: str) -> None:
    arguments, said = BAD[name]
    result = bench("read", *arguments)
    assert result.exit_code == 2, result.output
    assert said in result.stderr


def test_mixed_serving_configurations_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.json", vllm_serve())
    write(tmp_path / "b.json", vllm_serve(model_id="org/model-70b", request_rate=5.0, duration=120.0))
    result = bench("read", tmp_path, *LIMITS)
    assert result.exit_code == 1
    assert "! refused: different serving configurations, model.name: org/model-70b (" in result.stdout
    assert "Nothing is concluded" in result.stdout


def test_a_closed_loop_sweep_tells_what_may_be_in_flight(tmp_path: Path) -> None:
    for held, rps in ((4, 5.0), (8, 9.5), (16, 18.0), (32, 18.5)):
        counts = {"completed": 10_000, "num_prompts": 10_003, "duration": 10_000 / rps, "request_throughput": rps}
        loop = {"request_rate": "inf", "max_concurrency": held, "mean_e2el_ms": 1000 * held / rps}
        write(tmp_path / f"c{held}.json", vllm_serve(**counts, **loop))
    limits = ("--ttft-p95-ms", "600", "--tpot-p95-ms", "40")
    printed = bench("read", tmp_path, *limits)
    assert printed.exit_code == 0, printed.output
    assert "Closed loops only" in printed.stdout
    assert "Knee: 16 requests in flight, between 8 and 32" in printed.stdout
    assert "Target per replica: 12 in flight" in printed.stdout
    (sweep,) = data(tmp_path, *limits)["sweeps"]
    assert sweep["capacity"]["target"]["rps"] is None
    assert sweep["capacity"]["target"]["in_flight"] == pytest.approx(12)
    assert all("closed-loop" in {remark["code"] for remark in point["remarks"]} for point in sweep["points"])


def test_a_sweep_of_which_no_point_is_evidence_is_a_finding() -> None:
    result = bench("read", SWEEP.parent / "guidellm_concurrent.json", *LIMITS)
    assert result.exit_code == 1
    assert "45 of 429 requests failed" in result.stdout
    assert "Nothing is concluded: no point is evidence." in result.stdout


def test_two_folders_are_two_sweeps(tmp_path: Path) -> None:
    write(tmp_path / "one" / "a.json", vllm_serve())
    write(tmp_path / "two" / "a.json", vllm_serve(request_rate=5.0, duration=120.0, request_throughput=4.975))
    assert [Path(sweep["sweep"]).name for sweep in data(tmp_path)["sweeps"]] == ["one", "two"]


def test_the_curve_in_a_terminal() -> None:
    result = bench("plot", SWEEP, *LIMITS)
    assert result.exit_code == 0, result.output
    ttft, tpot = result.stdout.split("TPOT p95, ms")
    assert "TTFT p95, ms   (── limit 600)" in ttft
    for panel in (ttft, tpot.split("● open-loop evidence")[0]):
        assert panel.count("●") == 4
        assert 1 <= panel.count("○") <= 3  # three within a rps of each other
        assert "requests/s" in panel
    assert "┊ target 69.14   │ knee at or above 92.19" in tpot
    assert ttft.count("┊") == 14
    assert max(map(len, result.stdout.splitlines())) <= 120


def test_the_curve_as_svg_is_the_same_each_time(tmp_path: Path) -> None:
    out = tmp_path / "made" / "curve.svg"
    result = bench("plot", SWEEP, *LIMITS, "--out", out)
    assert (result.exit_code, result.stdout) == (0, f"{out}\n")
    first = out.read_text(encoding="utf-8")
    assert ET.fromstring(first).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - our own
    for words in ("limit 600 ms", "knee at or above 92.19", "no evidence", "TPOT p95, ms"):
        assert f"<!-- {words} -->" in first
    dashes = re.findall(r'stroke-dasharray: ([^;]+);[^"]*stroke: (#1c6e5a|#7a3b8f|#b44a1e)', first)
    assert len({dash for dash, _ in dashes}) == len({colour for _, colour in dashes}) == 3
    bench("plot", SWEEP, *LIMITS, "--out", out)
    assert out.read_text(encoding="utf-8") == first


def test_a_page_of_two_sweeps_has_each_id_once_and_tells_what_it_draws(tmp_path: Path) -> None:
    """A `<use>` or a clip path of the second chart would be drawn by what is in the first."""
    for name in ("one", "two"):
        shutil.copytree(SWEEP, tmp_path / "sweeps" / name)
        stages = sorted((tmp_path / "sweeps" / name).glob("stage_*.json"))
        for number, path in enumerate(stages):  # not the same measurement
            stage = json.loads(path.read_text(encoding="utf-8"))
            stage["successes"]["latency"]["time_to_first_token"]["mean"] *= 1 + 0.001 * (number + len(name))
            stage["load_summary"]["requested_rate"] += 0.5 * (name == "two")
            write(path, stage)
    page = tmp_path / "curves.html"
    bench("plot", tmp_path / "sweeps", *LIMITS, "--out", page)
    drawn = page.read_text(encoding="utf-8")
    ids = re.findall(r'\bid="([^"]+)"', drawn)
    assert len(ids) == len(set(ids))
    used = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', drawn)
    assert len(used) > 20
    assert {one or other for one, other in used} <= set(ids)
    assert drawn.count("<svg") == drawn.count('role="img"') == drawn.count("<desc ") == 2
    for number, name in enumerate(("one", "two"), 1):
        assert f'aria-labelledby="sweep-{number}-title sweep-{number}-desc"' in drawn
        assert f'<title id="sweep-{number}-title">{tmp_path / "sweeps" / name}</title>' in drawn
    assert "TTFT p95, ms over requests/s, 4 open-loop points: 36.24 ms at 1 to 80.24 ms at 92.19 requests/s" in drawn
    assert "3 of no evidence, limit 600 ms" in drawn
    assert "knee at or above 92.19 requests/s. target 69.14 requests/s" in drawn


def test_a_load_at_which_requests_failed_is_drawn(tmp_path: Path) -> None:
    write(tmp_path / "4.json", vllm_serve(request_rate=4.0, duration=150.0, request_throughput=3.98))
    write(tmp_path / "8.json", failing(8.0))
    drawn = bench("plot", tmp_path, *LIMITS)
    assert "* requests failed at 8" in drawn.stdout
    bench("plot", tmp_path, *LIMITS, "--out", tmp_path / "curve.svg")
    assert "<!-- requests failed at 8 -->" in (tmp_path / "curve.svg").read_text(encoding="utf-8")


def test_the_table_fits_into_a_hundred_columns_and_into_eighty() -> None:
    (told,) = answered([SWEEP], question(None, None, None, ttft_p95_ms=Decimal(600))).sweeps
    for width, beside in ((100, True), (80, False)):
        table = text.table_of(told.reading, width)
        # A cell breaks at its spaces, and a number never.
        columns = [[part for cell in column for part in cell.split()] for column in zip(*table, strict=True)]
        assert sum(max(map(len, parts)) for parts in columns) + 16 <= width
        assert ("36.2/39.7" in table[1][4]) == beside
    printed = bench("read", SWEEP, *LIMITS).stdout.splitlines()
    head = next(number for number, line in enumerate(printed) if line.startswith("asked"))
    assert max(map(len, printed[head - 1 : head + 8])) <= 100


def test_the_curve_as_one_page_that_fetches_nothing(tmp_path: Path) -> None:
    out = tmp_path / "curve.html"
    assert bench("plot", SWEEP, *LIMITS, "--out", out).exit_code == 0
    page = out.read_text(encoding="utf-8")
    assert "<svg" in page
    assert "Target per replica: 69.14 requests/s" in page
    assert "&lt;= 600 ms" in page
    assert "<script" not in page
    assert 'src="' not in page


def test_a_place_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = bench("plot", SWEEP, "--out", tmp_path / "file" / "curve.svg")
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr
    assert "Traceback" not in result.output


def test_another_ending_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    out = tmp_path / "curve.png"
    result = bench("plot", SWEEP, "--out", out)
    assert result.exit_code == 2
    assert not out.exists()
