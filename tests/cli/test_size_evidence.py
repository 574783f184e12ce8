"""Plans that rest on result files: what one replica carries is read, and evidence of something else is refused."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.sizing import KNOWN, change_service, planned, run, write_classes, write_request
from tests.cli.stack_folder import REPOSITORY, copied_stacks

SWEEP = REPOSITORY / "tests" / "evidence" / "files" / "inference_perf_sweep"
NO_RESERVE = {"reliability": {"headroom_pct": 0}}
LOAD = {
    "rps": 200,
    "request_duration_s": 1,
    "input_tokens": {"mean": 200},
    "output_tokens": {"mean": 60},
    "prefix_cache_hit_pct": 0,
}
RECORD = {
    "kind": "sandbox",
    "model": {"name": "meta-llama/Meta-Llama-3-8B-Instruct", "revision": "3f2c9e1", "served_as": "support-8b"},
    "runtime": {"name": "vllm", "version": "0.33.0"},
    "settings": {"max-num-seqs": "64"},
    "gpu": {"type": "L40S", "count": 1},
}


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The service's evidence is a sweep of which 52.23 in flight, 69.14 rps and 4274 tokens/s are the target."""
    root = copied_stacks(tmp_path)
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))
    folder = root / "local"
    shutil.copytree(SWEEP, folder / "benchmarks" / "sweep")
    slo = {"ttft_p95_ms": 600, "tpot_p95_ms": 40}
    change_service(folder, capacity={"evidence": "benchmarks/sweep", "kind": "measured"}, slo=slo)
    record(folder)
    write_request(folder, LOAD, **NO_RESERVE)
    return folder


def record(folder: Path, place: str = "sweep", **changes: Any) -> None:
    (folder / "benchmarks" / place / "serving.yaml").write_text(json.dumps(RECORD | changes) + "\n")


def test_the_replicas_number_is_read_and_not_typed(stack: Path) -> None:
    plan = planned()
    carries = plan["one_replica"]["chat"]
    assert [round(carries[name], 2) for name in ("in_flight", "rps", "output_tokens_per_s")] == [52.23, 69.14, 4274.12]
    assert carries["evidence"] == "benchmarks/sweep"
    assert carries["why"].startswith("75 % of the knee")
    # 200 in flight / 52.23 = 3.83
    assert (plan["most"]["binds"], plan["most"]["replicas"]) == ("in_flight", 4)
    text = run("plan", "-s", "local").stdout
    assert "69.142" in text
    assert "chat: 75 % of the knee (at least 92.19 requests/s)" in text


def test_the_plan_is_worth_what_the_record_says(stack: Path) -> None:
    assert planned()["evidence_kind"] == "sandbox"
    first = run("plan", "-s", "local").stdout.splitlines()[0]
    assert first.startswith("bot: rests on sandbox evidence (benchmarks/sweep)")
    record(stack, kind="measured")
    assert planned()["evidence_kind"] == "measured"


def test_the_threshold_follows_from_it(stack: Path) -> None:
    found = {one["name"]: one for one in planned()["settings"]}
    assert found["KEDA's threshold, in flight a replica"]["value"] == 52
    assert found["sequences at once"]["value"] == 64
    assert "as measured" in found["sequences at once"]["why"]
    run("plan", "-s", "local", "--write")
    platform = yaml.safe_load((stack / "platform.yaml").read_text())
    assert platform["services"]["support-bot"]["capacity"]["in_flight_per_replica"] == 52


def test_the_requests_own_slo_judges_it(stack: Path) -> None:
    """TTFT p95 is 91 ms at 46 rps and 152 ms at 92: at 100 ms one replica carries less."""
    write_request(stack, LOAD, slo={"ttft_p95_ms": 100}, **NO_RESERVE)
    plan = planned()
    assert plan["findings"] == []
    assert plan["one_replica"]["chat"]["in_flight"] < 52
    assert plan["most"]["replicas"] > 4


