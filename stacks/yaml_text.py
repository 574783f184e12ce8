"""YAML as its writer meant it: no duplicate keys, no surprise types, no binary floats, lines remembered.

Only YAML 1.2's core scalars are read as something other than text, so `12:30`, `2027-10-29` and `no` stay text,
and a number with a point becomes a `Decimal`: a ceil further down must not see 2.1/0.7 as 3.0000000000000004.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import yaml

from stacks.faults import Fault, InputError
from stacks.files import digest_of

Path = tuple[str | int, ...]

# A longer number is nobody's meaning, and `1e999999999` as an exact one fills the memory: it stays text and is refused.
MAX_DIGITS = 20
# Aliases of aliases grow a small file without bound.
MAX_VALUES = 100_000
# A stack's files are some ten levels deep; aliases nest deeper than the parser, and then than Python's own stack.
MAX_DEPTH = 50

# Where PyYAML was built without libyaml there is only its own. Types are read below, so none need be found out here.
_FAST = getattr(yaml, "CBaseLoader", yaml.SafeLoader)

_INT = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
_NULL = re.compile(r"(?:~|null|Null|NULL|)\Z")


@dataclass(frozen=True)
class Document:
    """Plain data (`dict`, `list`, `str`, `int`, `Decimal`, `bool`, `None`) and the line each path stands on.

    `digest` is of the text.
    """

    data: Any
    lines: dict[Path, int]
    digest: str = ""

    def line(self, path: Path) -> int:
        """The line of `path`, or of the nearest parent that has one; 0 if none has."""
        while path not in self.lines:
            if not path:
                return 0
            path = path[:-1]
        return self.lines[path]


def dotted(path: Path) -> str:
    """`("events", 0, "start")` -> `events[0].start`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def parse(text: str, file: str) -> Document:
    """Read one YAML document.

    Raises:
        InputError: not YAML, or several documents; an anchor that refers to itself; every duplicate key.
    """
    try:
        node = _composed(text)
    except yaml.YAMLError as error:
        raise InputError([_syntax_fault(error, text, file)]) from None
    except RecursionError:
        fault = Fault(file, 0, "", "brackets in brackets without end", "one valid YAML document", "Mend the syntax.")
        raise InputError([fault]) from None
    lines: dict[Path, int] = {}
    faults: list[Fault] = []
    data = None if node is None else _plain(node, (), _Walk(file, lines, faults, set()))
    if faults:
        raise InputError(faults)
    return Document(data, lines, digest_of(text))


def _composed(text: str) -> yaml.Node | None:
    # libyaml is ten times as fast, and PyYAML's own parser says better what is wrong, and where.
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=_FAST)
    except yaml.YAMLError:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    return node


def _syntax_fault(error: yaml.YAMLError, text: str, file: str) -> Fault:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    line = mark.line + 1 if mark else 0
    # Only where something was still to come: a slip in the middle is no sign of it.
    is_at_end = mark is not None and mark.index >= len(text.rstrip())
    fix = "Mend the syntax; the file may be cut short." if is_at_end else "Mend the syntax."
    return Fault(file, line, "", problem, "one valid YAML document", fix)


@dataclass(frozen=True)
class _Walk:
    file: str
    lines: dict[Path, int]
    faults: list[Fault]
    above: set[int]

    def fault(self, node: yaml.Node, path: Path, got: str, expected: str, fix: str) -> None:
        self.faults.append(Fault(self.file, node.start_mark.line + 1, dotted(path), got, expected, fix))


def _plain(node: yaml.Node, path: Path, walk: _Walk) -> Any:
    walk.lines.setdefault(path, node.start_mark.line + 1)
    if len(walk.lines) > MAX_VALUES:
        walk.fault(node, (), f"more than {MAX_VALUES} values", "a file a person can read", "Do without the aliases.")
        raise InputError(walk.faults)
    if len(path) > MAX_DEPTH:
        walk.fault(node, (), f"more than {MAX_DEPTH} levels", "a file a person can read", "Write it flatter.")
        raise InputError(walk.faults)
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if id(node) in walk.above:
        walk.fault(node, path, "an anchor inside itself", "a tree", "Write the value out.")
        return None
    inner = _Walk(walk.file, walk.lines, walk.faults, walk.above | {id(node)})
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, (*path, index), inner) for index, item in enumerate(node.value)]
    return _mapping(node, path, inner)


def _mapping(node: yaml.Node, path: Path, walk: _Walk) -> dict[Hashable, Any]:
    result: dict[Hashable, Any] = {}
    first: dict[str, int] = {}
    for key_node, value_node in node.value:
        # Keys are names here, so `8: x` and `on: y` are the names "8" and "on", whatever YAML thinks of them.
        key = key_node.value if isinstance(key_node, yaml.ScalarNode) else "?"
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            walk.fault(key_node, path, "a key that is itself a structure", "a name as key", "Use a plain name.")
        elif key in first:
            fix = "Keep one of the two."
            walk.fault(key_node, (*path, key), f"the key a second time (first on line {first[key]})", "it once", fix)
        first.setdefault(key, line)
        walk.lines[(*path, key)] = line
        result[key] = _plain(value_node, (*path, key), walk)
    return result


def _scalar(node: yaml.ScalarNode) -> Any:
    text: str = node.value
    return text if node.style else plain(text)  # quoted or block: text, as written


def plain(text: str) -> str | int | Decimal | bool | None:
    """What `text` is where it stands without quotes."""
    if _NULL.match(text):
        return None
    if _BOOL.match(text):
        return text.lower() == "true"
    if _INT.match(text) and len(text) <= MAX_DIGITS:
        return int(text)
    if _FLOAT.match(text) and len(text) <= MAX_DIGITS and abs(Decimal(text).adjusted()) < MAX_DIGITS:
        return Decimal(text)
    return text
