"""The table of engines, and what is derived from a row whatever the engine."""

from __future__ import annotations

from collections.abc import Mapping

from infra.dialects.dialect import Dialect
from infra.dialects.vllm import VLLM
from stacks.spec import Engine

DIALECTS: dict[str, Dialect] = {dialect.kind: dialect for dialect in (VLLM,)}


def dialect_of(kind: str) -> Dialect:
    """The row of an engine; the spec allows no other kinds."""
    return DIALECTS[kind]


def reserved_args(kind: str) -> Mapping[str, str]:
    """Flags of the engine that `engine.args` may not set, each with what to do instead."""
    return DIALECTS[kind].reserved


def lacking(engine: Engine, flag: str) -> str | None:
    """The release that brought `flag`, where `engine` is older; engines take a flag's unique beginning for the flag."""
    since = DIALECTS[engine.kind].since
    brought = next((since[known] for known in sorted(since) if known.startswith(flag)), None)
    return brought if brought and _release(engine.version) < _release(brought) else None


def _release(version: str) -> tuple[int, ...]:
    """`0.33` is 0.33.0."""
    numbers = [int(part) for part in version.split(".")]
    return tuple(numbers + [0] * (3 - len(numbers)))
