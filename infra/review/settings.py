"""What a stack's files say, compared setting by setting: also what reaches neither an object nor a floor. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from infra.review.fields import ABSENT, FieldChange, field_changes

NEW, GONE = "new", "there"
"""In place of the settings of what is only on one side: its objects or its floors are told by themselves."""

_Things = dict[str, dict[str, Any]]


def setting_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """Every setting of one file that differs, as written there; a service, pool or event that came or went is one.

    A default that is written out is a change. One that the code has changed is none: it shows by what it does.
    """
    was, becomes = dict(before), dict(after)
    changes: list[FieldChange] = []
    for name in ("node_pools", "services", "events"):
        old, new = _things(before.get(name)), _things(after.get(name))
        if old is None or new is None:
            continue
        changes += _came_and_went(name, old, new, is_list=isinstance(after[name], list))
        kept = old.keys() & new.keys()
        was[name] = _only(before[name], kept)
        becomes[name] = _only(after[name], kept)
    return (*changes, *field_changes(was, becomes))


def _things(said: Any) -> _Things | None:
    """By name; None where they have none, or one twice."""
    if isinstance(said, dict):
        return said
    if not isinstance(said, list) or not all(isinstance(item, dict) and "name" in item for item in said):
        return None
    named = {str(item["name"]): item for item in said}
    return named if len(named) == len(said) else None


def _only(said: Any, names: Any) -> Any:
    if isinstance(said, dict):
        return {name: item for name, item in said.items() if name in names}
    return [item for item in said if str(item["name"]) in names]


def _came_and_went(path: str, old: _Things, new: _Things, *, is_list: bool) -> Iterator[FieldChange]:
    for name in sorted(old.keys() ^ new.keys()):
        place = f"{path}[{name}]" if is_list else f"{path}.{name}"
        yield FieldChange(place, ABSENT, NEW) if name in new else FieldChange(place, GONE, ABSENT)
