"""Every file at and below some paths, once, and what cannot be opened or need not be."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from evidence.formats.source import NoEvidence, Skipped

# As Python objects a file takes up to five times its size: more would not fit into 300 MB.
MAX_BYTES = 48 * 2**20


def walk(paths: Iterable[Path]) -> Iterator[tuple[Path, NoEvidence | Skipped | None]]:
    """Each file, folder by folder, by name; or why there is nothing to open. Links are followed, in circles not."""
    seen: dict[tuple[int, int], Path] = {}
    for path in paths:
        yield from _below(path, seen)


def _below(path: Path, seen: dict[tuple[int, int], Path]) -> Iterator[tuple[Path, NoEvidence | Skipped | None]]:
    try:
        status = path.stat()
        first = seen.setdefault((status.st_dev, status.st_ino), path)
        if first is not path:
            if first != path:
                yield path, Skipped(f"the same as {first}, under another name")
            return
        if not stat.S_ISDIR(status.st_mode):
            yield path, None
            return
        inside = sorted(path.iterdir(), key=lambda entry: (entry.is_dir(), entry.name))
    except (OSError, RuntimeError, ValueError) as error:  # a link to itself, a name no file system takes
        yield path, NoEvidence(why_unreadable(error))
        return
    for entry in inside:
        if entry.name.startswith("."):
            yield entry, Skipped("hidden")
        else:
            yield from _below(entry, seen)


def content(path: Path) -> bytes:
    """The file's bytes.

    Raises:
        NoEvidence: it cannot be read, is no regular file, or is too large.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would wait for a writer, a device never end
            raise NoEvidence("no regular file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise NoEvidence(why_unreadable(error)) from None
    if len(data) > MAX_BYTES:
        size = max(status.st_size, len(data)) / 2**20
        raise NoEvidence(f"{size:.0f} MiB, more than {MAX_BYTES // 2**20}: save it without single requests")
    return data


def why_unreadable(error: Exception) -> str:
    """`error` in a person's words."""
    return str(getattr(error, "strerror", None) or error).lower()
