"""One program of the control plane: arguments, environment, ports, and where its health is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PATIENCE_S = 180.0
"""For a part to be there: five is usual; a machine that builds at the same time, or is small, is slower."""


@dataclass(frozen=True)
class Component:
    """One program to run. argv lacks the program itself; `name` is that of the tool."""

    name: str
    argv: tuple[str, ...]
    ports: tuple[int, ...]
    health: str
    ready_s: float = PATIENCE_S
    environment: Mapping[str, str] = field(default_factory=dict)
