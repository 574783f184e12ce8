"""A document without its faulty parts, so that the rules between the parts can be checked in the same go."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Loc = tuple[str | int, ...]


@dataclass(frozen=True)
class Pruned:
    """`data` without the faulty parts; `is_whole` if only unknown fields are gone.

    `rows` are the former places of what is left of a list (`events`, `calendars`) that something was left out of.
    """

    data: Any
    is_whole: bool
    rows: Mapping[str, tuple[int, ...]]


def pruned(data: dict[Any, Any], faulty: Iterable[Loc], unknown: Iterable[Loc]) -> Pruned:
    """Drop every `unknown` field, and around each `faulty` place the whole service, node pool, workload, event or
    calendar file.
    """
    data = copy.deepcopy(data)
    for loc in unknown:
        _drop(data, loc)
    # A fault of the file as a whole has no part to leave out; what is left is then refused for it again.
    parts = {loc[:2] for loc in faulty if len(loc) > 1}
    rows: dict[str, tuple[int, ...]] = {}
    for kind in ("events", "calendars"):
        gone = {part[1] for part in parts if part[0] == kind}
        listed = data.get(kind)
        if gone and isinstance(listed, list):
            rows[kind] = tuple(row for row in range(len(listed)) if row not in gone)
            data[kind] = [listed[row] for row in rows[kind]]
    lost_pools = {part[1] for part in parts if part[0] == "node_pools"}
    for kind in ("node_pools", "services", "workloads"):
        for part in parts:
            if part[0] == kind:
                _drop(data, part)
    services = data.get("services")
    for name, service in list(services.items() if isinstance(services, dict) else ()):
        # Its pool is written down, only not readable: that is one fault, not two.
        if isinstance(service, dict) and service.get("node_pool") in lost_pools:
            _drop(data, ("services", name))
    return Pruned(data, is_whole=not parts, rows=rows)


def _drop(data: Any, loc: Loc) -> None:
    for part in loc[:-1]:
        data = data[part]
    if isinstance(data, dict):
        data.pop(loc[-1], None)
