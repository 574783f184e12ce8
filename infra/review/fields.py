"""Two objects compared field by field. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


class _Absent:
    """The value of a field that is not there; `None` is one that is."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


@dataclass(frozen=True)
class FieldChange:
    """`path` names list items by their `name` where they have one: `spec.containers[engine].image`."""

    path: str
    before: Any
    after: Any


def field_changes(before: Any, after: Any, path: str = "") -> Iterator[FieldChange]:
    """Every leaf that differs, in the order of its path. What is new or gone is told leaf by leaf too."""
    if before is ABSENT and _has_parts(after, path):
        before = type(after)()
    if after is ABSENT and _has_parts(before, path):
        after = type(before)()
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            inner = f"{path}.{key}" if path else str(key)
            yield from field_changes(before.get(key, ABSENT), after.get(key, ABSENT), inner)
    elif isinstance(before, list) and isinstance(after, list) and before != after:
        yield from _list_changes(before, after, path)
    elif before != after or type(before) is not type(after):
        yield FieldChange(path, before, after)


def _has_parts(value: Any, path: str) -> bool:
    """Whether leaves of `value` can be named: empty ones have none, and items of a plain list have no names."""
    return bool(value) and (isinstance(value, dict) or (isinstance(value, list) and _keyed(value, path) is not None))


def _list_changes(before: list[Any], after: list[Any], path: str) -> Iterator[FieldChange]:
    keyed_before, keyed_after = _keyed(before, path), _keyed(after, path)
    if keyed_before is None or keyed_after is None:
        yield FieldChange(path, before, after)
        return
    for key in sorted(keyed_before.keys() | keyed_after.keys()):
        yield from field_changes(keyed_before.get(key, ABSENT), keyed_after.get(key, ABSENT), f"{path}[{key}]")
    if keyed_before == keyed_after:
        yield FieldChange(f"{path} (order)", list(keyed_before), list(keyed_after))


def _keyed(items: list[Any], path: str) -> dict[str, Any] | None:
    """The items by what tells them apart; None where nothing does."""
    if path.endswith(".args") and all(isinstance(item, str) for item in items):
        pairs = [_flag(item) for item in items]
    elif items and all(isinstance(item, dict) and "name" in item for item in items):
        pairs = [(str(item["name"]), item) for item in items]
    elif items and all(isinstance(item, dict) for item in items):
        pairs = [(str(index), item) for index, item in enumerate(items)]
    else:
        return {} if not items else None
    return dict(pairs) if len(dict(pairs)) == len(pairs) else None


def _flag(argument: str) -> tuple[str, Any]:
    """`--max-num-seqs=64` -> `("--max-num-seqs", "64")`; what is no flag stands for itself."""
    name, equals, value = argument.partition("=")
    if not argument.startswith("--"):
        return "positional", argument
    return name, value if equals else "set"
