"""GPU memory through the command: exact bytes, and what is refused before it is bought."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.sizing import change_service, planned, run, write_request
from tests.cli.stack_folder import REPOSITORY, copied_stacks, edit

CONFIGS = REPOSITORY / "tests" / "core" / "model_configs"
SEVENTY = {"name": "seventy", "parameters_b": 70, "weights_bits": 16}


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = copied_stacks(tmp_path)
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))
    shutil.copytree(CONFIGS, root / "local" / "models")
    (root / "local" / "benchmarks" / "serving.yaml").unlink()  # of the service as it is shipped
    return root / "local"


def ask(stack: Path, *candidates: dict[str, Any], longest: int | None = None, **load: Any) -> None:
    models: dict[str, Any] = {"candidates": list(candidates)}
    if longest is not None:
        models["context_tokens"] = longest
    write_request(
        stack, load if "rps" in load else {"in_flight": 42, **load}, models=models, reliability={"headroom_pct": 0}
    )


def named(model: str, **fields: Any) -> dict[str, Any]:
    return {"name": model, "config": f"models/{model}.json", **fields}


def test_seventy_billion_parameters_of_16_bits_are_140_gb(stack: Path) -> None:
    ask(stack, SEVENTY)
    (memory,) = planned(code=1)["memory"]
    assert memory["weights_bytes"] == 140_000_000_000
    text = run("plan", "-s", "local", code=1).stdout
    assert "140 GB (130.3852 GiB)" in text
    assert (
        "! bot: seventy: weights of 140 GB (130.3852 GiB) do not fit into gpus_per_replica 1: it takes 4 of these GPUs"
        in text
    )


def test_2048_tokens_of_llama_13b(stack: Path) -> None:
    change_service(stack, engine={"max_num_seqs": 64, "args": {"max-model-len": "2048"}})
    ask(stack, named("llama-2-13b"))
    (memory,) = planned()["memory"]
    assert memory["kv_bytes_per_token"] == 819_200
    assert memory["fits"][0] | {"fewest": 0, "most": 0} == {
        "context": "max-model-len",
        "tokens": 2048,
        "kv_bytes": 1_677_721_600,
        "fewest": 0,
        "most": 0,
    }
    # 44 GiB x 0.92 = 40.48; without 26.03 GB of weights and 1 to 4 GiB there are 12.24 to 15.24 for 1.5625 each.
    assert (memory["fits"][0]["fewest"], memory["fits"][0]["most"]) == (7, 9)
    assert "1.678 GB (1.5625 GiB)" in run("plan", "-s", "local").stdout


@pytest.mark.parametrize(
    ("service", "candidate", "load", "finding"),
    [
        (
            {"engine": {"args": {"max-model-len": "131072"}}},
            named("llama-2-13b"),
            {},
            "fits: it takes 100 GiB of KV cache a GPU, 15.24 are left; the longest that fits has 19968",
        ),
        (
            {"engine": {"args": {"max-model-len": "8192"}}},
            named("llama-3-8b"),
            {"context_tokens": {"p95": 8000}},
            "engine.max_num_seqs 64 is more than the 25 sequences of 8000 tokens (p95 of chat) that fit",
        ),
        (
            {"engine": {"args": {"max-model-len": "8192"}}},
            named("llama-3-8b"),
            {"input_tokens": {"p95": 7000}, "output_tokens": {"p95": 1000}},
            "25 sequences of 8000 tokens (p95 of chat (input + output)) that fit",
        ),
        ({"gpus_per_replica": 1}, named("llama-3-70b"), {}, "do not fit into gpus_per_replica 1: it takes 4 of these"),
    ],
)
def test_what_cannot_work(
    stack: Path, service: dict[str, Any], candidate: dict[str, Any], load: dict[str, Any], finding: str
) -> None:
    change_service(stack, **service)
    ask(stack, candidate, **load)
    findings = planned(code=1)["findings"]
    assert any(finding in text for text in findings), findings


def test_heads_that_the_gpus_do_not_divide(stack: Path) -> None:
    edit(stack / "platform.yaml", "[g6e.2xlarge]", "[g6e.48xlarge]")
    change_service(stack, gpus_per_replica=8)
    ask(stack, named("qwen2.5-7b"))
    assert planned(code=1)["findings"] == [
        "bot: qwen2.5-7b: gpus_per_replica 8 does not divide the model's 28 attention heads"
    ]


def test_a_context_beyond_the_model_and_beyond_the_flag(stack: Path) -> None:
    change_service(stack, engine={"args": {"max-model-len": "4096"}})
    ask(stack, named("llama-3-8b"), longest=9000)
    assert planned(code=1)["findings"] == [
        "bot: llama-3-8b: models.context_tokens 9000 is above max-model-len, 4096",
        "bot: llama-3-8b: models.context_tokens 9000 is above the model's longest, 8192",
    ]


def test_a_length_that_the_engine_fits_is_no_finding(stack: Path) -> None:
    change_service(stack, engine={"args": {"max-model-len": "auto", "kv-cache-dtype": "nvfp4"}})
    ask(stack, named("deepseek-v3"), named("llama-3-8b"))
    assert [fit["context"] for one in planned(code=1)["memory"] for fit in one["fits"]] == []
    ask(stack, named("llama-3-8b"))
    (memory,) = planned()["memory"]
    assert memory["remarks"] == ["kv-cache-dtype nvfp4 is not known here: reckoned with 16 bits"]


def test_an_alternative_alone_sets_no_setting(stack: Path) -> None:
    """The first candidate's size is not known; the second's is, and is not what is served."""
    load: dict[str, Any] = {"rps": 6, "request_duration_s": 8, "context_tokens": {"p95": 8000}}
    ask(stack, {"name": "unknown"}, named("llama-3-8b"), **load)
    plan = planned()
    assert plan["memory"][0]["impossible"]
    assert {one["name"]: one["value"] for one in plan["settings"]}["sequences at once"] == 54


def test_a_quantised_cache_holds_twice_as_many(stack: Path) -> None:
    ask(stack, named("llama-3-8b"))
    plain = planned()["memory"][0]
    change_service(stack, engine={"args": {"kv-cache-dtype": "fp8"}})
    fp8 = planned()["memory"][0]
    assert fp8["kv_bytes_per_token"] * 2 == plain["kv_bytes_per_token"]
    assert fp8["fits"][0]["most"] in (2 * plain["fits"][0]["most"], 2 * plain["fits"][0]["most"] + 1)


def test_the_index_has_the_last_word_and_alternatives_are_no_finding(stack: Path) -> None:
    (stack / "index.json").write_text(json.dumps({"metadata": {"total_size": 20_000_000_000}, "weight_map": {}}))
    ask(stack, named("llama-3-8b", weights_index="index.json"), named("llama-3-70b"))
    plan = planned()
    assert [one["weights_bytes"] for one in plan["memory"]] == [20_000_000_000, 141_107_412_992]
    assert plan["memory"][1]["impossible"]
    assert "llama-3-70b: weights of 141.107 GB" in run("plan", "-s", "local").stdout


def test_a_gpu_nobody_knows(stack: Path) -> None:
    edit(stack / "platform.yaml", "[g6e.2xlarge]", "[z9.huge]\n    gpus_per_node: 1")
    ask(stack, named("llama-3-8b"))
    (memory,) = planned()["memory"]
    assert (memory["kv_room_bytes_per_gpu"], memory["fits"]) == (None, [])
    assert "its GPUs' memory is not known" in memory["remarks"][0]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "config.json:1: got expecting property name enclosed in double quotes, expected a JSON file"),
        ("[]", "config.json:1: got a list, expected a JSON object"),
        ("[" * 100_000, "config.json: got brackets in brackets without end"),
        ('{"a": ' + "1" * 5000 + "}", "config.json: got a number without end"),
        ('{"model_type": "llama", "hidden_size": NaN}', "config.json: hidden_size: got NaN, expected a whole number"),
        ('{"model_type": "llama", "hidden_size": 4096.0}', "config.json: hidden_size: got 4096.0"),
        ("x" * 2**21, "config.json: got more than 1 MiB"),
    ],
)
def test_a_config_that_is_none(stack: Path, text: str, fault: str) -> None:
    (stack / "config.json").write_text(text)
    ask(stack, {"name": "x", "config": "config.json"})
    assert fault in run("plan", "-s", "local", code=2).stderr


@pytest.mark.parametrize("index", [{}, {"metadata": {"total_size": -1}}, {"metadata": {"total_size": True}}])
def test_an_index_without_a_size(stack: Path, index: dict[str, Any]) -> None:
    (stack / "index.json").write_text(json.dumps(index))
    ask(stack, named("llama-3-8b", weights_index="index.json"))
    assert "metadata.total_size: got" in run("plan", "-s", "local", code=2).stderr


@pytest.mark.parametrize(
    ("candidate", "fault"),
    [
        ({"name": "x", "parameters_b": 70}, "weights_bits: got nothing, expected both"),
        ({"name": "x", "config": "models/llama-3-8b.json", "parameters_b": 8, "weights_bits": 16}, "beside config"),
        ({"name": "x", "config": "models/none.json"}, "config: got models/none.json, expected a file or folder in"),
    ],
)
def test_a_candidate_that_says_too_little_or_too_much(stack: Path, candidate: dict[str, Any], fault: str) -> None:
    ask(stack, candidate)
    assert fault in run("plan", "-s", "local", code=2).stderr
