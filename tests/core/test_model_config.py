"""Memory from config.json, held to what publishers state. Files: tests/core/model_configs/SOURCES.md."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capacity.models.config import architecture
from capacity.models.config_values import ConfigError
from capacity.models.gpu_memory import (
    GIB,
    OVERHEAD_GIB,
    Serving,
    gpus_needed,
    kv_bytes,
    kv_bytes_per_gpu,
    longest,
    room,
    sequences,
    tokens_of,
)
from capacity.models.quantisation import weights_bytes

FOLDER = Path(__file__).parent / "model_configs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))

AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}


def config(name: str, **changes: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return {key: value for key, value in (data | changes).items() if value != "absent"}


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("llama-2-13b", 13_015_864_320),
        ("mistral-7b-v0.1", 7_241_732_096),
        ("gemma-2-9b", 9_241_705_984),
        ("gemma-3-1b", 999_885_952),
        ("deepseek-v3", 671_026_419_200),
    ],
)
def test_parameters_that_publishers_state(name: str, parameters: int) -> None:
    assert architecture(config(name)).parameters == parameters


@pytest.mark.parametrize(
    ("name", "quantisation", "total_size"),
    [
        ("llama-3-8b", None, 16_060_522_496),
        ("llama-3-70b", None, 141_107_412_992),
        ("llama-3-70b", AWQ, 39_767_785_472),
        ("mixtral-8x7b", None, 93_405_585_408),
        ("qwen2.5-7b", None, 15_231_233_024),
        ("qwen3-8b", None, 16_381_470_720),
        ("qwen3-30b-a3b", None, 61_064_245_248),
        ("gpt-oss-20b", config("gpt-oss-20b")["quantization_config"], 13_761_264_768),
    ],
)
def test_bytes_are_those_of_the_checkpoints_index(name: str, quantisation: Any, total_size: int) -> None:
    assert weights_bytes(architecture(config(name)), quantisation) == total_size


def test_quantised_weights_are_about_their_bits() -> None:
    model = architecture(config("llama-3-8b"))
    linears = sum(linear.parameters for linear in model.linears)
    plain = 2 * model.plain_parameters
    fp8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    assert weights_bytes(model, fp8) == plain + linears + 4 * linears // 128**2
    gptq = {"quant_method": "gptq", "bits": 4, "group_size": 128}
    inputs = sum(linear.into * linear.count for linear in model.linears)
    assert weights_bytes(model, gptq) == weights_bytes(model, AWQ) + 4 * inputs
    int8 = {"num_bits": 8, "strategy": "channel"}
    channel = {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": int8}}}
    outputs = sum(linear.out * linear.count for linear in model.linears)
    assert weights_bytes(model, channel) == plain + linears + 2 * outputs


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("8192", 8192), ("8k", 8000), ("8K", 8192), ("25.6k", 25_600), ("1M", 2**20), ("auto", None), ("-1", None)],
)
def test_lengths_as_the_engine_reads_them(text: str, tokens: int | None) -> None:
    assert tokens_of(text) == tokens


def test_a_sequence_of_llama_13b() -> None:
    model = architecture(config("llama-2-13b"))
    assert kv_bytes(model, 1, 16) == 819_200
    assert kv_bytes(model, 2048, 16) == 1_677_721_600
    assert Fraction(kv_bytes(model, 2048, 16), GIB) == Fraction("1.5625")
    assert kv_bytes(model, 2048, 8) == 838_860_800


@pytest.mark.parametrize(
    ("name", "one_token", "many"),
    [
        ("llama-3-8b", 131_072, 131_072 * 32768),  # 8 of 32 heads keep keys and values
        ("deepseek-v3", 61 * 576 * 2, 61 * 576 * 2 * 32768),  # one latent and its position, for all heads
        ("mistral-7b-v0.1", 131_072, 131_072 * 4096),  # no layer sees beyond the window
        ("gemma-2-9b", 42 * 4096 * 2, 21 * 4096 * 2 * (32768 + 4096)),  # every second layer does
        ("gemma-3-1b", 26 * 512 * 2, (4 * 32768 + 22 * 512) * 512 * 2),  # every sixth
        ("gpt-oss-20b", 24 * 1024 * 2, 12 * 1024 * 2 * (32768 + 128)),
        ("qwen2.5-7b", 57_344, 57_344 * 32768),  # has a window, and does not use it
    ],
)
def test_kv_of_one_token_and_of_32768(name: str, one_token: int, many: int) -> None:
    model = architecture(config(name))
    assert kv_bytes(model, 1, 16) == one_token
    assert kv_bytes(model, 32768, 16) == many


def test_layer_types_say_which_layers_slide() -> None:
    kinds = ["sliding_attention"] * 21 + ["full_attention"] * 5
    model = architecture(config("gemma-3-1b", layer_types=kinds))
    assert kv_bytes(model, 1000, 16) == (5 * 1000 + 21 * 512) * 512 * 2
    qwen = architecture(config("qwen2.5-7b", use_sliding_window=True, sliding_window=100, max_window_layers=20))
    assert kv_bytes(qwen, 1000, 16) == (20 * 1000 + 8 * 100) * 1024 * 2


def test_contexts() -> None:
    assert [architecture(config(name)).context_tokens for name in ("llama-2-13b", "deepseek-v3", "gpt-oss-20b")] == [
        4096,
        163_840,
        131_072,
    ]


def test_what_is_not_counted_is_said() -> None:
    text = config("gemma-3-1b")
    nested = {"model_type": "gemma3", "text_config": text, "vision_config": {"hidden_size": 1152}}
    assert architecture(nested).parameters == architecture(text).parameters
    assert "not its vision or audio tower" in architecture(nested).remarks[0]
    assert "multi-token-prediction" in architecture(config("deepseek-v3")).remarks[0]


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("llama-3-8b", {"model_type": "mamba2"}, "model_type: got mamba2, expected one of llama"),
        ("llama-3-8b", {"hidden_size": "absent"}, "hidden_size: got nothing, expected a whole number"),
        ("llama-3-8b", {"hidden_size": -1}, "hidden_size: got -1"),
        ("llama-3-8b", {"hidden_size": True}, "hidden_size: got True"),
        ("llama-3-8b", {"hidden_size": "4096"}, "hidden_size: got 4096"),
        ("llama-3-8b", {"num_hidden_layers": 10**12}, "num_hidden_layers: got 1000000000000"),
        ("llama-3-8b", {"num_key_value_heads": 0}, "num_key_value_heads: got 0"),
        ("gemma-3-1b", {"layer_types": ["linear_attention"] * 26}, "layer_types: got linear_attention"),
        ("gemma-3-1b", {"layer_types": ["full_attention"]}, "layer_types: got 1 layers"),
        ("qwen3-30b-a3b", {"decoder_sparse_step": 2}, "decoder_sparse_step: got 2"),
    ],
)
def test_what_cannot_be_reckoned_with_is_named(name: str, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        architecture(config(name, **changes))
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("quantisation", "said"),
    [
        (["awq"], "quantization_config: got ['awq'], expected a mapping"),
        ("awq", "quantization_config: got awq, expected a mapping"),
        ({"quant_method": "exl3"}, "quant_method: got exl3"),
        ({"quant_method": "awq", "bits": 5}, "bits: got 5, expected one of 2, 3, 4, 8"),
        ({"quant_method": "awq", "bits": 4, "group_size": 0}, "group_size: got 0"),
        ({"quant_method": "fp8", "weight_block_size": [128, 0]}, "weight_block_size: got [128, 0]"),
        ({"quant_method": "compressed-tensors", "config_groups": {}}, "config_groups: got {}"),
        ({"quant_method": "compressed-tensors", "config_groups": 3}, "config_groups: got 3"),
    ],
)
def test_a_quantisation_nobody_knows_is_named(quantisation: Any, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        weights_bytes(architecture(config("llama-3-8b")), quantisation)
    assert said in str(raised.value)


SERVINGS = st.builds(
    Serving,
    gpus=st.sampled_from([1, 2, 4, 8]),
    gpu_bytes=st.sampled_from([22, 44, 80, 141]).map(lambda gib: gib * GIB),
    utilization=st.fractions("1/2", 1, max_denominator=20),
    kv_bits=st.sampled_from([8, 16]),
    max_model_len=st.none(),
    max_num_seqs=st.integers(1, 512),
)


@given(st.sampled_from(NAMES), SERVINGS, st.integers(1, 40_000))
def test_what_fits_really_fits(name: str, serving: Serving, tokens: int) -> None:
    model = architecture(config(name))
    weights = weights_bytes(model, config(name).get("quantization_config"))
    left = room(serving, weights)
    assert left is not None
    count = sequences(left.most, model, tokens, serving)
    assert serving.usable_bytes is not None
    used = weights / serving.gpus + OVERHEAD_GIB[0] * GIB + count * kv_bytes_per_gpu(model, tokens, serving)
    assert count == 0 or used <= serving.usable_bytes
    assert used + kv_bytes_per_gpu(model, tokens, serving) > serving.usable_bytes
    assert sequences(left.least, model, tokens, serving) <= count
    assert sequences(left.most, model, tokens + 1, serving) <= count
    reach = longest(left.most, model, serving, 40_000)
    assert (reach >= tokens) == (count > 0)
    assert kv_bytes(model, tokens, serving.kv_bits) <= kv_bytes_per_gpu(model, tokens, serving) * serving.gpus


@given(st.sampled_from(NAMES), SERVINGS)
def test_the_gpus_that_are_named_hold_the_weights(name: str, serving: Serving) -> None:
    model = architecture(config(name))
    weights = weights_bytes(model, None)
    needed = gpus_needed(serving, weights, model.attention_heads)
    if needed is not None:
        assert serving.usable_bytes is not None
        assert model.attention_heads % needed == 0
        assert weights / needed + OVERHEAD_GIB[0] * GIB < serving.usable_bytes
