"""A model candidate on the GPUs that would serve it: what fits, and what cannot work, before anything is bought."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from capacity.models.config import Architecture, architecture
from capacity.models.gpu_memory import (
    GIB,
    Room,
    Serving,
    gpus_needed,
    kv_bytes,
    kv_bytes_per_gpu,
    longest,
    room,
    sequences,
    serving,
)
from capacity.models.quantisation import weights_bytes
from capacity.replicas import decimal_text
from capacity.request import Request
from stacks.model_files import ModelFiles
from stacks.workloads import Candidate, Workload

BILLION = 10**9


@dataclass(frozen=True)
class Fit:
    """Sequences of `tokens` that fit at once: with the most assumed overhead, and with the least."""

    what: str
    tokens: int
    kv_bytes: int
    fewest: int
    most: int


@dataclass(frozen=True)
class Memory:
    """One candidate. `impossible` cannot work whatever the overhead; `doubtful` depends on it.

    is_sized_for: it is the request's first, not an alternative.
    """

    candidate: str
    is_sized_for: bool
    weights_bytes: Fraction
    weights_from: str
    parameters: int | None
    kv_bytes_per_token: int | None
    serving: Serving
    room: Room | None
    fits: tuple[Fit, ...]
    impossible: tuple[str, ...]
    doubtful: tuple[str, ...]
    remarks: tuple[str, ...]


def memory(candidate: Candidate, files: ModelFiles, request: Request) -> Memory | None:
    """Reckon one candidate; None where nothing says how large it is.

    Raises:
        ConfigError: its config.json cannot be reckoned with.
    """
    config, workload = files.config, request.workload
    model = None if config is None else architecture(config)
    engine = serving(request.service, request.pool, config)
    if files.weights_bytes is not None:
        weights, source = Fraction(files.weights_bytes), "its index"
    elif model is not None and config is not None:
        weights, source = weights_bytes(model, config.get("quantization_config")), "config.json"
    elif candidate.parameters_b is not None and candidate.weights_bits is not None:
        weights = Fraction(candidate.parameters_b) * BILLION * candidate.weights_bits / 8
        source = f"{decimal_text(candidate.parameters_b)} billion parameters of {candidate.weights_bits} bits"
    else:
        return None
    left = room(engine, weights)
    fits = tuple(_fits(model, engine, left, workload)) if model and left else ()
    return Memory(
        candidate=candidate.name,
        is_sized_for=any(candidate is first for first in (workload.models.candidates or ())[:1]),
        weights_bytes=weights,
        weights_from=source,
        parameters=model.parameters if model else None,
        kv_bytes_per_token=kv_bytes(model, 1, engine.kv_bits) if model else None,
        serving=engine,
        room=left,
        fits=fits,
        impossible=(
            *_starts(model, engine, weights, left),
            *_contexts(model, engine, left, workload),
            *_full(fits, engine),
        ),
        doubtful=tuple(_doubtful(engine, left, fits)),
        remarks=_remarks(model, engine),
    )


def _remarks(model: Architecture | None, engine: Serving) -> tuple[str, ...]:
    said = (*(model.remarks if model else ()), *engine.remarks)
    if engine.usable_bytes is None:
        return (*said, "the pool's instance type is not in the table, so its GPUs' memory is not known")
    return said


def contexts(model: Architecture, engine: Serving, workload: Workload) -> Iterator[tuple[str, int]]:
    """Lengths that matter, each with what it is: p95 of every class, what was asked for, the engine's longest."""
    for kind, load in workload.profile.classes.items():
        together = load.input_tokens.p95 and load.output_tokens.p95
        if load.context_tokens.p95 is not None:
            yield f"p95 of {kind}", int(load.context_tokens.p95)
        elif together and load.input_tokens.p95 and load.output_tokens.p95:
            yield f"p95 of {kind} (input + output)", int(load.input_tokens.p95 + load.output_tokens.p95)
    if workload.models.context_tokens is not None:
        yield "models.context_tokens", workload.models.context_tokens
    if engine.max_model_len is not None:
        yield "max-model-len", engine.max_model_len
    elif model.context_tokens is not None and not engine.fits_context:
        yield "the model's longest, as max-model-len is not set", model.context_tokens


def _fits(model: Architecture, engine: Serving, left: Room, workload: Workload) -> Iterator[Fit]:
    for what, tokens in contexts(model, engine, workload):
        fewest, most = (sequences(bytes_left, model, tokens, engine) for bytes_left in (left.least, left.most))
        yield Fit(what, tokens, kv_bytes(model, tokens, engine.kv_bits), fewest, most)


def _starts(model: Architecture | None, engine: Serving, weights: Fraction, left: Room | None) -> Iterator[str]:
    heads = model.attention_heads if model else None
    if heads is not None and heads % engine.gpus:
        yield f"gpus_per_replica {engine.gpus} does not divide the model's {heads} attention heads"
    if left is None or left.most > 0:
        return
    needed = gpus_needed(engine, weights, heads)
    fix = f"it takes {needed} of these GPUs" if needed else "no number of these GPUs holds them"
    yield f"weights of {gb(weights)} do not fit into gpus_per_replica {engine.gpus}: {fix}"


def _contexts(model: Architecture | None, engine: Serving, left: Room | None, workload: Workload) -> Iterator[str]:
    asked = workload.models.context_tokens
    limits = (("max-model-len", engine.max_model_len), ("the model's longest", model.context_tokens if model else None))
    for what, limit in limits:
        if asked is not None and limit is not None and asked > limit:
            yield f"models.context_tokens {asked} is above {what}, {limit}"
    if model is None or left is None or left.most <= 0:
        return
    for what, tokens in contexts(model, engine, workload):
        if not sequences(left.most, model, tokens, engine):
            need = decimal_text(round(kv_bytes_per_gpu(model, tokens, engine) / GIB, 2))
            there = decimal_text(round(left.most / GIB, 2))
            yield (
                f"not one sequence of {tokens} tokens ({what}) fits: it takes {need} GiB of KV cache a GPU, {there} "
                f"are left; the longest that fits has {longest(left.most, model, engine, tokens)}"
            )


def _full(fits: tuple[Fit, ...], engine: Serving) -> Iterator[str]:
    for fit in fits:
        if fit.what.startswith("p95") and 0 < fit.most < engine.max_num_seqs:
            yield (
                f"engine.max_num_seqs {engine.max_num_seqs} is more than the {fit.most} sequences of {fit.tokens} "
                f"tokens ({fit.what}) that fit: the others would be preempted"
            )


def _doubtful(engine: Serving, left: Room | None, fits: tuple[Fit, ...]) -> Iterator[str]:
    if left is not None and left.least <= 0 < left.most:
        yield "the weights fit only with little overhead for activations and CUDA graphs"
        return
    for fit in fits:
        if fit.fewest == 0 < fit.most:
            yield f"a sequence of {fit.tokens} tokens ({fit.what}) fits only with little overhead"
        elif fit.what.startswith("p95") and fit.fewest < engine.max_num_seqs <= fit.most:
            yield f"engine.max_num_seqs {engine.max_num_seqs} at {fit.what} fits only with little overhead"


def gb(amount: Fraction | int) -> str:
    """`140 GB (130.385 GiB)`."""
    return (
        f"{decimal_text(round(Fraction(amount, BILLION), 3))} GB ({decimal_text(round(Fraction(amount, GIB), 4))} GiB)"
    )
