"""Bytes of a model's weights, quantised as its `quantization_config` says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from capacity.models.config import Architecture, Linear
from capacity.models.config_values import ConfigError

PLAIN_BYTES = 2
"""FP16 or BF16. A checkpoint in FP32 is loaded as one of them. Source: vLLM `--dtype auto`."""


@dataclass(frozen=True)
class Scheme:
    """How a matrix is kept: `bits` a weight, and what belongs to `group` inputs of an output, to a block, to an input.

    group: None for one of all inputs. experts_only: other matrices stay plain.
    """

    bits: int
    group: int | None = None
    group_bytes: Fraction = Fraction(0)
    block: tuple[int, int] | None = None
    block_bytes: int = 0
    input_bytes: int = 0
    experts_only: bool = False

    def bytes_of(self, linear: Linear) -> Fraction:
        """All `count` of them."""
        if self.experts_only and not linear.is_expert:
            return Fraction(linear.parameters * PLAIN_BYTES)
        groups = 1 if self.group is None else -(-linear.into // self.group)
        each = Fraction(linear.into * linear.out * self.bits, 8) + groups * linear.out * self.group_bytes
        if self.block:
            each += -(-linear.into // self.block[1]) * -(-linear.out // self.block[0]) * self.block_bytes
        return linear.count * (each + linear.into * self.input_bytes)


def weights_bytes(model: Architecture, quantisation: Any) -> Fraction:
    """What the engine holds of `model`, with the `quantization_config` of its config.json as it stands there.

    Raises:
        ConfigError: the quantisation is not known.
    """
    plain = Fraction(model.plain_parameters * PLAIN_BYTES)
    if not quantisation:
        return plain + PLAIN_BYTES * sum(linear.parameters for linear in model.linears)
    if not isinstance(quantisation, Mapping):
        raise ConfigError("quantization_config", str(quantisation)[:40], "a mapping with quant_method", "Correct it.")
    method = str(quantisation.get("quant_method"))
    scheme = _SCHEMES.get(method)
    if scheme is None:
        fix = "Give weights_index: the checkpoint's own index has its bytes."
        raise ConfigError("quantization_config.quant_method", method[:40], f"one of {', '.join(_SCHEMES)}", fix)
    made = scheme(quantisation)
    return plain + sum((made.bytes_of(linear) for linear in model.linears), Fraction(0))


def _grouped(quantisation: Mapping[str, Any], *, input_bytes: int = 0) -> Scheme:
    """A scale of 2 bytes and a zero point of `bits` for each group of inputs."""
    bits = _whole(quantisation, ("bits", "w_bit", "num_bits"), (2, 3, 4, 8))
    size = quantisation.get("group_size", quantisation.get("q_group_size", 128))
    group = None if size in (None, -1) else _whole({"group_size": size}, ("group_size",))
    return Scheme(bits, group, 2 + Fraction(bits, 8), input_bytes=input_bytes)


def _fp8(quantisation: Mapping[str, Any]) -> Scheme:
    size = quantisation.get("weight_block_size")
    if not size:
        return Scheme(8, block=(10**9, 10**9), block_bytes=4)
    if not (isinstance(size, list) and len(size) == 2 and all(isinstance(one, int) and one > 0 for one in size)):
        raise ConfigError("quantization_config.weight_block_size", str(size)[:40], "two whole numbers", "Correct it.")
    return Scheme(8, block=(size[0], size[1]), block_bytes=4)


def _compressed(quantisation: Mapping[str, Any]) -> Scheme:
    groups = quantisation.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, dict) else None
    weights = first.get("weights") if isinstance(first, dict) else None
    if not isinstance(weights, dict) or len(groups or {}) != 1:
        key = "quantization_config.config_groups"
        raise ConfigError(key, str(groups)[:40], "one group with its weights", "Give weights_index instead.")
    bits = _whole(weights, ("num_bits",), (4, 8))
    strategy = weights.get("strategy")
    if strategy == "group":
        return Scheme(bits, _whole(weights, ("group_size",)), Fraction(2))
    return Scheme(bits, group_bytes=Fraction(2)) if strategy == "channel" else Scheme(bits)


def _whole(data: Mapping[str, Any], keys: tuple[str, ...], allowed: tuple[int, ...] = ()) -> int:
    value = next((data[key] for key in keys if key in data), None)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or (allowed and value not in allowed):
        expected = f"one of {', '.join(map(str, allowed))}" if allowed else "a whole number above 0"
        raise ConfigError(f"quantization_config.{keys[0]}", str(value)[:40], expected, "Correct it.")
    return value


# Source: AutoAWQ and GPTQModel checkpoints (qweight, scales, qzeros; g_idx), DeepSeek-V3's FP8 (weight_scale_inv),
# compressed-tensors, and OCP Microscaling 1.0 (32 values of 4 bits share a scale of 8).
_SCHEMES: dict[str, Callable[[Mapping[str, Any]], Scheme]] = {
    "awq": _grouped,
    "gptq": lambda quantisation: _grouped(quantisation, input_bytes=4),
    "fp8": _fp8,
    "compressed-tensors": _compressed,
    "mxfp4": lambda _: Scheme(4, 32, Fraction(1), experts_only=True),
}
