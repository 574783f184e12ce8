"""The record beside results: every fault at once, compared fact by fact, silence never taken for agreement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evidence.comparison import Comparison, contradictions, differences
from evidence.files import read
from evidence.record import FIELD_OF_FLAG, NAMES, ServingRecord, beside, line, load
from stacks.faults import InputError
from stacks.loader import load_platform
from stacks.spec import NodePool, Service
from tests.evidence import made

STACKS = Path(__file__).parents[2] / "stacks"
SHIPPED = STACKS / "local" / "benchmarks" / "serving.yaml"

WHOLE = """\
kind: measured
workload_class: chat
model: {name: meta-llama/Meta-Llama-3-8B, revision: "3f2c9e1", served_as: support-8b}
tokenizer: {name: meta-llama/Meta-Llama-3-8B, revision: "3f2c9e1"}
precision: {weights: fp8, kv_cache: fp8}
max_context_tokens: 8192
parallelism: {tensor: 1, pipeline: 1, expert: 1, data: 1}
chat_template: "sha256:1111"
reasoning: none
speculative_decoding: none
runtime: {name: vllm, version: 0.33.0, image: "vllm/vllm-openai@sha256:2222"}
settings: {max-num-seqs: 64, gpu-memory-utilization: 0.90, enable-prefix-caching: "", async-scheduling: true}
gpu: {type: NVIDIA L40S, count: 1, interconnect: PCIe}
host: {instance_type: g6e.2xlarge, cpu: AMD EPYC 7R13, memory_gib: 64, driver: "570.86", software: CUDA 12.8}
"""


def _record(folder: Path, text: str = WHOLE) -> ServingRecord:
    (folder / "serving.yaml").write_text(text, encoding="utf-8")
    return load(folder / "serving.yaml")


def _local() -> tuple[Service, NodePool]:
    platform = load_platform("local", STACKS)
    return platform.services["support-bot"], platform.node_pools["l40s"]


def _silent(comparison: Comparison) -> set[str]:
    return {*comparison.only_recorded, *comparison.not_recorded}


def _with_args(service: Service, **args: str) -> Service:
    engine = service.engine.model_copy(update={"args": {name.replace("_", "-"): value for name, value in args.items()}})
    return service.model_copy(update={"engine": engine})


def test_a_flag_with_a_field_of_its_own_is_told_to_move(tmp_path: Path) -> None:
    """Under its other name it would be compared with nothing, and a replica of twice the GPUs would pass."""
    text = WHOLE.replace("{max-num-seqs: 64,", "{max-num-seqs: 64, max-model-len: 4096, tensor-parallel-size: 2,")
    with pytest.raises(InputError) as caught:
        _record(tmp_path, text)
    (found,) = caught.value.faults
    assert (found.path, found.got) == ("settings", "max-model-len, tensor-parallel-size")
    assert found.fix == "Move max-model-len to max_context_tokens; tensor-parallel-size to parallelism.tensor."


def test_every_flag_with_a_field_names_one_that_is_there() -> None:
    assert set(FIELD_OF_FLAG.values()) <= {*NAMES, "model.served_as", "tokenizer.name", "tokenizer.revision"}


def test_a_whole_record_states_everything(tmp_path: Path) -> None:
    record = _record(tmp_path)
    facts = record.facts()
    assert set(NAMES) <= facts.keys()
    assert facts["settings.gpu-memory-utilization"] == "0.90"
    assert facts["settings.async-scheduling"] == "true"
    assert facts["settings.enable-prefix-caching"] == ""
    assert facts["host.memory_gib"] == "64"


def test_the_how_tos_record_is_one(tmp_path: Path) -> None:
    page = (STACKS.parent / "docs" / "how-to" / "record-what-was-served.md").read_text(encoding="utf-8")
    record = _record(tmp_path, page.partition("```yaml\n")[2].partition("```")[0])
    assert (record.kind, record.settings["enable-prefix-caching"]) == ("measured", "")


def test_what_a_small_record_leaves_out_is_compared_with_nothing(tmp_path: Path) -> None:
    record = _record(tmp_path, "kind: sandbox\nmodel: {name: support-8b}\nruntime: {name: vllm}\ngpu: {type: L40S}\n")
    comparison = differences(record, *_local())
    assert comparison.differences == ()
    assert {"model.revision", "gpu.count", "settings.max-num-seqs", "host.driver"} <= _silent(comparison)
    assert {"model.name", "runtime.name", "gpu.type"}.isdisjoint(_silent(comparison))


def test_every_fault_at_once_with_its_line(tmp_path: Path) -> None:
    text = (
        WHOLE.replace("kind: measured", "kind: guessed")
        .replace('"3f2c9e1", served', "3192, served")
        .replace("tensor: 1", "tensor: 0")
        .replace("gpu: {type", "gpus: {type")
    )
    with pytest.raises(InputError) as caught:
        _record(tmp_path, text)
    assert {(fault.line, fault.path) for fault in caught.value.faults} == {
        (1, "kind"),
        (3, "model.revision"),
        (7, "parallelism.tensor"),
        (13, "gpus"),
        (1, "gpu"),
    }


def test_a_missing_record_says_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path / "serving.yaml")
    assert "which model, engine and GPUs" in caught.value.faults[0].fix


def test_the_shipped_record_is_of_the_shipped_service() -> None:
    service, pool = _local()
    comparison = differences(load(SHIPPED), service, pool)
    assert comparison.differences == ()
    assert {"runtime.image", "precision.weights", "max_context_tokens", "host.driver"} <= _silent(comparison)
    assert {"model.name", "runtime.version", "gpu.type", "parallelism.tensor", "settings.max-num-seqs"}.isdisjoint(
        _silent(comparison)
    )
    assert comparison.not_compared.startswith("the service has nothing to compare with precision.weights, ")
    assert "; the record says nothing of runtime.image, gpu.interconnect" in comparison.not_compared


def test_the_line_of_a_fact_or_of_what_it_is_in(tmp_path: Path) -> None:
    path = tmp_path / "serving.yaml"
    _record(tmp_path, WHOLE.replace("settings: {max-num-seqs: 64,", "settings: {\n  max-num-seqs: 64,"))
    assert line(path, "model.served_as") == 3
    assert line(path, "settings.max-num-seqs") == 13
    assert line(path, "host.memory_gib") == 15
    assert line(path, "gpu.nothing") == 14


@pytest.mark.parametrize(
    ("change", "name", "recorded", "service"),
    [
        (("served_as: support-8b", "served_as: support-70b"), "model.served_as", "support-70b", "support-8b"),
        (('B, revision: "3f2c9e1", s', 'B, revision: "0000000", s'), "model.revision", "0000000", "3f2c9e1"),
        (("version: 0.33.0", "version: 0.32.1"), "runtime.version", "0.32.1", "0.33.0"),
        (("name: vllm", "name: sglang"), "runtime.name", "sglang", "vllm"),
        (("tensor: 1", "tensor: 2"), "parallelism.tensor", "2", "1"),
        (("data: 1", "data: 4"), "parallelism.data", "4", "1"),
        (("max-num-seqs: 64", "max-num-seqs: 256"), "settings.max-num-seqs", "256", "64"),
        (("NVIDIA L40S, count: 1", "NVIDIA L40S, count: 2"), "gpu.count", "2", "1"),
        (("type: NVIDIA L40S", "type: NVIDIA L4"), "gpu.type", "NVIDIA L4", "L40S"),
        (("g6e.2xlarge", "g6e.4xlarge"), "host.instance_type", "g6e.4xlarge", "g6e.2xlarge"),
        (("max_context_tokens: 8192", "max_context_tokens: 4096"), "max_context_tokens", "4096", "8192"),
        (("weights: fp8", "weights: awq"), "precision.weights", "awq", "fp8"),
        (("kv_cache: fp8", "kv_cache: auto"), "precision.kv_cache", "auto", "fp8"),
        (("utilization: 0.90", "utilization: 0.95"), "settings.gpu-memory-utilization", "0.95", "0.9"),
    ],
)
def test_each_difference_is_named(
    tmp_path: Path, change: tuple[str, str], name: str, recorded: str, service: str
) -> None:
    spec, pool = _local()
    flags = {"max_model_len": "8192", "quantization": "fp8", "kv_cache_dtype": "fp8", "gpu_memory_utilization": "0.9"}
    sized = _with_args(spec, **flags)
    whole = WHOLE.replace(', image: "vllm/vllm-openai@sha256:2222"', "")
    assert differences(_record(tmp_path, whole), sized, pool).differences == ()
    assert change[0] in whole
    (difference,) = differences(_record(tmp_path, whole.replace(*change)), sized, pool).differences
    assert (difference.name, difference.recorded, difference.other) == (name, recorded, service)
    assert str(difference) == f"{name}: {recorded} was measured, the service has {service}"


@pytest.mark.parametrize(
    ("text", "is_same"),
    [("v0.33", True), ("0.33.0", True), ("0.33.1", False), ("nightly", False)],
)
def test_versions_are_compared_as_releases(tmp_path: Path, text: str, is_same: bool) -> None:
    service, pool = _local()
    runtime = f'runtime: {{name: vllm, version: "{text}"}}'
    record = _record(tmp_path, f"kind: measured\nmodel: {{name: support-8b}}\n{runtime}\ngpu: {{type: L40S}}\n")
    assert (differences(record, service, pool).differences == ()) == is_same


@pytest.mark.parametrize(
    ("image", "is_compared", "is_same"),
    [
        ("mirror/vllm@sha256:" + "2" * 64, True, True),
        ("vllm/vllm-openai@sha256:" + "3" * 64, True, False),
        ("vllm/vllm-openai:v0.33.0", False, True),
    ],
)
def test_images_are_compared_by_digest(tmp_path: Path, image: str, is_compared: bool, is_same: bool) -> None:
    service, pool = _local()
    comparison = differences(_record(tmp_path, WHOLE.replace("vllm/vllm-openai@sha256:2222", image)), service, pool)
    assert ("runtime.image" not in _silent(comparison)) == is_compared
    assert (comparison.differences == ()) == is_same


def test_a_pool_of_two_kinds_of_gpu_is_not_what_was_measured_on_one(tmp_path: Path) -> None:
    service, pool = _local()
    mixed = pool.model_copy(update={"instance_types": ["g6e.2xlarge", "g6.2xlarge"]})
    (difference,) = differences(load(SHIPPED), service, mixed).differences
    assert (difference.name, difference.other) == ("gpu.type", "L4 or L40S")


def test_a_pool_of_unknown_types_is_not_compared_by_gpu() -> None:
    service, pool = _local()
    unknown = pool.model_copy(update={"instance_types": ["x9.large"], "gpus_per_node": 1})
    comparison = differences(load(SHIPPED), service, unknown)
    assert "gpu.type" in comparison.only_recorded
    assert [difference.name for difference in comparison.differences] == ["host.instance_type"]


def _sweeps(folder: Path, **changes: Any) -> Any:
    return read([made.write(folder / "result.json", made.vllm_serve(**changes))]).sweeps


def test_files_that_agree_with_the_record(tmp_path: Path) -> None:
    record = _record(tmp_path)
    for name in ("support-8b", "meta-llama/Meta-Llama-3-8B", "/weights/Meta-Llama-3-8B/"):
        tokenizer = "meta-llama/Meta-Llama-3-8B"
        assert contradictions(record, _sweeps(tmp_path, model_id=name, tokenizer_id=tokenizer, max_num_seqs=64)) == ()


def test_files_that_contradict_the_record(tmp_path: Path) -> None:
    record = _record(tmp_path)
    sweeps = _sweeps(tmp_path, model_id="org/other", tokenizer_id="Meta-Llama-3-8B", max_num_seqs=128)
    assert [(item.name, item.recorded, item.other) for item in contradictions(record, sweeps)] == [
        ("model.name", "meta-llama/Meta-Llama-3-8B", "org/other"),
        ("settings.max-num-seqs", "64", "128"),
    ]
    assert contradictions(record, sweeps)[0].where.endswith("result.json")


def test_gpus_and_names_of_gpus_in_files(tmp_path: Path) -> None:
    record = _record(
        tmp_path, WHOLE.replace("NVIDIA L40S, count: 1", "H200, count: 8").replace("tensor: 1", "tensor: 8")
    )
    aggregate = made.inferencex(hw="h200-cw_00", model="Meta-Llama-3-8B", framework="vllm", image="vllm/vllm:v0.33")
    sweeps = read([made.write(tmp_path / "agg.json", aggregate)]).sweeps
    # The file's image is by tag, which may mean any.
    assert contradictions(record, sweeps) == ()
    digest = made.inferencex(hw="b200", tp=4, model="Meta-Llama-3-8B", framework="vllm", image="vllm/vllm@sha256:3333")
    sweeps = read([made.write(tmp_path / "agg.json", digest)]).sweeps
    assert [item.name for item in contradictions(record, sweeps)] == [
        "parallelism.tensor",
        "runtime.image",
        "gpu.type",
        "gpu.count",
    ]


def test_the_nearest_record_counts(tmp_path: Path) -> None:
    made.write(tmp_path / "a" / "b" / "result.json", made.vllm_serve())
    (tmp_path / "serving.yaml").write_text(WHOLE, encoding="utf-8")
    assert beside(tmp_path / "a" / "b", tmp_path) == tmp_path / "serving.yaml"
    assert beside(tmp_path / "a" / "b" / "result.json", tmp_path / "a") is None
    (tmp_path / "a" / "serving.yaml").write_text(WHOLE, encoding="utf-8")
    assert beside(tmp_path / "a" / "b" / "result.json", tmp_path) == tmp_path / "a" / "serving.yaml"
