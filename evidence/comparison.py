"""Whether results are of the configuration that is to be sized: record against service, and files against record.

Only what both sides state is compared; everything else is named as not compared, so that nobody takes silence for
agreement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from capacity.sweeps.sweep import Sweep
from evidence.record import FIELD_OF_FLAG, NAMES, ServingRecord
from stacks.instance_types import INSTANCE_TYPES
from stacks.spec import NodePool, Service


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact in which evidence and service, or a record and its files, are not one. `where` states `other`."""

    name: str
    recorded: str
    other: str
    where: str

    def __str__(self) -> str:
        return f"{self.name}: {self.recorded} was measured, {self.where} has {self.other}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """`differences` forbid to size by the evidence; of all else one side, or neither, says nothing.

    only_recorded: facts of the record with which nothing of the service can be compared. not_recorded: those that the
    record lacks.
    """

    differences: tuple[Difference, ...]
    only_recorded: tuple[str, ...]
    not_recorded: tuple[str, ...]

    @property
    def not_compared(self) -> str:
        """All of it in one line; empty where there is none."""
        parts = (
            ("the service has nothing to compare with", self.only_recorded),
            ("the record says nothing of", self.not_recorded),
        )
        return "; ".join(f"{who} {', '.join(names)}" for who, names in parts if names)


# One of a pool's kinds of node is enough, but a replica must not land on a GPU that was not measured.
_ENOUGH: dict[str, Callable[[Iterable[bool]], bool]] = {"gpu.type": all}


def differences(record: ServingRecord, service: Service, pool: NodePool) -> Comparison:
    """Compare what was measured with what `service` on `pool` will run."""
    recorded = record.facts()
    if record.model.served_as:
        recorded["model.name"] = record.model.served_as
    recorded.pop("model.served_as", None)
    wanted = _of_service(service, pool)
    both = [
        name
        for name in recorded
        if name in wanted and all(_comparable(name, recorded[name], value) for value in wanted[name])
    ]
    found = [
        Difference(_place(name, record), recorded[name], " or ".join(wanted[name]), "the service")
        for name in both
        if not _ENOUGH.get(name, any)(_same(name, recorded[name], value) for value in wanted[name])
    ]
    silent = [name for name in dict.fromkeys([*NAMES, *recorded, *wanted]) if name not in both]
    return Comparison(
        tuple(found),
        tuple(name for name in silent if name in recorded),
        tuple(name for name in silent if name not in recorded),
    )


def _place(name: str, record: ServingRecord) -> str:
    """Where the record says it: the name that clients ask by is a field of its own."""
    return "model.served_as" if name == "model.name" and record.model.served_as else name


def contradictions(record: ServingRecord, sweeps: Iterable[Sweep]) -> tuple[Difference, ...]:
    """Where the result files themselves say something else than the record beside them, each fact once."""
    recorded = record.facts()
    found: dict[tuple[str, str], Difference] = {}
    for sweep in sweeps:
        for point in sweep.points:
            said = dict(point.configuration) | ({} if point.gpus is None else {"gpu.count": str(point.gpus)})
            for name, value in said.items():
                mine = [one for one in _recorded(name, recorded) if _comparable(name, one, value)]
                if mine and not any(_same(name, one, value) for one in mine):
                    found.setdefault((name, value), Difference(name, recorded[name], value, str(point.origin)))
    return tuple(found.values())


def _recorded(name: str, recorded: Mapping[str, str]) -> tuple[str, ...]:
    """What a client may call it: the model by either of its names."""
    names = (name, "model.served_as") if name == "model.name" else (name,)
    return tuple(recorded[one] for one in names if one in recorded)


def _of_service(service: Service, pool: NodePool) -> dict[str, tuple[str, ...]]:
    """What the service states, by the record's names; several where its pool offers several."""
    engine = service.engine
    # One replica is one tensor-parallel group: the dialects refuse the flags that would make it anything else.
    facts: dict[str, tuple[str, ...]] = {
        "model.name": (service.model.name,),
        "model.revision": (service.model.revision,),
        "runtime.name": (engine.kind,),
        "runtime.version": (engine.version,),
        "runtime.image": (engine.image,),
        "parallelism.tensor": (str(service.gpus_per_replica),),
        "parallelism.pipeline": ("1",),
        "parallelism.data": ("1",),
        "settings.max-num-seqs": (str(engine.max_num_seqs),),
        "gpu.count": (str(service.gpus_per_replica),),
        "host.instance_type": tuple(pool.instance_types),
    }
    if known := {INSTANCE_TYPES[kind].gpu for kind in pool.instance_types if kind in INSTANCE_TYPES}:
        facts["gpu.type"] = tuple(sorted(known))
    for flag, value in engine.args.items():
        facts[FIELD_OF_FLAG.get(flag, f"settings.{flag}")] = (value,)
    return facts


def _comparable(name: str, recorded: str, other: str) -> bool:
    """A tag may mean any image, so only digests are compared."""
    return name != "runtime.image" or (_digest(recorded) is not None and _digest(other) is not None)


def _same(name: str, recorded: str, other: str) -> bool:
    if recorded.casefold() == other.casefold():
        return True
    if name in {"model.name", "tokenizer.name"}:  # org/model and /weights/model are the same model
        return _last(recorded) == _last(other)
    if name == "gpu.type":  # NVIDIA-H100-80GB-HBM3 and h200-nb_0 name the GPU among other words
        return bool(_words(recorded) & _words(other) & _GPUS)
    if name == "runtime.version":
        return _numbers(recorded) is not None and _numbers(recorded) == _numbers(other)
    if name == "runtime.image":
        return _digest(recorded) == _digest(other)
    return _is_number(recorded) and _is_number(other) and float(recorded) == float(other)


_GPUS = {kind.gpu.casefold() for kind in INSTANCE_TYPES.values()}


def _last(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2].casefold()


def _words(text: str) -> set[str]:
    return set(re.split(r"[^a-z0-9]+", text.casefold()))


def _numbers(version: str) -> tuple[int, ...] | None:
    """`v0.11.0` -> (0, 11): a release, without the zeros that it may end in."""
    match = re.fullmatch(r"v?(\d+(?:\.\d+)*)", version)
    parts = [int(part) for part in match[1].split(".")] if match else []
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts) or None


def _digest(image: str) -> str | None:
    return image.partition("@")[2] or None


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+(?:\.\d+)?", text) is not None
