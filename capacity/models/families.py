"""What a config.json leaves to its model's code: one row for each `model_type`.

Source: the models' modules in transformers 4.57 (`models/<model_type>/modeling_*.py` and `configuration_*.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Family:
    """What a config.json leaves to its model's code."""

    bias: Literal["none", "qkv", "config", "all"] = "none"
    qk_norm: bool = False
    norms: int = 2
    tied: bool = False
    experts: str | None = None  # the key that counts them
    window: Literal["none", "all", "pattern", "qwen"] = "all"
    pattern: int = 0
    sinks: bool = False
    mla: bool = False


FAMILIES: dict[str, Family] = {
    "llama": Family(bias="config", window="none"),
    "mistral": Family(),
    "phi3": Family(),
    "mixtral": Family(experts="num_local_experts"),
    "qwen2": Family(bias="qkv", window="qwen"),
    "qwen3": Family(bias="config", qk_norm=True, window="qwen"),
    "qwen3_moe": Family(bias="config", qk_norm=True, experts="num_experts", window="qwen"),
    "gemma2": Family(norms=4, tied=True, window="pattern", pattern=2),
    "gemma3_text": Family(norms=4, tied=True, qk_norm=True, window="pattern", pattern=6),
    "gpt_oss": Family(bias="all", experts="num_local_experts", sinks=True, window="pattern", pattern=2),
    "deepseek_v2": Family(mla=True, experts="n_routed_experts", window="none"),
    "deepseek_v3": Family(mla=True, experts="n_routed_experts", window="none"),
}
