"""GPU memory of a plan's model candidates, as sections and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from capacity.models.candidate import Memory, gb
from capacity.models.gpu_memory import GIB, OVERHEAD_GIB
from capacity.replicas import decimal_text
from capacity.sizing.plan import Plan
from cli.size.section import Section, span


def memory_sections(plan: Plan) -> Iterator[Section]:
    """Weights and room of every candidate whose size is known, then the sequences that fit."""
    if not plan.memory:
        return
    gpus = plan.memory[0].serving.gpus
    rows = tuple(
        (
            one.candidate,
            gb(one.weights_bytes),
            one.weights_from,
            _room(one),
            "not known" if one.kv_bytes_per_token is None else str(one.kv_bytes_per_token),
        )
        for one in plan.memory
    )
    columns = (
        "model",
        "weights",
        "from",
        "left for KV cache, GiB" if gpus == 1 else f"left for KV cache on each of {gpus} GPUs, GiB",
        "KV bytes a token",
    )
    yield Section("GPU memory", columns, rows, tuple(_notes(plan)))
    fits = tuple(
        (one.candidate, fit.what, str(fit.tokens), gb(fit.kv_bytes), span(fit.fewest, fit.most))
        for one in plan.memory
        for fit in one.fits
    )
    if fits:
        yield Section("Sequences that fit at once", ("model", "context", "tokens", "KV of one", "sequences"), fits)


def _room(one: Memory) -> str:
    if one.room is None:
        return "not known"
    if one.room.most <= 0:
        return "none: the weights do not fit"
    return span(*(round(amount / GIB, 2) for amount in (one.room.least, one.room.most)))


def _notes(plan: Plan) -> Iterator[str]:
    engine = plan.memory[0].serving
    if engine.gpu_bytes is not None:
        overhead = span(*OVERHEAD_GIB)
        yield (
            f"of {decimal_text(engine.gpu_bytes // GIB)} GiB a GPU, gpu-memory-utilization "
            f"{float(engine.utilization):g}; {overhead} GiB assumed for activations and CUDA graphs: the engine's log "
            "has the real figure"
        )
    for one in plan.memory:
        for text in (*one.impossible, *one.doubtful, *one.remarks):
            yield f"{one.candidate}: {text}"


def memory_data(one: Memory) -> dict[str, Any]:
    """Bytes as whole numbers; both ends of what depends on the overhead."""
    room = one.room
    return {
        "model": one.candidate,
        "weights_bytes": int(one.weights_bytes),
        "weights_from": one.weights_from,
        "parameters": one.parameters,
        "kv_bytes_per_token": one.kv_bytes_per_token,
        "kv_room_bytes_per_gpu": None if room is None else {"least": int(room.least), "most": int(room.most)},
        "fits": [
            {
                "context": fit.what,
                "tokens": fit.tokens,
                "kv_bytes": fit.kv_bytes,
                "fewest": fit.fewest,
                "most": fit.most,
            }
            for fit in one.fits
        ],
        "impossible": list(one.impossible),
        "doubtful": list(one.doubtful),
        "remarks": list(one.remarks),
    }