def test_what_is_rejected_is_what_was_not_seen_to_keep_both_limits(stack: Path) -> None:
    """102 would have their first token in time, of which 93.3 in flight were seen to keep the time per token, too."""
    write_request(stack, LOAD, slo={"overload": "queue"}, **NO_RESERVE)
    assert setting("in flight at one replica at most")["value"] == "102"
    write_request(stack, LOAD, slo={"overload": "reject"}, **NO_RESERVE)
    one = setting("in flight at one replica at most")
    assert one["value"] == "93"
    assert "more were not seen to keep both the time to the first token and per token" in one["why"]
    assert setting("KEDA's threshold, in flight a replica")["value"] == 52


def test_the_autoscaler_sees_more_than_its_threshold_before_anything_is_rejected(stack: Path) -> None:
    """41.6 in flight keep 100 ms, and an HPA adds above 1.1 x its threshold."""
    write_request(stack, LOAD, slo={"ttft_p95_ms": 100, "overload": "reject"}, **NO_RESERVE)
    assert setting("in flight at one replica at most")["value"] == "41"
    threshold = setting("KEDA's threshold, in flight a replica")
    assert threshold["value"] == 37.272
    assert "beyond the 41 in flight that keep the SLO is rejected" in threshold["why"]
    run("plan", "-s", "local", "--write")
    assert planned()["diff"] == ""


def setting(name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in planned()["settings"] if one["name"] == name)
    return found


def test_the_batch_is_no_larger_than_what_keeps_the_slo(stack: Path) -> None:
    (stack / "benchmarks" / "sweep" / "serving.yaml").unlink()
    assert setting("sequences at once")["value"] == 70  # ceil(52.2 / 0.75), and 93 keep it
    write_request(stack, LOAD, slo={"ttft_p95_ms": 100}, **NO_RESERVE)
    one = setting("sequences at once")
    assert one["value"] == 42  # 41 keep it, and the batch is to be above the target
    assert one["why"].startswith("more than 41 in flight were not seen to keep the SLO")


def test_what_only_the_request_asks_judges_it_too(stack: Path) -> None:
    """Of the answers at 31.4 requests/s 99.9 % take at most 0.8 s, at 61.8 between 95 and 99 %, at 92.2 hardly any."""
    asked = {"attainment_pct": 95}
    load = LOAD | {"request_duration_s": 0.6}
    write_request(stack, load, slo=asked, **NO_RESERVE)
    assert round(planned()["one_replica"]["chat"]["rps"], 1) == 69.1
    write_request(stack, load, slo=asked | {"e2e_p95_s": 0.8}, **NO_RESERVE)
    plan = planned()
    assert round(plan["one_replica"]["chat"]["rps"], 1) == 31.4
    assert plan["remarks"] == []


def test_a_limit_that_no_file_speaks_of_is_named(stack: Path) -> None:
    for path in (stack / "benchmarks" / "sweep").glob("stage_*.json"):
        document = json.loads(path.read_text())
        del document["successes"]["latency"]["request_latency"]
        path.write_text(json.dumps(document))
    write_request(stack, LOAD, slo={"e2e_p95_s": 5}, **NO_RESERVE)
    assert any("for class chat, and no e2e at all" in text for text in planned(code=1)["findings"])


def test_the_strictest_request_to_a_service_judges_the_replicas_that_all_share(stack: Path) -> None:
    write_request(stack, LOAD, slo={"ttft_p95_ms": 100}, **NO_RESERVE)
    alone = planned()["one_replica"]["chat"]["in_flight"]
    one = json.loads((stack / "workloads.yaml").read_text())["workloads"]["bot"]
    patient = one | {"slo": {"ttft_p95_ms": 6000}}
    (stack / "workloads.yaml").write_text(json.dumps({"workloads": {"patient": patient, "bot": one}}))
    both = json.loads(run("plan", "-s", "local", "-o", "json").stdout)["workloads"]
    assert [each["one_replica"]["chat"]["in_flight"] for each in both] == [alone, alone]
    only = json.loads(run("plan", "-s", "local", "-o", "json", "--workload", "patient").stdout)["workloads"]
    assert [each["one_replica"]["chat"]["in_flight"] for each in only] == [alone]


