"""The serving configuration that results were measured on: `serving.yaml` beside them.

Changing any of it can change latency and throughput, so a number is one of this configuration only. Benchmark tools see
the client's side and write down little of it; a person does, once, where the measuring was done.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from stacks.faults import InputError
from stacks.field_types import Count, GpuCount, Positive, Spec, Text, fault
from stacks.files import text_of
from stacks.folders import shown
from stacks.reading import read
from stacks.yaml_text import parse

RECORD_FILE = "serving.yaml"


def _as_text(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:f}" if isinstance(value, Decimal) else str(value) if isinstance(value, int) else value


# A flag's value as the engine takes it: `0.9` and `true` need no quotes here.
FlagValue = Annotated[str, BeforeValidator(_as_text, json_schema_input_type=str | float | bool)]


FIELD_OF_FLAG = {
    "chat-template": "chat_template",
    "data-parallel-size": "parallelism.data",
    "kv-cache-dtype": "precision.kv_cache",
    "max-model-len": "max_context_tokens",
    "pipeline-parallel-size": "parallelism.pipeline",
    "quantization": "precision.weights",
    "reasoning-parser": "reasoning",
    "revision": "model.revision",
    "served-model-name": "model.served_as",
    "speculative-config": "speculative_decoding",
    "tensor-parallel-size": "parallelism.tensor",
    "tokenizer": "tokenizer.name",
    "tokenizer-revision": "tokenizer.revision",
}
"""Flags that say what the record has a field for. Source: vLLM 0.33, `vllm serve --help`."""


def _no_second_names(settings: dict[str, str]) -> dict[str, str]:
    # Said under two names, one of them would be compared with nothing.
    twice = {flag: FIELD_OF_FLAG[flag] for flag in settings if flag in FIELD_OF_FLAG}
    if twice:
        moves = "; ".join(f"{flag} to {field}" for flag, field in twice.items())
        raise fault("second_name", (), ", ".join(twice), "flags without a field of their own", f"Move {moves}.")
    return settings


class ServedModel(Spec):
    """The checkpoint, and where clients ask for it by another name, that name too."""

    name: Text
    revision: Text | None = None
    served_as: Text | None = None


class Tokenizer(Spec):
    """The tokenizer, where it is not the checkpoint's own."""

    name: Text
    revision: Text | None = None


class Precision(Spec):
    """Numbers of the weights and of the KV cache: fp16, bf16, fp8, awq, gptq, ..."""

    weights: Text | None = None
    kv_cache: Text | None = None


class Parallelism(Spec):
    """How many ways one replica is split."""

    tensor: GpuCount | None = None
    pipeline: GpuCount | None = None
    expert: GpuCount | None = None
    data: GpuCount | None = None


class Runtime(Spec):
    """The inference engine."""

    name: Text
    version: Text | None = None
    image: Text | None = None


class Gpu(Spec):
    """The accelerators of one replica."""

    type: Text
    count: GpuCount | None = None
    interconnect: Text | None = Field(None, description="NVLink, PCIe, EFA, ...")


class Host(Spec):
    """The machine around the GPUs, and its software."""

    instance_type: Text | None = None
    cpu: Text | None = None
    memory_gib: Positive | None = None
    driver: Text | None = None
    software: Text | None = Field(None, description="operating system, CUDA, NCCL, ...")


class ServingRecord(Spec):
    """What was measured, and how real the measurement is.

    measured: on the hardware that is to serve; sandbox: on a double; illustrative: made up, to show the arithmetic. A
    plan that rests on the last two says so. What is not known is left out: it is then compared with nothing.
    """

    kind: Literal["measured", "sandbox", "illustrative"]
    workload_class: Text | None = Field(None, description="the class of work replayed; none: the whole mix")
    model: ServedModel
    tokenizer: Tokenizer | None = None
    precision: Precision = Precision()
    max_context_tokens: Count | None = None
    parallelism: Parallelism = Parallelism()
    chat_template: Text | None = Field(None, description="its name, or a digest of its text")
    reasoning: Text | None = Field(None, description="the parser and effort; none if there is none")
    speculative_decoding: Text | None = Field(None, description="method and draft; none if there is none")
    runtime: Runtime
    settings: Annotated[
        dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")], FlagValue], AfterValidator(_no_second_names)
    ] = Field(
        {}, description="scheduler, batching and KV cache, by the engine's own flags; a bare switch is an empty text"
    )
    gpu: Gpu
    host: Host = Host()

    def facts(self) -> dict[str, str]:
        """Everything it states, by dotted name (`parallelism.tensor`, `settings.max-num-seqs`)."""
        described = {"kind", "workload_class"}
        return dict(_flat(self.model_dump(exclude_none=True, exclude=described), ""))


def _flat(values: dict[str, object], above: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for name, value in values.items():
        place = f"{above}{name}"
        pairs += _flat(value, f"{place}.") if isinstance(value, dict) else [(place, str(_as_text(value)))]
    return pairs


def _names(model: type[Spec], above: str = "") -> list[str]:
    names: list[str] = []
    for name, field in model.model_fields.items():
        inner = [part for part in (field.annotation, *getattr(field.annotation, "__args__", ())) if _is_spec(part)]
        names += _names(inner[0], f"{above}{name}.") if inner else [f"{above}{name}"]
    return names


def _is_spec(part: object) -> bool:
    return isinstance(part, type) and issubclass(part, Spec)


NAMES = tuple(
    name
    for name in _names(ServingRecord)
    if name not in {"kind", "workload_class", "settings", "model.served_as", "tokenizer.name", "tokenizer.revision"}
)
"""Every fact of a complete record. The tokenizer is the checkpoint's own where none is named."""


def load(path: Path) -> ServingRecord:
    """Read one record.

    Raises:
        InputError: with every fault of the file.
    """
    reading = read(path, ServingRecord, "Write it where the results are: which model, engine and GPUs served them.")
    if reading.model is None or reading.faults:
        raise InputError(reading.faults)
    return reading.model


def line(path: Path, name: str) -> int:
    """The line of one fact in a record that was loaded, or of what it is in."""
    return parse(text_of(path), shown(path)).line(tuple(name.split(".")))


def beside(place: Path, top: Path) -> Path | None:
    """The record of the results at `place`: in their folder, or in the nearest one above it up to `top`."""
    folder = place if place.is_dir() else place.parent
    limit = top if top.is_dir() else top.parent
    for above in (folder, *folder.parents):
        if (above / RECORD_FILE).is_file():
            return above / RECORD_FILE
        if above == limit:
            return None
    return None
