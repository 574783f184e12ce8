"""The metrics as a file for node_exporter's textfile collector: whole or not there, whoever reads or dies meanwhile."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from prescale.runs.exposition import Before, read
from stacks.files import Unreadable, text_of


def before(path: Path) -> Before:
    """What the file says now; nothing where there is none, or none that can be read."""
    try:
        return read(text_of(path))
    except Unreadable:
        return Before()


def write(path: Path, text: str) -> None:
    """Put `text` in the file's place in one step, on the disk before it has the name.

    Raises:
        OSError: it cannot be written; the file is as it was.
    """
    folder = path.parent
    # No name that the collector would read: it takes every *.prom of the folder.
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), 0o644)  # the collector runs as somebody else
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    entries = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(entries)
    finally:
        os.close(entries)
