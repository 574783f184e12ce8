"""Values of a YAML file changed in place: every other character stays, comments too.

Only values the parser marked are touched, and the result is read again: it must differ in what was asked, and in
nothing else.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import yaml

from stacks.yaml_text import dotted, parse

PLAIN = re.compile(r"[A-Za-z][-A-Za-z0-9_]*\Z")


@dataclass(frozen=True)
class Edit:
    """Set the scalar at `path`, a path of keys. `note` becomes a comment at the end of its line, if there is room."""

    path: tuple[str, ...]
    value: int | Decimal | str
    note: str = ""


class NotEditable(Exception):  # noqa: N818 - it names the state
    """Why a place cannot be changed by a program."""


def changed(text: str, edits: Sequence[Edit]) -> str:
    """`text` with every edit made; mappings that are missing on the way are added.

    Raises:
        NotEditable: a place is no plain value, or is shared by an alias.
    """
    expected = copy.deepcopy(parse(text, "").data)
    for edit in edits:
        text = _one(text, edit)
        _put(expected, edit.path, edit.value)
    if parse(text, "").data != expected:
        raise NotEditable("the file would not read as meant afterwards")
    return text


def _put(data: Any, path: tuple[str, ...], value: int | Decimal | str) -> None:
    for key in path[:-1]:
        if data.get(key) is None:
            data[key] = {}
        data = data[key]
    data[path[-1]] = value


def _one(text: str, edit: Edit) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader) or yaml.ScalarNode("", "")
    met = Counter(id(node) for node in _nodes(root))
    node: yaml.Node = root
    for depth, key in enumerate(edit.path):
        if not isinstance(node, yaml.MappingNode):
            raise NotEditable(f"{dotted(edit.path[:depth])} is no mapping")
        inner = next((value for name, value in node.value if name.value == key), None)
        if inner is None:
            return _added(text, node, edit, depth)
        if met[id(inner)] > 1:
            raise NotEditable(f"{dotted(edit.path[: depth + 1])} is shared by an alias")
        node = inner
        if depth + 1 < len(edit.path) and _is_empty(node):
            return _replaced(text, node, _nested(edit, depth + 1), edit.note)
    if not isinstance(node, yaml.ScalarNode) or node.style in ("|", ">"):
        raise NotEditable(f"{dotted(edit.path)} is no plain value")
    return _replaced(text, node, _scalar(edit.value), edit.note)


def _nodes(node: yaml.Node) -> Iterator[yaml.Node]:
    """Every node as often as the tree shows it; the parser has refused trees without end."""
    yield node
    if isinstance(node, yaml.MappingNode):
        for _, value in node.value:
            yield from _nodes(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _nodes(value)


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.style is None and node.value == ""


def _replaced(text: str, node: yaml.Node, value: str, note: str) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    space = " " if start == end and text[start - 1 : start] not in ("", " ") else ""
    return f"{text[:start]}{space}{value}{_noted(text[end:], note)}"


def _added(text: str, mapping: yaml.MappingNode, edit: Edit, depth: int) -> str:
    """`text` with a key that was missing, after the mapping's last one and as that one is written."""
    entry = f"{_key(edit.path[depth])}: {_nested(edit, depth + 1)}"
    if mapping.flow_style:
        at = mapping.value[-1][1].end_mark.index if mapping.value else mapping.start_mark.index + 1
        return f"{text[:at]}{', ' if mapping.value else ''}{entry}{_noted(text[at:], '')}"
    end = text.find("\n", _end(mapping))
    end = len(text) if end < 0 else end
    indent = " " * mapping.value[0][0].start_mark.column
    newline = "\r\n" if text[end - 1 : end] == "\r" else "\n"
    end -= newline == "\r\n"
    return f"{text[:end]}{newline}{indent}{entry}{f'  # {edit.note}' if edit.note else ''}{text[end:]}"


def _end(node: yaml.Node) -> int:
    """Where the last value really ends: a block's own mark stands behind the comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(node, yaml.MappingNode) else last)
    return node.end_mark.index


def _noted(rest: str, note: str) -> str:
    """What follows a value, with `note` where its line says nothing more."""
    line = rest.split("\n", 1)[0]
    return f"  # {note}{rest}" if note and not line.strip() else rest


def _nested(edit: Edit, depth: int) -> str:
    """`{a: {b: 1}}` for what is left of the path."""
    inner = edit.path[depth:]
    return "".join(f"{{{_key(key)}: " for key in inner) + _scalar(edit.value) + "}" * len(inner)


def _key(key: str) -> str:
    return key if PLAIN.match(key) else f'"{key}"'


def _scalar(value: int | Decimal | str) -> str:
    """Numbers as they are; text in quotes, so that it stays text."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value) if isinstance(value, int) else f'"{value}"'
