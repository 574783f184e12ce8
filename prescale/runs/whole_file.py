"""A file that is whole or not there, whoever reads it or dies meanwhile."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write(path: Path, text: str, mode: int = 0o644) -> None:
    """Put `text` in the file's place in one step, on the disk before it has the name.

    Raises:
        OSError: it cannot be written; the file is as it was.
    """
    folder = path.parent
    # No name that node_exporter would read: it takes every *.prom of the folder.
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), mode)  # who reads it may be somebody else
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
