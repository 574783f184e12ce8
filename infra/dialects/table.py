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


def in_flight_query(dialect: Dialect, namespace: str, model: str) -> str:
    """PromQL of the requests in flight at all replicas of one service: running and waiting.

    The article's query, with the namespace too: the same model may be served in two namespaces, and each must count
    its own. Both terms are `sum` without `by`, so each is one element or, without any series, none: KEDA refuses
    several elements, and `ignoreNullValues: "false"` makes an error of none.
    """
    labels = f'{{namespace="{namespace}",{dialect.metrics.model_label}="{model}"}}'
    return f"sum({dialect.metrics.running}{labels}) + sum({dialect.metrics.waiting}{labels})"
