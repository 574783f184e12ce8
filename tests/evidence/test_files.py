"""Folders as they are found: mixed, nested, broken, foreign. Whatever is no evidence is named, the rest is read."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evidence.documents import MAX_YAML_BYTES
from evidence.files import Evidence, read
from evidence.walk import MAX_BYTES
from tests.evidence import made


def _beside_a_good_one(folder: Path, name: str, content: bytes) -> Evidence:
    """Reads `content` beside a good result, which must come through whatever `content` is."""
    made.write(folder / "good.json", made.vllm_serve())
    (folder / name).write_bytes(content)
    evidence = read([folder])
    assert [len(sweep.points) for sweep in evidence.sweeps] == [1]
    return evidence


GOOD = json.dumps(made.vllm_serve(duration=61.0)).encode()

BROKEN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "blank": (b" \n\n", "empty"),
    "truncated": (GOOD[: len(GOOD) // 2], "cut short"),
    "one byte short": (GOOD[:-1], "cut short"),
    "no JSON": (GOOD.replace(b'"backend"', b"backend"), "no valid JSON"),
    "not UTF-8": (GOOD[:-1] + b', "label": "\xff\xfe"}', "bytes that are not UTF-8"),
    "UTF-16": (GOOD.decode().encode("utf-16"), "bytes that are not UTF-8"),
    "foreign": (b'{"name": "left-pad", "version": "1.3.0", "dependencies": {}}', "no result of a benchmark tool"),
    "foreign list": (b'[{"a": 1}, {"b": 2}]', "no result of a benchmark tool"),
    "a number": (b"42", "no result of a benchmark tool"),
    "a list of numbers": (b"[1, 2]", "no result of a benchmark tool"),
    "prose": (b"the results of Tuesday", "no result of a benchmark tool"),
    "manifests": (b"kind: Service\n---\nkind: Deployment\n", "no result of a benchmark tool"),
    "broken YAML": (b"a: [1\nb: 2", "neither JSON nor YAML"),
    "bottomless": (b"[" * 100_000, "brackets in brackets without end"),
    "a date of no calendar": (b"a: 2001-13-45", "neither JSON nor YAML"),
    "a tag that does not fit": (b"a: !!timestamp x", "neither JSON nor YAML"),
    "another one": (b"a: !!int ''", "neither JSON nor YAML"),
    "bottomless YAML": (b"- " * 100_000, "neither JSON nor YAML"),
    "endless number": (b'{"duration": ' + b"9" * 5000 + b', "x": Infinity}', "a number too long to read"),
    "large YAML": (b"a: b\n" * (MAX_YAML_BYTES // 4), "no JSON, and more than 4 MiB"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_named_with_its_reason(tmp_path: Path, case: str) -> None:
    content, reason = BROKEN[case]
    evidence = _beside_a_good_one(tmp_path, "broken.json", content)
    (refusal,) = evidence.refused
    assert refusal.file == str(tmp_path / "broken.json")
    assert reason in refusal.reason


def test_several_loads_at_which_all_failed_are_several_points(tmp_path: Path) -> None:
    nothing = {key: 0.0 for key in made.vllm_serve() if key.endswith("_ms")} | {"completed": 0, "failed": 600}
    for rate in (20.0, 40.0):
        made.write(tmp_path / f"{rate}.json", made.vllm_serve(request_rate=rate, **nothing))
    report = made.llmd_report_0_1(failures=600, incomplete=0)
    del report["metrics"]["latency"]["time_to_first_token"]
    made.write(tmp_path / "report.json", report)
    (sweep,) = read([tmp_path]).sweeps
    assert [(point.requested_rps, point.failed) for point in sweep.points] == [(20.0, 600), (40.0, 600), (None, 600)]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"mean_ttft_ms": math.nan}, "mean_ttft_ms is NaN"),
        ({"p99_tpot_ms": math.inf}, "p99_tpot_ms is infinite"),
        ({"duration": -1.0}, "duration is -1, below 0"),
        ({"median_ttft_ms": -0.1}, "median_ttft_ms is -0.1, below 0"),
        ({"mean_client_queue_time_ms": -1001.0}, "mean_client_queue_time_ms is -1001, below -1000"),
        ({"request_throughput": "fast"}, "request_throughput is 'fast', not a number"),
        ({"duration": 1e-320}, "duration is 9.99989e-321, which nothing measures"),
        ({"request_throughput": 1e300}, "request_throughput is 1e+300, which nothing measures"),
        ({"ttfts": [1e300]}, "ttfts holds 1e+300, which nothing measures"),
        ({"start_times": [0.0, 5e-324]}, "start_times) is inf, which nothing measures"),
        ({"completed": True}, "completed is True, not a number"),
        ({"completed": 2.5}, "completed is 2.5, not a whole number"),
        ({"total_input_tokens": 10**400}, "total_input_tokens is infinite"),
        ({"completed": 0, "failed": 0, "num_prompts": 0}, "no request completed, so nothing was measured"),
        ({"start_times": [0.0, math.nan]}, "start_times holds something else than finite numbers"),
    ],
)
def test_numbers_that_cannot_be(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    content = json.dumps(made.vllm_serve(**changes)).encode()
    evidence = _beside_a_good_one(tmp_path, "result.json", content)
    (refusal,) = evidence.refused
    assert refusal.reason.endswith(reason)


def test_a_result_without_any_latency_is_refused(tmp_path: Path) -> None:
    document = {key: value for key, value in made.vllm_serve().items() if not key.endswith("_ms")}
    evidence = _beside_a_good_one(tmp_path, "result.json", json.dumps(document).encode())
    assert [item.reason for item in evidence.refused] == ["no latency in it"]


def test_the_name_says_nothing(tmp_path: Path) -> None:
    made.write(tmp_path / "notes.txt", made.vllm_serve())
    made.write(tmp_path / "table.csv", made.vllm_serve(request_rate=5.0))
    (tmp_path / "bom").write_bytes(b"\xef\xbb\xbf" + json.dumps(made.vllm_serve(request_rate=6.0)).encode())
    (sweep,) = read([tmp_path]).sweeps
    assert [point.requested_rps for point in sweep.points] == [5.0, 6.0, 10.0]


def test_what_lies_beside_results_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".hidden").mkdir()
    made.write(tmp_path / ".hidden" / "result.json", made.vllm_serve(request_rate=7.0))
    (tmp_path / "curve.png").write_bytes(b"\x89PNG")
    (tmp_path / "serving.yaml").write_text("kind: measured\n", encoding="utf-8")
    evidence = _beside_a_good_one(tmp_path, "summary.csv", b"a,b\n1,2\n")
    assert evidence.refused == ()
    assert [(Path(item.file).name, item.reason) for item in sorted(evidence.skipped)] == [
        (".hidden", "hidden"),
        ("curve.png", ".png is not read; results are JSON or YAML"),
        ("serving.yaml", "the record of the serving configuration"),
        ("summary.csv", ".csv is not read; results are JSON or YAML"),
    ]


def test_every_folder_is_a_sweep_of_its_own(tmp_path: Path) -> None:
    for number, folder in enumerate(("", "a", "a/b", "c")):
        made.write(tmp_path / folder / "result.json", made.vllm_serve(request_rate=1.0 + number))
    assert [sweep.name for sweep in read([tmp_path]).sweeps] == [
        str(tmp_path / folder) for folder in ("", "a", "a/b", "c")
    ]


def test_tools_may_share_a_folder(tmp_path: Path) -> None:
    made.write(tmp_path / "a.json", made.vllm_serve())
    made.write(tmp_path / "b.json", made.aiperf_0_3())
    made.write_lines(tmp_path / "c.jsonl", [made.sglang()])
    (sweep,) = read([tmp_path]).sweeps
    assert [point.tool for point in sweep.points] == ["aiperf", "sglang", "vllm"]


def test_a_copy_is_refused_by_name(tmp_path: Path) -> None:
    made.write(tmp_path / "a.json", made.vllm_serve())
    made.write(tmp_path / "b" / "copy.json", made.vllm_serve())
    evidence = read([tmp_path])
    assert [len(sweep.points) for sweep in evidence.sweeps] == [1]
    assert [(item.file, item.reason) for item in evidence.refused] == [
        (str(tmp_path / "b" / "copy.json"), f"the same content as {tmp_path / 'a.json'}")
    ]


def test_the_same_run_in_other_words_is_refused_too(tmp_path: Path) -> None:
    made.write(tmp_path / "a.json", made.vllm_serve())
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "pretty.json").write_text(json.dumps(made.vllm_serve(), indent=4), encoding="utf-8")
    evidence = read([tmp_path])
    assert [item.reason for item in evidence.refused] == [f"the same measurement as {tmp_path / 'a.json'}"]


def test_nor_does_it_hide_beside_the_first(tmp_path: Path) -> None:
    """A list of a folder's runs, as tools write it, is passed over; a copy that was only saved anew is a slip."""
    made.write(tmp_path / "a.json", made.vllm_serve())
    (tmp_path / "pretty.json").write_text(json.dumps(made.vllm_serve(), indent=4), encoding="utf-8")
    made.write(tmp_path / "summary.json", [made.vllm_serve()])
    evidence = read([tmp_path])
    assert [len(sweep.points) for sweep in evidence.sweeps] == [1]
    assert [item.file for item in evidence.refused] == [str(tmp_path / "pretty.json")]
    assert [item.file for item in evidence.skipped] == [f"{tmp_path / 'summary.json'}: [0]"]