def test_no_load_that_keeps_the_slo_leaves_the_typed_number_unsupported(stack: Path) -> None:
    write_request(stack, LOAD, slo={"ttft_p95_ms": 1}, **NO_RESERVE)
    plan = planned(code=1)
    assert any("shows no load at which one replica keeps the SLO for class chat" in text for text in plan["findings"])
    sequences = next(one for one in plan["settings"] if one["name"] == "sequences at once")
    assert (sequences["value"], sequences["why"].split(":")[0]) == (64, "as measured"), (
        "its record still says the batch"
    )
    assert plan["one_replica"]["chat"]["in_flight"] == 40
    assert plan["one_replica"]["chat"]["refuted"] is True
    first, _, typed = run("plan", "-s", "local", code=1).stdout.splitlines()[:3]
    assert first == "bot: no plan: the evidence (benchmarks/sweep) shows no load at which one replica keeps the SLO"
    assert typed.startswith("bot: if one replica carried what is typed, which nothing supports: 5 replicas")
    assert run("plan", "-s", "local", "-o", "markdown", code=1).stdout.count("no plan: the evidence") == 1
    assert "is not written" in run("plan", "-s", "local", "--write", code=1).stdout


def test_requests_longer_than_those_measured_make_the_plan_a_range(stack: Path) -> None:
    """204 and 62 tokens were measured: of 300 and 60 a replica carries 52.2 in flight, or as much less as they are."""
    held = {"in_flight": 200, "input_tokens": {"mean": 300}, "output_tokens": {"mean": 60}}
    held["prefix_cache_hit_pct"] = 0
    write_request(stack, held, **NO_RESERVE)
    plan = planned()
    assert plan["preliminary"]
    (gap,) = plan["assumptions"]
    assert gap["field"] == "profile.classes.chat.per_replica.in_flight"
    assert (round(gap["fewest"], 2), round(gap["most"], 2)) == (52.23, 35.53)
    assert gap["why"] == "benchmarks/sweep was measured at other lengths: input 300 tokens instead of 204.1"
    assert (plan["fewest"]["replicas"], plan["most"]["replicas"]) == (4, 6)
    assert "not written: the plan is preliminary" in run("plan", "-s", "local", "--write", code=1).stdout
    write_request(stack, held | {"input_tokens": {"mean": 210}}, **NO_RESERVE)
    assert planned()["preliminary"] is False


@pytest.mark.parametrize(
    ("lengths", "got", "has"),
    [
        ({"input_tokens": {"mean": 3000}}, "input_tokens: got a mean of 3000", "half of 204.1, as benchmarks/sweep"),
        ({"output_tokens": {"mean": 20}}, "output_tokens: got a mean of 20", "half of 62.36, as benchmarks/sweep"),
        ({"output_tokens": {"p95": 900}}, "output_tokens: got a mean of 252 to 450", "half of 62.36, as"),
    ],
)
def test_evidence_of_grossly_other_lengths_is_refused(stack: Path, lengths: Any, got: str, has: str) -> None:
    write_request(stack, LOAD | lengths, **NO_RESERVE)
    result = run("plan", "-s", "local", code=2)
    assert got in result.stderr
    assert has in result.stderr
    assert result.stdout == ""


def test_classes_of_one_mix_are_compared_as_the_mix(stack: Path) -> None:
    """100 and 308 tokens, as often: 204 on average."""
    short, long = ({"input_tokens": {"mean": mean}} for mean in (100, 308))
    write_classes(stack, {"short": KNOWN | LOAD | short, "long": KNOWN | LOAD | long}, **NO_RESERVE)
    assert planned()["preliminary"] is False
    write_classes(stack, {"short": KNOWN | LOAD | short, "long": KNOWN | LOAD | long | {"rps": 400}}, **NO_RESERVE)
    plan = planned()
    assert [gap["field"] for gap in plan["assumptions"]] == [
        f"profile.classes.{kind}.per_replica.in_flight" for kind in ("short", "long")
    ]
    assert "input 238.7 tokens instead of 204.1" in plan["assumptions"][0]["why"]


