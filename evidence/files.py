"""Result files as sweeps: every folder that holds results is one. What is no evidence is named, and the rest read."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from capacity.sweep import Latency, Origin, Point, Sweep
from evidence.documents import Document, NoDocument, documents
from evidence.fields import Unusable
from evidence.formats import BYPRODUCTS, FORMATS
from evidence.record import RECORD_FILE
from evidence.source import Byproduct, Format, Recogniser, Source

# As Python objects a file takes up to five times its size: more would not fit into 300 MB.
MAX_BYTES = 48 * 2**20

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
    for path in paths:
        for file in reading.files_of(path):
            reading.file(file)
    return reading.evidence()


class _NoEvidence(Exception):  # noqa: N818 - it names the state
    """Why a file gave no point."""


class _Skipped(Exception):  # noqa: N818 - it names the state
    """Why a file need not give one."""


@dataclass
class _Reading:
    points: dict[str, list[Point]] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    skipped: list[Skip] = field(default_factory=list)
    seen: dict[tuple[int, int], str] = field(default_factory=dict)
    contents: dict[bytes, str] = field(default_factory=dict)
    measurements: dict[tuple[Any, ...], Origin] = field(default_factory=dict)
    beside: dict[Path, list[dict[str, Any]]] = field(default_factory=dict)

    def files_of(self, path: Path) -> Iterator[Path]:
        """Every file at and below `path` once, folder by folder, by name. Links are followed, in circles not."""
        try:
            status = path.stat()
            identity = (status.st_dev, status.st_ino)
            if identity in self.seen:
                if self.seen[identity] != str(path):
                    self.skipped.append(Skip(str(path), f"the same as {self.seen[identity]}, under another name"))
                return
            self.seen[identity] = str(path)
            if not stat.S_ISDIR(status.st_mode):
                yield path
                return
            inside = sorted(path.iterdir(), key=lambda entry: (entry.is_dir(), entry.name))
        except (OSError, RuntimeError) as error:  # a link to itself is a RuntimeError to some versions of Python
            self.refused.append(Refusal(str(path), _why_unreadable(error)))
            return
        for entry in inside:
            if entry.name.startswith("."):
                self.skipped.append(Skip(str(entry), "hidden"))
            else:
                yield from self.files_of(entry)

    def file(self, path: Path) -> None:
        """Read one file into the sweep of its folder."""
        try:
            if path.name == RECORD_FILE:
                raise _Skipped("the record of the serving configuration")  # noqa: TRY301 - one way out of a file
            content = _content(path)
            rows = _rows(_documents(path, content))
            digest = hashlib.blake2b(content, digest_size=16).digest()
            if digest in self.contents:
                raise _NoEvidence(f"the same content as {self.contents[digest]}")  # noqa: TRY301
            self.contents[digest] = str(path)
            self._results(path, rows)
        except _Skipped as skipped:
            self.skipped.append(Skip(str(path), str(skipped)))
        except (OSError, NoDocument, _NoEvidence) as error:
            reason = _why_unreadable(error) if isinstance(error, OSError) else str(error)
            self.refused.append(Refusal(str(path), reason))

    def _results(self, path: Path, rows: list[tuple[Document, Format | None]]) -> None:
        for part, row in rows:
            if row is not None and part.data is not None:
                self._points(path, part, part.data, row)
            else:
                origin = Origin(str(path), part.place)
                self.refused.append(Refusal(str(origin), part.broken or _UNKNOWN))

    def _points(self, path: Path, part: Document, data: dict[str, Any], row: Format) -> None:
        folder = row.sweep_folder(str(path.parent))

        def beside(recognises: Recogniser) -> dict[str, Any] | None:
            if path.parent not in self.beside:
                self.beside[path.parent] = list(_yaml_mappings(path.parent))
            return next((mapping for mapping in self.beside[path.parent] if recognises(mapping)), None)

        for place, result in row.results(data):
            origin = Origin(str(path), ".".join(filter(None, (part.place, place))))
            try:
                point = row.point(result, Source(origin, data, beside))
                _check(point)
            except Unusable as reason:
                self.refused.append(Refusal(str(origin), str(reason)))
                continue
            first = self.measurements.setdefault(_measurement(point), origin)
            if first is origin:
                self.points.setdefault(folder, []).append(point)
            elif first.file == str(path) or Path(first.file).parent != path.parent:
                self.refused.append(Refusal(str(origin), f"the same measurement as {first}"))
            else:  # `vllm bench sweep` writes each run alone, and all of a folder's once more
                self.skipped.append(Skip(str(origin), f"the same measurement as {first}"))

    def evidence(self) -> Evidence:
        sweeps = (Sweep(name, tuple(sorted(points, key=_load))) for name, points in self.points.items())
        return Evidence(tuple(sweeps), tuple(self.refused), tuple(self.skipped))


def _content(path: Path) -> bytes:
    """The file's bytes.

    Raises:
        OSError: it cannot be read.
        _NoEvidence: it is no regular file, or too large.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):  # a pipe would wait for a writer, a device never end
        raise _NoEvidence("no regular file")
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        size = max(status.st_size, len(content)) / 2**20
        raise _NoEvidence(f"{size:.0f} MiB, more than {MAX_BYTES // 2**20}: save it without single requests")
    return content


