"""What Warmline has to know of an engine. A new engine is one file that fills this in, and a row in `DIALECTS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stacks.engine_metrics import EngineMetrics
from stacks.spec import Service

SCRATCH_DIR = "/tmp"  # noqa: S108 - the container's own, an emptyDir
"""The one folder besides the caches that an engine may write to."""


@dataclass(frozen=True)
class Launch:
    """Facts of one replica that an engine's command line is made from."""

    service: Service
    weights_dir: str
    port: int
    drain_s: int


@dataclass(frozen=True)
class Dialect:
    """One engine.

    `reserved` are flags, without dashes, that `engine.args` may not set, because `arguments` sets them or relies on
    their absence; each with what to do instead. `since` is the release that brought a flag, for those that not
    every engine in use has. `shown_flags` are those whose value may be shown in a pull request. `cache_env` are
    variables that name folders below the compile cache, as `variable -> subfolder`. `in_flight_limit` is the flag that
    bounds the requests in flight at one replica, running and waiting; the engine refuses what comes beyond.
    `queued_tokens_limit` bounds the prompt tokens that are not computed yet; None where the engine has no such flag.
    """

    kind: str
    command: tuple[str, ...]
    arguments: Callable[[Launch], list[str]]
    reserved: Mapping[str, str]
    since: Mapping[str, str]
    shown_flags: frozenset[str]
    port: int
    health_path: str
    readiness_path: str
    metrics_path: str
    metrics: EngineMetrics
    in_flight_limit: str
    queued_tokens_limit: str | None
    user_id: int
    group_id: int
    env: tuple[tuple[str, str], ...]
    cache_env: tuple[tuple[str, str], ...]