def test_lengths_that_nobody_said_are_remarked(stack: Path) -> None:
    write_request(stack, {"in_flight": 200}, **NO_RESERVE)
    assert (
        "benchmarks/sweep was measured at 204.1 input and 62.36 output tokens a request; class chat says no "
        "input_tokens.mean, output_tokens.mean to compare"
    ) in planned()["remarks"]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (
            {"model": {"name": "other", "revision": "1"}},
            "model.name: got other, expected support-8b, as the",
        ),
        ({"runtime": {"name": "vllm", "version": "0.11.0"}}, "runtime.version: got 0.11.0, expected 0.33.0"),
        ({"gpu": {"type": "A100", "count": 1}}, "gpu.type: got A100, expected L40S"),
        ({"settings": {"max-num-seqs": "128"}}, "settings.max-num-seqs: got 128, expected 64"),
    ],
)
def test_evidence_of_another_configuration_is_refused_by_name(stack: Path, changes: dict[str, Any], fault: str) -> None:
    record(stack, **changes)
    result = run("plan", "-s", "local", code=2)
    assert re.search(rf"serving\.yaml:[1-9][0-9]*: {re.escape(fault)}", result.stderr)
    assert result.stdout == ""


def test_prompt_tokens_that_arrived_bound_nothing(stack: Path) -> None:
    plan = planned()
    assert "prefill_tokens_per_s" in plan["one_replica"]["chat"]
    assert "prompt tokens that wait" not in {one["name"] for one in plan["settings"]}


def test_every_difference_is_named_at_once(stack: Path) -> None:
    record(stack, gpu={"type": "H100", "count": 8}, settings={"max-num-seqs": "128"})
    faults = run("plan", "-s", "local", code=2).stderr
    assert [name in faults for name in ("gpu.type", "gpu.count", "settings.max-num-seqs")] == [True] * 3


def test_what_was_not_compared_is_said_once(stack: Path) -> None:
    text = run("plan", "-s", "local").stdout
    (note,) = [line for line in text.splitlines() if "not compared with the service" in line]
    assert "benchmarks/sweep/serving.yaml: not compared with the service: " in note
    assert "the record says nothing of" in note


def test_no_record_is_said(stack: Path) -> None:
    (stack / "benchmarks" / "sweep" / "serving.yaml").unlink()
    (stack / "benchmarks" / "serving.yaml").unlink(missing_ok=True)
    assert "Note: benchmarks/sweep has no record of what was served" in run("plan", "-s", "local").stdout


def test_a_broken_file_among_it_is_a_finding_and_the_rest_is_read(stack: Path) -> None:
    (stack / "benchmarks" / "sweep" / "broken.json").write_text("{")
    plan = planned(code=1)
    assert any("broken.json is refused" in text for text in plan["findings"])
    assert plan["most"]["replicas"] == 4


def test_a_class_is_read_from_its_own_sweep(stack: Path) -> None:
    long = stack / "benchmarks" / "sweep" / "long"
    long.mkdir()
    shutil.copy(SWEEP / "config.yaml", long)
    for name in ("stage_0_lifecycle_metrics.json", "stage_1_lifecycle_metrics.json"):
        (stack / "benchmarks" / "sweep" / name).rename(long / name)
    record(stack, "sweep/long", workload_class="long")
    write_classes(stack, {kind: KNOWN | LOAD | {"rps": 69} for kind in ("chat", "long")}, **NO_RESERVE)
    carries = planned()["one_replica"]
    assert carries["chat"]["rps"] > 69
    assert carries["long"]["rps"] < 60


def test_the_page_has_reserve_money_and_curves_and_fetches_nothing(stack: Path) -> None:
    page = run("plan", "-s", "local", "-o", "html").stdout
    assert page.startswith("<!doctype html>")
    assert page.count("<svg") == page.count('role="img"') == 3  # the reserve, the money, the curves
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids)) > 50
    assert re.search(r'<desc id="reserve-0-desc">[^<]*base \d+[^<]*; ceiling of support-bot: 16</desc>', page)
    assert "Evidence: " in page
    assert "Settings of support-bot" in page
    assert "<script" not in page
    assert not re.search(r"""(src|href)\s*=\s*["']https?:""", page)
    assert page == run("plan", "-s", "local", "-o", "html").stdout


def test_a_name_in_the_page_is_only_text(stack: Path) -> None:
    models = {"candidates": [{"name": "<b>bold</b>", "parameters_b": 1, "weights_bits": 16}]}
    write_request(stack, LOAD, models=models, **NO_RESERVE)
    page = run("plan", "-s", "local", "-o", "html").stdout
    assert "&lt;b&gt;bold" in page
    assert "<b>" not in page
