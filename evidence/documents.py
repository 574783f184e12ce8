"""A file's bytes as the documents in it: JSON, a list of JSON objects, JSON lines, or YAML, whatever the name says."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import yaml

# YAML is read at some 3 MB a second, and no tool writes more than a few hundred kB of it.
MAX_YAML_BYTES = 4 * 2**20


class NoDocument(Exception):  # noqa: N818 - it names the state
    """Why the bytes are no document, in a person's words."""


class SaidTwice(NoDocument):
    """A key stands twice in one object: parsers take the last, and which of the two was measured nobody knows."""


@dataclass(frozen=True, slots=True)
class Document:
    """One mapping of a file and its place in it; `data` is None where that place is `broken`."""

    place: str
    data: dict[str, Any] | None
    broken: str = ""


def documents(content: bytes) -> list[Document]:
    """The documents of one file, in its order. A list is its items, each of which is a document of its own.

    Raises:
        NoDocument: empty, no text, cut short, neither JSON nor YAML, or JSON with a key twice in one object.
    """
    start = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if not content.strip():
        raise NoDocument("empty")
    if start not in {b"{", b"["}:
        return _items(_yaml(content))
    try:
        return _items(_json(content.removeprefix(b"\xef\xbb\xbf")))
    except SaidTwice:
        raise
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
    except SaidTwice:
        return True
    except NoDocument:
        return False


def _json(content: bytes) -> Any:
    try:
        data = orjson.loads(content)
    except orjson.JSONDecodeError:
        return _slowly(content)  # Python's tools write bare NaN and Infinity, which are no JSON
    if _may_say_twice(content, data):
        _slowly(content)
    return data


def _may_say_twice(content: bytes, data: Any) -> bool:
    """Whether a key may stand twice in an object of `content`, of which `data` has the last of each.

    What is dropped takes its colon along: as many colons in as out are each key once. On 253 MB of results this takes
    0.9 s of CPU, Python's parser that tells of every pair 5.2 s; it decides the rest.
    """
    escaped = b"\\u003a" in content or b"\\u003A" in content  # colons of a text that are written as something else
    try:
        return escaped or orjson.dumps(data).count(b":") != content.count(b":")
    except TypeError:  # more brackets in brackets than it writes
        return True


def _slowly(content: bytes) -> Any:
    """By Python's own parser, which knows bare NaN, where something is wrong, and every key.

    Raises:
        NoDocument: no JSON, or a key twice in one object.
    """
    twice: list[str] = []

    def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            twice.append(next(name for name in counts if counts[name] > 1))
        return found

    data = _parsed(content, each_once)
    if twice:
        raise SaidTwice(f"{textwrap.shorten(repr(twice[0]), 80)} stands twice in one object: which one holds?")
    return data


def _parsed(content: bytes, pairs: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> Any:
    try:
        return json.loads(content, object_pairs_hook=pairs)
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
