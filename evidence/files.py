"""Result files as sweeps: every folder that holds results is one. What is no evidence is named, and the rest read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from capacity.sweeps.sweep import Origin, Point, Sweep
from evidence.collection import Collection
from evidence.documents import Document, NoDocument, documents
from evidence.formats.fields import Unusable
from evidence.formats.source import Byproduct, Format, NoEvidence, Recogniser, Skipped, Source
from evidence.formats.table import BYPRODUCTS, FORMATS
from evidence.record import RECORD_FILE
from evidence.walk import content, walk

# Pictures, tables and texts that tools write beside their results, where they do not begin as JSON does.
_BESIDE = frozenset(
    {".csv", ".gz", ".html", ".ipynb", ".jpg", ".log", ".md", ".npz", ".parquet", ".pdf", ".png", ".py", ".sh", ".svg"}
    | {".tar", ".tgz", ".txt", ".xlsx", ".zip"}
)

_UNKNOWN = "no result of a benchmark tool that is known here"


@dataclass(frozen=True, slots=True, order=True)
class Refusal:
    """A file, or a place in it, that could not be evidence although it lies among it, and why."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True, order=True)
class Skip:
    """A file that is in its place and still no measurement of its own, and why: nobody need do anything."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that was read, in the order of the paths."""

    sweeps: tuple[Sweep, ...]
    refused: tuple[Refusal, ...]
    skipped: tuple[Skip, ...]


def read(paths: Iterable[Path]) -> Evidence:
    """Read every result file of `paths`, folders with all that is in them. Raises nothing for a bad file."""
    reading = _Reading()
    for path, problem in walk(paths):
        try:
            if problem is not None:
                raise problem
            reading.file(path)
        except Skipped as skipped:
            reading.skipped.append(Skip(str(path), str(skipped)))
        except (NoDocument, NoEvidence) as reason:
            reading.refused.append(Refusal(str(path), str(reason)))
    return reading.evidence()


@dataclass
class _Reading:
    """One call of `read`: what was found, by the file, the content and the folder it was found in."""

    collection: Collection = field(default_factory=Collection)
    refused: list[Refusal] = field(default_factory=list)
    skipped: list[Skip] = field(default_factory=list)
    contents: dict[bytes, str] = field(default_factory=dict)
    beside: dict[tuple[Path, Recogniser], dict[str, Any] | None] = field(default_factory=dict)

    def file(self, path: Path) -> None:
        """Read one file into the sweep of its folder.

        Raises:
            NoDocument, NoEvidence: it gives no point.
            Skipped: it need not give one.
        """
        if path.name == RECORD_FILE:
            raise Skipped("the record of the serving configuration")
        data = content(path)
        suffix = path.suffix.lower()
        if suffix in _BESIDE and data[:64].lstrip()[:1] not in {b"{", b"["}:
            raise Skipped(f"{suffix} is not read; results are JSON or YAML")
        rows = _rows(documents(data))
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if digest in self.contents:
            raise NoEvidence(f"the same content as {self.contents[digest]}")
        self.contents[digest] = str(path)
        for part, row in rows:
            if row is not None and part.data is not None:
                self._points(path, part, part.data, row)
            else:
                self._refuse(Origin(str(path), part.place), part.broken or _UNKNOWN)

    def _points(self, path: Path, part: Document, data: dict[str, Any], row: Format) -> None:
        def beside(recognises: Recogniser) -> dict[str, Any] | None:
            asked = (path.parent, recognises)
            if asked not in self.beside:
                self.beside[asked] = next((data for data in _yaml_mappings(path.parent) if recognises(data)), None)
            return self.beside[asked]

        for place, result in row.results(data):
            origin = Origin(str(path), ".".join(filter(None, (part.place, place))))
            try:
                point = row.point(result, Source(origin, data, beside))
                _check(point)
            except Unusable as reason:
                self._refuse(origin, str(reason))
            except Skipped as skipped:
                self.skipped.append(Skip(str(origin), str(skipped)))
            else:
                self.collection.add(row.sweep_folder(str(path.parent)), row, point)

    def _refuse(self, origin: Origin, reason: str) -> None:
        self.refused.append(Refusal(str(origin), reason))

    def evidence(self) -> Evidence:
        sweeps = self.collection.sweeps()
        for origin, first in self.collection.rewritten:
            self.skipped.append(Skip(str(origin), f"the same measurement as {first}"))
        for origin, first in self.collection.repeated:
            self._refuse(origin, f"the same measurement as {first}")
        return Evidence(sweeps, tuple(self.refused), tuple(self.skipped))


def _rows(parts: list[Document]) -> list[tuple[Document, Format | None]]:
    """Each part with its format, byproducts left out.

    Raises:
        NoEvidence: no part is of a known tool.
        Skipped: all that is known are byproducts.
    """
    rows = [(part, _row(part)) for part in parts]
    if not any(row for _, row in rows):
        raise NoEvidence(_UNKNOWN)
    if not any(isinstance(row, Format) for _, row in rows):
        raise Skipped(next(row.why for _, row in rows if isinstance(row, Byproduct)))
    return [(part, row) for part, row in rows if not isinstance(row, Byproduct)]


def _row(part: Document) -> Format | Byproduct | None:
    table: tuple[Format | Byproduct, ...] = (*FORMATS, *BYPRODUCTS)
    return next((row for row in table if part.data is not None and row.recognises(part.data)), None)


def _yaml_mappings(folder: Path) -> Iterator[dict[str, Any]]:
    """Those of a folder, what is called a configuration first: there may be hundreds of reports beside it."""
    paths = (path for path in folder.iterdir() if path.suffix in {".yaml", ".yml"})
    for path in sorted(paths, key=lambda path: (not path.name.startswith("config"), path.name)):
        try:
            yield from (part.data for part in documents(content(path)) if part.data is not None)
        except (NoDocument, NoEvidence):  # named where the file itself is read
            continue


def _check(point: Point) -> None:
    """Raises `Unusable` for a point that measured nothing. That requests failed is a measurement."""
    if point.completed == 0 and point.failed:
        return
    if point.completed == 0:
        uncounted = "; whether any failed it does not say (SGLang: --output-details)" if point.failed is None else ""
        raise Unusable(f"no request completed, so nothing was measured{uncounted}")
    if not any((point.ttft, point.tpot, point.itl, point.e2e)):
        raise Unusable("no latency in it")
