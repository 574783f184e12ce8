"""A file's bytes as the documents in it: JSON, a list of JSON objects, JSON lines, or YAML, whatever the name says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import yaml

# YAML is read at some 3 MB a second, and no tool writes more than a few hundred kB of it.
MAX_YAML_BYTES = 4 * 2**20


class NoDocument(Exception):  # noqa: N818 - it names the state
    """Why the bytes are no document, in a person's words."""


@dataclass(frozen=True, slots=True)
class Document:
    """One mapping of a file and its place in it; `data` is None where that place is `broken`."""

    place: str
    data: dict[str, Any] | None
    broken: str = ""


def documents(content: bytes) -> list[Document]:
    """The documents of one file, in its order. A list is its items, each of which is a document of its own.

    Raises:
        NoDocument: empty, no text, cut short, or neither JSON nor YAML.
    """
    start = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if not content.strip():
        raise NoDocument("empty")
    if start not in {b"{", b"["}:
        return _items(_yaml(content))
    try:
        return _items(_json(content.removeprefix(b"\xef\xbb\xbf")))
    except NoDocument:
        if _is_lines(content):
            return list(_lines(content))
        raise


def _items(data: Any) -> list[Document]:
    if isinstance(data, dict):
        return [Document("", data)]
    if isinstance(data, list):
        return [Document(f"[{index}]", item) for index, item in enumerate(data) if isinstance(item, dict)]
    return []


def _lines(content: bytes) -> Iterator[Document]:
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            data = _json(line)
        except NoDocument as reason:
            yield Document(f"line {number}", None, str(reason))
        else:
            yield Document(f"line {number}", data if isinstance(data, dict) else {})


def _is_lines(content: bytes) -> bool:
    """Whether one of the first two lines is an object for itself, so that a broken one does not spoil the others."""
    first, _, rest = content.strip().partition(b"\n")
    return bool(rest) and any(_is_object(line) for line in (first, rest.partition(b"\n")[0]))


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(_json(line), dict)
    except NoDocument:
        return False


def _json(content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        pass
    # Python's tools write bare NaN and Infinity, which are no JSON.
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        if _is_cut(content, error.pos):
            raise NoDocument(f"cut short: it ends in the middle ({where})") from None
        raise NoDocument(f"no valid JSON: {error.msg} ({where})") from None
    except UnicodeDecodeError:
        raise NoDocument("bytes that are not UTF-8") from None
    except RecursionError:
        raise NoDocument("brackets in brackets without end") from None
    except ValueError:  # a number of more digits than Python reads
        raise NoDocument("a number too long to read") from None


def _is_cut(content: bytes, position: int) -> bool:
    """Whether an end is missing: of the first bracket, or of what stood at `position`."""
    text = content.decode(errors="replace").strip()
    return not text.endswith("}" if text.startswith("{") else "]") or position >= len(text)


def _yaml(content: bytes) -> Any:
    if len(content) > MAX_YAML_BYTES:
        raise NoDocument(f"no JSON, and more than {MAX_YAML_BYTES // 2**20} MiB")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise NoDocument("bytes that are not UTF-8") from None
    try:
        parts = list(yaml.load_all(text, Loader=_LOADER))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        raise NoDocument(f"neither JSON nor YAML: {getattr(error, 'problem', None) or 'no text'}{where}") from None
    except _STUMBLES:
        raise NoDocument("neither JSON nor YAML") from None
    return parts[0] if len(parts) == 1 else parts  # manifests are several in one file


# Endless brackets; dates that no calendar has; and explicit tags on what they do not fit, over which PyYAML falls.
_STUMBLES = (RecursionError, ValueError, TypeError, AttributeError, LookupError)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
