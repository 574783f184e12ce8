"""What fits into one replica's GPUs: weights, and the sequences whose KV cache fits beside them.

    left per GPU = GPU memory x gpu-memory-utilization - weights / GPUs - activations and CUDA graphs
    sequences    = floor(left per GPU / KV bytes of one sequence per GPU)

Tensor parallelism divides weights and KV heads over the replica's GPUs; a latent (MLA), and heads there are fewer of
than GPUs, are kept whole on each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from capacity.models.config import Architecture, KvLayers
from stacks.instance_types import INSTANCE_TYPES
from stacks.spec import NodePool, Service

GIB = 2**30
BLOCK_TOKENS = 16
"""Source: vLLM 0.33, `CacheConfig.DEFAULT_BLOCK_SIZE`."""

UTILIZATION = "0.92"
"""Source: vLLM 0.33, `CacheConfig.gpu_memory_utilization`."""

OVERHEAD_GIB = (Fraction(1), Fraction(4))
"""Per GPU, for activations, CUDA graphs and NCCL: assumed, from small batches to large ones."""


@dataclass(frozen=True)
class Serving:
    """The side of the engine.

    gpu_bytes: None for an instance type that is not known. max_model_len: None where the flag is not set, or its value
    leaves it to the engine (`fits_context`). remarks: flags that are not understood.
    """

    gpus: int
    gpu_bytes: int | None
    utilization: Fraction
    kv_bits: int
    max_model_len: int | None
    max_num_seqs: int
    fits_context: bool = False
    remarks: tuple[str, ...] = ()

    @property
    def usable_bytes(self) -> Fraction | None:
        """Of one GPU, before any overhead."""
        return None if self.gpu_bytes is None else self.gpu_bytes * self.utilization


@dataclass(frozen=True)
class Room:
    """Bytes that one GPU has left for KV cache, with the most assumed overhead and with the least."""

    least: Fraction
    most: Fraction


def serving(service: Service, pool: NodePool, model_config: Mapping[str, Any] | None) -> Serving:
    """Read the engine's own flags; where a pool has several GPUs, the smallest counts."""
    args = service.engine.args
    known = [INSTANCE_TYPES.get(kind) for kind in pool.instance_types]
    sizes = [kind.gpu_memory_gib for kind in known if kind]
    length = args.get("max-model-len")
    cache = args.get("kv-cache-dtype", "auto")
    return Serving(
        gpus=service.gpus_per_replica,
        gpu_bytes=min(sizes) * GIB if len(sizes) == len(known) else None,
        utilization=_share(args.get("gpu-memory-utilization", UTILIZATION)),
        kv_bits=_kv_bits(cache, model_config),
        max_model_len=None if length is None else tokens_of(length),
        max_num_seqs=service.engine.max_num_seqs,
        fits_context=length is not None and tokens_of(length) is None,
        remarks=() if _is_known(cache) else (f"kv-cache-dtype {cache} is not known here: reckoned with 16 bits",),
    )


def tokens_of(text: str) -> int | None:
    """`8192`, `8k` (8000), `8K` (8192), `25.6k`; None for `auto` and what is no number.

    Source: vLLM 0.33, `human_readable_int` of engine/arg_utils.py.
    """
    match = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([kKmMgGtT]?)", text.strip())
    if match is None:
        return None
    unit = match[2]
    power = "kmgt".index(unit.lower()) + 1 if unit else 0
    amount = Fraction(match[1]) * (1024 if unit.isupper() else 1000) ** power
    return int(amount) if amount.denominator == 1 and amount > 0 else None


def _is_known(cache: str) -> bool:
    return cache in ("auto", "float16", "bfloat16", "half") or cache.startswith("fp8")


def _share(text: str) -> Fraction:
    try:
        share = Fraction(text)
    except ValueError:
        return Fraction(UTILIZATION)
    return share if 0 < share <= 1 else Fraction(UTILIZATION)


def _kv_bits(flag: str, model_config: Mapping[str, Any] | None) -> int:
    """8 where the flag, or the checkpoint's own quantisation, says so; else 16."""
    quantisation = (model_config or {}).get("quantization_config")
    scheme = quantisation.get("kv_cache_scheme") if isinstance(quantisation, dict) else None
    if flag.startswith("fp8") or (flag == "auto" and isinstance(scheme, dict) and scheme.get("num_bits") == 8):
        return 8
    return 16


def room(serving: Serving, weights_bytes: Fraction) -> Room | None:
    """What is left beside the weights; negative where they do not fit. None where the GPU is not known."""
    if serving.usable_bytes is None:
        return None
    left = serving.usable_bytes - weights_bytes / serving.gpus
    least, most = (left - overhead * GIB for overhead in reversed(OVERHEAD_GIB))
    return Room(least, most)


def kv_bytes(model: Architecture, tokens: int, kv_bits: int) -> int:
    """KV cache of one sequence of `tokens`, on all of a replica's GPUs together if nothing is kept twice.

    A layer with a window keeps its last tokens only.
    """
    return sum(layer.count * layer.elements * _kept(layer, tokens) for layer in model.kv) * kv_bits // 8


def kv_bytes_per_gpu(model: Architecture, tokens: int, serving: Serving) -> Fraction:
    """The same on each GPU, in whole blocks."""
    total = Fraction(0)
    for layer in model.kv:
        blocks = -(-_kept(layer, tokens) // BLOCK_TOKENS)
        parts = min(serving.gpus, layer.heads)
        total += Fraction(layer.count * layer.elements * blocks * BLOCK_TOKENS * serving.kv_bits, 8 * parts)
    return total


def _kept(layer: KvLayers, tokens: int) -> int:
    return tokens if layer.window is None else min(tokens, layer.window)


def sequences(left: Fraction, model: Architecture, tokens: int, serving: Serving) -> int:
    """How many of `tokens` fit at once into `left` bytes of each GPU."""
    return max(math.floor(left / kv_bytes_per_gpu(model, tokens, serving)), 0)


def longest(left: Fraction, model: Architecture, serving: Serving, most: int) -> int:
    """The longest single sequence that fits, in tokens, up to `most`."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sequences(left, model, middle, serving) else (low, middle - 1)
    return low


def gpus_needed(serving: Serving, weights_bytes: Fraction, heads: int | None) -> int | None:
    """The fewest GPUs that hold the weights with the least overhead, and divide the heads. None: no number does."""
    if serving.usable_bytes is None or serving.usable_bytes <= OVERHEAD_GIB[0] * GIB:
        return None
    fewest = math.floor(weights_bytes / (serving.usable_bytes - OVERHEAD_GIB[0] * GIB)) + 1
    upto = heads or 1024
    return next((gpus for gpus in range(fewest, upto + 1) if not upto % gpus or not heads), None)