def _documents(path: Path, content: bytes) -> list[Document]:
    suffix = path.suffix.lower()
    if suffix in _BESIDE and content[:64].lstrip()[:1] not in {b"{", b"["}:
        raise _Skipped(f"{suffix} is not read; results are JSON or YAML")
    return documents(content)


def _rows(parts: list[Document]) -> list[tuple[Document, Format | None]]:
    """Each part with its format, byproducts left out.

    Raises:
        _NoEvidence: no part is of a known tool.
        _Skipped: all that is known are byproducts.
    """
    rows = [(part, _row(part)) for part in parts]
    if not any(row for _, row in rows):
        raise _NoEvidence(_UNKNOWN)
    if not any(isinstance(row, Format) for _, row in rows):
        raise _Skipped(next(row.why for _, row in rows if isinstance(row, Byproduct)))
    return [(part, row) for part, row in rows if not isinstance(row, Byproduct)]


def _row(part: Document) -> Format | Byproduct | None:
    table: tuple[Format | Byproduct, ...] = (*FORMATS, *BYPRODUCTS)
    return next((row for row in table if part.data is not None and row.recognises(part.data)), None)


def _yaml_mappings(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(path for path in folder.iterdir() if path.suffix in {".yaml", ".yml"}):
        try:
            yield from (part.data for part in documents(_content(path)) if part.data is not None)
        except (OSError, NoDocument, _NoEvidence):  # named where the file itself is read
            continue


def _check(point: Point) -> None:
    """Raises `Unusable` for a point that measured nothing."""
    if point.completed == 0:
        failed = f" ({point.failed} failed)" if point.failed else ""
        raise Unusable(f"no request completed{failed}, so nothing was measured")
    if not any((point.ttft, point.tpot, point.itl, point.e2e)):
        raise Unusable("no latency in it")


def _measurement(point: Point) -> tuple[Any, ...]:
    """What no two runs have in common: every number of the point, and not where it was read."""
    ladders = (point.ttft, point.tpot, point.itl, point.e2e)
    numbers = (point.requested_rps, point.concurrency_limit, point.throughput_rps, point.duration_s, point.completed)
    return (point.tool, *numbers, point.output_tokens_per_s, *(_ladder(ladder) for ladder in ladders))


def _ladder(latency: Latency | None) -> tuple[Any, ...] | None:
    return None if latency is None else (latency.mean_s, *latency.percentiles_s.items())


def _load(point: Point) -> tuple[int, float]:
    """Least load first: by the rate asked for, then closed loops by their concurrency, then the rest as measured."""
    if point.requested_rps is not None:
        return 0, point.requested_rps
    concurrency = point.concurrency_limit or point.concurrency
    return (1, concurrency) if concurrency is not None else (2, point.throughput_rps or 0)


def _why_unreadable(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error).lower()
