"""A model's `config.json` as what its memory follows from: matrices, other parameters, and KV cache of each layer.

tests/core/test_model_config.py holds it to the parameters and bytes that publishers state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from capacity.models.config_values import MOST_LAYERS, Config, ConfigError
from capacity.models.families import FAMILIES, Family


@dataclass(frozen=True)
class Linear:
    """`count` matrices of `into` x `out`: what a quantisation may make smaller."""

    into: int
    out: int
    count: int
    is_expert: bool = False

    @property
    def parameters(self) -> int:
        return self.into * self.out * self.count


@dataclass(frozen=True)
class KvLayers:
    """`count` layers that keep `elements` numbers a token, `window` tokens at most (None: all).

    heads: what tensor parallelism can divide them by; 1 for a latent, which every GPU keeps whole.
    """

    count: int
    elements: int
    heads: int
    window: int | None = None


@dataclass(frozen=True)
class Architecture:
    """One model. `plain_parameters` are never quantised: embeddings, norms, biases, routers."""

    model_type: str
    attention_heads: int
    linears: tuple[Linear, ...]
    plain_parameters: int
    kv: tuple[KvLayers, ...]
    context_tokens: int | None
    remarks: tuple[str, ...] = ()

    @property
    def parameters(self) -> int:
        return self.plain_parameters + sum(linear.parameters for linear in self.linears)


def architecture(data: Mapping[str, Any]) -> Architecture:
    """Read one config.json.

    Raises:
        ConfigError: a key is missing or no number, or the model's type is not known.
    """
    remarks: list[str] = []
    inner = data.get("text_config")
    if isinstance(inner, dict):
        remarks.append("only the language model is counted, not its vision or audio tower")
        data = {**inner, "tie_word_embeddings": inner.get("tie_word_embeddings", data.get("tie_word_embeddings"))}
    if data.get("num_nextn_predict_layers"):
        remarks.append(
            "the multi-token-prediction module is not counted: the engine leaves it out unless it speculates"
        )
    name = str(data.get("model_type"))
    family = FAMILIES.get(name)
    if family is None:
        fix = "Size it by hand, or by parameters_b and weights_bits."
        raise ConfigError("model_type", name[:40], f"one of {', '.join(FAMILIES)}", fix)
    config = Config(data)
    hidden, layers = config.whole("hidden_size"), config.whole("num_hidden_layers", most=MOST_LAYERS)
    attention = _latent(config, hidden, layers) if family.mla else _attention(config, family, hidden, layers)
    feed_forward = _feed_forward(config, family, hidden, layers)
    embeddings = (
        config.whole("vocab_size") * hidden * (1 if config.flag("tie_word_embeddings", default=family.tied) else 2)
    )
    plain = attention[1] + feed_forward[1] + embeddings + layers * family.norms * hidden + hidden
    return Architecture(
        model_type=name,
        attention_heads=config.whole("num_attention_heads"),
        linears=(*attention[0], *feed_forward[0]),
        plain_parameters=plain,
        kv=_kv(config, family, hidden, layers),
        context_tokens=_context(config),
        remarks=tuple(remarks),
    )


_Part = tuple[list[Linear], int]
"""Matrices, and the number of other parameters beside them."""


def _heads(config: Config, hidden: int) -> tuple[int, int, int]:
    heads = config.whole("num_attention_heads")
    return heads, config.whole("num_key_value_heads", heads), config.whole("head_dim", max(hidden // heads, 1))


def _attention(config: Config, family: Family, hidden: int, layers: int) -> _Part:
    heads, kv_heads, dim = _heads(config, hidden)
    linears = [
        Linear(hidden, heads * dim, layers),
        Linear(hidden, kv_heads * dim, 2 * layers),
        Linear(heads * dim, hidden, layers),
    ]
    has_all = family.bias == "all" or (family.bias == "config" and config.flag("attention_bias"))
    plain = 0
    if has_all or family.bias == "qkv":
        plain += (heads + 2 * kv_heads) * dim
    plain += hidden if has_all else 0
    plain += 2 * dim if family.qk_norm else 0
    plain += heads if family.sinks else 0
    return linears, plain * layers


def _latent(config: Config, hidden: int, layers: int) -> _Part:
    """Multi-head latent attention: queries and keys and values through low ranks, each with a norm."""
    heads, kv_rank, q_rank = (
        config.whole("num_attention_heads"),
        config.whole("kv_lora_rank"),
        config.maybe("q_lora_rank"),
    )
    rope, nope, value = (config.whole(key) for key in ("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"))
    wide = heads * (nope + rope)
    queries = (
        [Linear(hidden, wide, layers)]
        if q_rank is None
        else [Linear(hidden, q_rank, layers), Linear(q_rank, wide, layers)]
    )
    linears = [
        *queries,
        Linear(hidden, kv_rank + rope, layers),
        Linear(kv_rank, heads * (nope + value), layers),
        Linear(heads * value, hidden, layers),
    ]
    return linears, layers * (kv_rank + (q_rank or 0))


def _feed_forward(config: Config, family: Family, hidden: int, layers: int) -> _Part:
    if family.experts is None:
        bias = config.flag("mlp_bias")
        inner = config.whole("intermediate_size")
        return _gated(hidden, inner, layers), layers * (2 * inner + hidden) if bias else 0
    experts = config.whole(family.experts)
    inner = config.whole("moe_intermediate_size", config.whole("intermediate_size"))
    sparse = layers - min(config.maybe("first_k_dense_replace") or 0, layers)
    step = config.whole("decoder_sparse_step", 1)
    dense_only = config.data.get("mlp_only_layers") or []
    if step != 1 or dense_only:
        raise ConfigError("decoder_sparse_step", str(step), "experts in every layer", "Give weights_index instead.")
    linears = _gated(hidden, inner, sparse * experts, is_expert=True)
    plain = sparse * hidden * experts  # the router
    if config.data.get("topk_method") == "noaux_tc":
        plain += sparse * experts  # its correction bias
    if family.bias == "all":
        plain += sparse * (experts + experts * (2 * inner + hidden))
    if shared := config.maybe("n_shared_experts"):
        linears += _gated(hidden, inner * shared, sparse)
    if layers > sparse:
        linears += _gated(hidden, config.whole("intermediate_size"), layers - sparse)
    return linears, plain


def _gated(hidden: int, inner: int, count: int, *, is_expert: bool = False) -> list[Linear]:
    """Gate, up and down."""
    return [Linear(hidden, inner, 2 * count, is_expert), Linear(inner, hidden, count, is_expert)]


def _kv(config: Config, family: Family, hidden: int, layers: int) -> tuple[KvLayers, ...]:
    if family.mla:
        return (KvLayers(layers, config.whole("kv_lora_rank") + config.whole("qk_rope_head_dim"), heads=1),)
    _, kv_heads, dim = _heads(config, hidden)
    window = config.maybe("sliding_window")
    sliding = _sliding_layers(config, family, layers) if window is not None else 0
    groups = (
        KvLayers(layers - sliding, 2 * kv_heads * dim, kv_heads),
        KvLayers(sliding, 2 * kv_heads * dim, kv_heads, window),
    )
    return tuple(group for group in groups if group.count)


def _sliding_layers(config: Config, family: Family, layers: int) -> int:
    """How many layers look back no further than the window."""
    kinds = config.data.get("layer_types")
    if isinstance(kinds, list):
        unknown = {str(kind) for kind in kinds} - {"full_attention", "sliding_attention"}
        if unknown or len(kinds) != layers:
            got = ", ".join(sorted(unknown))[:40] or f"{len(kinds)} layers"
            expected = f"full_attention or sliding_attention for each of {layers} layers"
            raise ConfigError("layer_types", got, expected, "Size it by hand: other layers keep other state.")
        return kinds.count("sliding_attention")
    if family.window == "pattern":
        # Of every `pattern` layers the last sees everything.
        return layers - layers // config.whole("sliding_window_pattern", family.pattern)
    if family.window == "qwen":
        kept = min(config.whole("max_window_layers", layers, most=MOST_LAYERS), layers)
        return layers - kept if config.flag("use_sliding_window") else 0
    return layers if family.window == "all" else 0


def _context(config: Config) -> int | None:
    """The longest context the positions are made for. YaRN's factor counts from the original length."""
    said = config.maybe("max_position_embeddings")
    scaling = config.data.get("rope_scaling") or config.data.get("rope_parameters")
    if not isinstance(scaling, dict) or scaling.get("rope_type", scaling.get("type")) != "yarn":
        return said
    rope = Config(scaling)
    original = rope.maybe("original_max_position_embeddings")
    factor = scaling.get("factor")
    if original is None or isinstance(factor, bool | str | None):
        return said
    return max(said or 0, int(original * factor))
