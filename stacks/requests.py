"""`workloads.yaml` -> sizing requests, beside the platform they are made to. Every fault of both files at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from stacks.faults import Fault, InputError, Misfit
from stacks.folders import PLATFORM_FILE, shown, stack_folder
from stacks.loader import read_platform
from stacks.model_files import ModelFiles, model_files
from stacks.reading import faults_at, read
from stacks.spec import Platform
from stacks.workload_class import WorkloadClass
from stacks.workloads import Workload, WorkloadsSpec
from stacks.yaml_text import Document, dotted
from stacks.yaml_text import Path as Place

WORKLOADS_FILE = "workloads.yaml"


@dataclass(frozen=True)
class Requests:
    """The sizing requests of one stack, by name, and the platform they are made to."""

    stack: str
    platform: Platform
    workloads: Mapping[str, Workload]
    platform_document: Document
    document: Document
    folder: Path
    models: Mapping[tuple[str, int], ModelFiles]
    """(request, place among its candidates) -> the files that candidate names."""

    def fault(self, place: Place, got: str, expected: str, fix: str) -> Fault:
        """A fault at `place` of the requests' file, found by a rule outside of `stacks`."""
        return Fault(shown(self.folder / WORKLOADS_FILE), self.document.line(place), dotted(place), got, expected, fix)


def load_requests(stack: str, root: Path | None = None) -> Requests:
    """Read platform and sizing requests of one stack.

    Raises:
        InputError: with every fault of both files.
    """
    folder = stack_folder(stack, root)
    built = read_platform(folder)
    asked = read(folder / WORKLOADS_FILE, WorkloadsSpec, f"`warmline size init -s {stack}` writes one to fill in.")
    wrong: list[Misfit] = []
    if asked.readable:
        wrong += _missing_files(folder, asked.readable)
        if built.readable and built.is_whole:
            wrong += _against(built.readable, asked.readable)
    faults = [*built.faults, *asked.faults, *faults_at(asked, wrong)]
    if built.model is None or asked.model is None or faults:
        raise InputError(faults)
    workloads = asked.model.workloads
    models = _model_files(folder, workloads)
    return Requests(stack, built.model, workloads, built.document, asked.document, folder, models)


def _model_files(folder: Path, workloads: Mapping[str, Workload]) -> dict[tuple[str, int], ModelFiles]:
    found: dict[tuple[str, int], ModelFiles] = {}
    faults: list[Fault] = []
    for name, workload in workloads.items():
        for index, candidate in enumerate(workload.models.candidates or ()):
            named = (candidate.config, candidate.weights_index)
            try:
                found[name, index] = model_files(*(folder / file if file else None for file in named))
            except InputError as error:
                faults += error.faults
    if faults:
        raise InputError(faults)
    return found


def _classes(spec: WorkloadsSpec) -> Iterator[tuple[Place, WorkloadClass]]:
    for name, workload in spec.workloads.items():
        for kind, load in workload.profile.classes.items():
            yield ("workloads", name, "profile", "classes", kind), load


def _missing_files(folder: Path, spec: WorkloadsSpec) -> Iterator[Misfit]:
    named: list[tuple[Place, str | None]] = []
    for name, workload in spec.workloads.items():
        named.append((("workloads", name, "profile", "trace"), workload.profile.trace))
        for index, candidate in enumerate(workload.models.candidates or ()):
            at = ("workloads", name, "models", "candidates", index)
            named += [((*at, "config"), candidate.config), ((*at, "weights_index"), candidate.weights_index)]
    for place, load in _classes(spec):
        if load.per_replica:
            named.append(((*place, "per_replica", "evidence"), load.per_replica.evidence))
    for place, file in named:
        if file is not None and not _is_there(folder / file):
            yield Misfit(place, file, f"a file or folder in {shown(folder)}", "Put it there, or correct its name.")


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name no file system takes
        return False


def _against(platform: Platform, spec: WorkloadsSpec) -> Iterator[Misfit]:
    known = ", ".join(platform.services)
    for name, workload in spec.workloads.items():
        if workload.service not in platform.services:
            expected = f"a service of {PLATFORM_FILE}: {known}"
            yield Misfit(("workloads", name, "service"), workload.service, expected, "Correct the name.")
    for place, load in _classes(spec):
        if platform.production and load.per_replica and load.per_replica.kind != "measured":
            fix = "Benchmark one replica on the target hardware and name its result files as evidence."
            got = load.per_replica.kind
            yield Misfit((*place, "per_replica", "kind"), got, "measured on a production stack", fix)
