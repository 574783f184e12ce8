"""What no manifest says: how long things take on this imaginary hardware."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from sandbox.engine.timing import timing_from_json


@dataclass(frozen=True, slots=True)
class ServiceTimes:
    """Seconds of one cold start, part by part.

    Args:
        image_pull_s: pull of an engine image onto a node that lacks it.
        weights_s: the init container `weights`, unless the node's disk has that revision.
        engine_start_s: engine process start until it listens.
        engine: more fields of the engine double's timing, by name.
    """

    image_pull_s: float = 6.0
    weights_s: float = 5.0
    engine_start_s: float = 10.0
    engine: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KubeletSettings:
    """Settings of the whole double.

    Args:
        times: of every service that has none of its own.
        services: by the pod label `app.kubernetes.io/name`; only what differs needs to be said.
        small_image_pull_s: pull of an image that is no engine's.
        jitter_pct: every time above is drawn from plus or minus this much, always the same for the same seed and pod.
        seed: of the jitter.
        engine_images: repository endings that make a container an engine.
        restart_backoff_s: the first restart of a container is at once, the second after this; it doubles up to 300.
    """

    times: ServiceTimes = field(default_factory=ServiceTimes)
    services: Mapping[str, ServiceTimes] = field(default_factory=dict)
    small_image_pull_s: float = 0.3
    jitter_pct: float = 0.0
    seed: int = 1
    engine_images: tuple[str, ...] = ("vllm/vllm-openai",)
    restart_backoff_s: float = 10.0

    def times_of(self, service: str | None) -> ServiceTimes:
        """Times of the service a pod belongs to."""
        return self.services.get(service or "", self.times)

    def jittered(self, seconds: float, *what: str) -> float:
        """`seconds` with the jitter of `what`."""
        if not self.jitter_pct:
            return seconds
        draw = random.Random("/".join((str(self.seed), *what))).uniform(-1.0, 1.0)  # noqa: S311 -- no secret
        return seconds * (1.0 + draw * self.jitter_pct / 100.0)


def settings_from(path: Path | None) -> KubeletSettings:
    """Settings of a JSON file with the fields above; unknown names and negative numbers are refused.

    Raises:
        ValueError: names the file and the field.
    """
    if path is None:
        return KubeletSettings()
    try:
        given = json.loads(path.read_text())
        times = _times(ServiceTimes(), given.pop("times", {}))
        services = {name: _times(times, item) for name, item in given.pop("services", {}).items()}
        given["engine_images"] = tuple(given.get("engine_images", KubeletSettings().engine_images))
        _check_numbers(KubeletSettings, given)
        return KubeletSettings(times=times, services=services, **given)
    except (AttributeError, OSError, TypeError, ValueError) as failure:
        raise ValueError(f"{path}: {failure}") from failure


def _times(base: ServiceTimes, given: dict[str, Any]) -> ServiceTimes:
    _check_numbers(ServiceTimes, given)
    timing_from_json(json.dumps(given.get("engine", {})))
    return replace(base, **given)


def _check_numbers(kind: type, given: dict[str, Any]) -> None:
    known = {item.name for item in fields(kind)}
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"unknown field {name!r}, known are {', '.join(sorted(known))}")
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if name not in ("engine", "engine_images") and (not is_number or value < 0):
            raise ValueError(f"{name}: got {value!r}, expected a number of at least 0")
