"""The table of engines, and what is derived from a row whatever the engine."""

from __future__ import annotations

from collections.abc import Mapping

from infra.dialects.dialect import Dialect
from infra.dialects.vllm import VLLM

DIALECTS: dict[str, Dialect] = {dialect.kind: dialect for dialect in (VLLM,)}


def dialect_of(kind: str) -> Dialect:
    """The row of an engine; the spec allows no other kinds."""
    return DIALECTS[kind]


def reserved_args(kind: str) -> Mapping[str, str]:
    """Flags of the engine that `engine.args` may not set, each with what to do instead."""
    return DIALECTS[kind].reserved