def test_the_same_line_twice_is_refused(tmp_path: Path) -> None:
    path = made.write_lines(tmp_path / "runs.jsonl", [made.sglang(), made.sglang()])
    evidence = read([path])
    assert [(item.file, item.reason) for item in evidence.refused] == [
        (f"{path}: line 2", f"the same measurement as {path}: line 1")
    ]


def test_a_path_given_twice_is_read_once(tmp_path: Path) -> None:
    path = made.write(tmp_path / "a.json", made.vllm_serve())
    evidence = read([tmp_path, path, tmp_path])
    assert (len(evidence.sweeps[0].points), evidence.refused, evidence.skipped) == (1, (), ())


def test_links_are_followed_once_and_never_in_circles(tmp_path: Path) -> None:
    made.write(tmp_path / "runs" / "a.json", made.vllm_serve())
    (tmp_path / "runs" / "loop").symlink_to(tmp_path / "runs")
    (tmp_path / "runs" / "again.json").symlink_to(tmp_path / "runs" / "a.json")
    (tmp_path / "runs" / "gone.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "runs" / "self.json").symlink_to(tmp_path / "runs" / "self.json")
    evidence = read([tmp_path / "runs"])
    assert len(evidence.sweeps[0].points) == 1
    assert sorted(Path(item.file).name for item in evidence.skipped) == ["again.json", "loop"]
    assert sorted(Path(item.file).name for item in evidence.refused) == ["gone.json", "self.json"]


def test_a_pipe_would_never_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    made.write(tmp_path / "a.json", made.vllm_serve())
    evidence = read([tmp_path])
    assert [item.reason for item in evidence.refused] == ["no regular file"]


def test_an_enormous_file_is_named_with_its_size(tmp_path: Path) -> None:
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(MAX_BYTES + 2**20)
    made.write(tmp_path / "a.json", made.vllm_serve())
    evidence = read([tmp_path])
    assert [item.reason for item in evidence.refused] == ["49 MiB, more than 48: save it without single requests"]
    assert len(evidence.sweeps) == 1


@pytest.mark.parametrize("name", ["nothing", "no\0file", "n" * 300])
def test_a_path_that_is_not_there(tmp_path: Path, name: str) -> None:
    evidence = read([tmp_path / name])
    assert evidence.sweeps == ()
    assert len(evidence.refused) == 1


def test_nothing_at_all(tmp_path: Path) -> None:
    assert read([tmp_path]) == Evidence((), (), ())


def test_aliases_of_aliases_do_no_harm(tmp_path: Path) -> None:
    lines = ["a0: &a0 [1, 1]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60))]
    evidence = _beside_a_good_one(tmp_path, "bomb.yaml", "\n".join(lines).encode())
    assert [item.reason for item in evidence.refused] == ["no result of a benchmark tool that is known here"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.binary(max_size=400) | st.builds(lambda cut: GOOD[:cut], st.integers(0, len(GOOD))))
def test_no_bytes_make_it_raise(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any.json"
    path.write_bytes(content)
    evidence = read([path])
    assert len(evidence.sweeps) + len(evidence.refused) + len(evidence.skipped) >= 1
    assert bool(evidence.sweeps) == (content == GOOD)


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def _results() -> dict[str, dict[str, Any]]:
    files = Path(__file__).parent / "files"
    names = ("guidellm_constant.json", "aiperf_rate20/profile_export_aiperf.json")
    real = {name: json.loads((files / name).read_text(encoding="utf-8")) for name in names}
    stage = files / "inference_perf_sweep" / "stage_0_lifecycle_metrics.json"
    return real | {
        "vllm": made.vllm_serve(ttfts=[0.1, 0.2], itls=[[0.1], []], output_lens=[2, 1], errors=["", ""], completed=2),
        "sglang": made.sglang(),
        "inferencex": made.inferencex(),
        "aiperf 0.3": made.aiperf_0_3(goodput={"unit": "requests/sec", "avg": 1.0}),
        "aiperf 0.1": made.aiperf_0_1(),
        "genai-perf": made.genai_perf(),
        "llm-d 0.1": made.llmd_report_0_1(),
        "inference-perf": json.loads(stage.read_text(encoding="utf-8")),
    }


RESULTS = _results()


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(found for key, inner in items for found in _places(inner, (*place, key)))]


PLACES = {name: _places(result)[1:] for name, result in RESULTS.items()}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(st.data())
def test_any_value_anywhere_is_read_or_refused_and_never_raises(tmp_path: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(RESULTS)))
    place = data.draw(st.sampled_from(PLACES[name]))
    result = json.loads(json.dumps(RESULTS[name]))
    inner = result
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = data.draw(_ANY)
    evidence = read([made.write(tmp_path / "result.json", result)])
    assert evidence.sweeps or evidence.refused or evidence.skipped
    _only_numbers_that_can_be(evidence)


NASTY: list[Any] = [None, True, -1, 1, math.nan, math.inf, 10**400, "x", [], [[]], [None], {}, {"a": 1}]


@pytest.mark.parametrize("name", sorted(name for name in RESULTS if not name.endswith(".json")))
def test_a_nasty_value_in_every_place(tmp_path: Path, name: str) -> None:
    lines = []
    for place in PLACES[name]:
        for value in NASTY:
            result = json.loads(json.dumps(RESULTS[name]))
            inner = result
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = value
            lines.append(result)
    evidence = read([made.write_lines(tmp_path / "results.jsonl", lines)])
    assert evidence.sweeps
    assert evidence.refused
    _only_numbers_that_can_be(evidence)


def _only_numbers_that_can_be(evidence: Evidence) -> None:
    for sweep in evidence.sweeps:
        for point in sweep.points:
            ladders = [point.ttft, point.tpot, point.itl, point.e2e]
            numbers = [point.requested_rps, point.throughput_rps, point.duration_s, point.concurrency_limit]
            for ladder in ladders:
                numbers += [] if ladder is None else [ladder.mean_s, *ladder.percentiles_s.values()]
            assert all(number is None or (math.isfinite(number) and number >= 0) for number in numbers)


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_every_number_names_its_key(tmp_path: Path, name: str) -> None:
    fields = [
        *("requested_rps", "achieved_rps", "throughput_rps", "concurrency_limit", "concurrency", "burstiness"),
        *("duration_s", "completed", "failed", "incomplete", "input_tokens_per_s", "output_tokens_per_s"),
        *("input_tokens_mean", "output_tokens_mean", "gpus", "goodput"),
    ]
    (sweep,) = read([made.write(tmp_path / "result.json", RESULTS[name])]).sweeps
    for point in sweep.points:
        known = {field for field in fields if getattr(point, field) is not None}
        for latency in ("ttft", "tpot", "itl", "e2e", "client_queue"):
            if (ladder := getattr(point, latency)) is not None:
                known |= {f"{latency}.mean"} if ladder.mean_s is not None else set()
                known |= {f"{latency}.p{rank:g}" for rank in ladder.percentiles_s}
        assert known == {key for key in point.keys if key != "arrivals" and not key.startswith("goodput.")}
