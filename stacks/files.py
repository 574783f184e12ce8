"""Files a person wrote, read whole: regular ones, of a person's size, in UTF-8."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

# A thousand events are a tenth of it; YAML of more takes minutes.
MAX_BYTES = 2**20


class Unreadable(Exception):  # noqa: N818 - it names the state
    """What the file is instead of a readable one."""


def digest_of(text: str) -> str:
    """What tells a file's text, as `text_of` gives it, from any other."""
    return hashlib.sha256(text.encode()).hexdigest()


def text_of(path: Path, most: int = MAX_BYTES) -> str:
    """The file's text, with the line ends of Unix.

    Raises:
        Unreadable: it is missing, a folder, a pipe, a device, too large or not UTF-8.
    """
    try:
        # A pipe would wait for a writer, a device never end.
        kind = path.stat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise Unreadable("no regular file")
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise Unreadable(str(error.strerror).lower()) from None
    if len(data) > most:
        raise Unreadable(f"more than {most // 2**20} MiB")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise Unreadable("bytes that are not UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
