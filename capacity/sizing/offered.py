"""From people, or from a measured peak, to what the GPUs are offered: requests in flight and tokens per second.

average rps = users x runs per hour x LLM calls per run x (1 + retries) / 3600
peak rps    = average rps x peak-to-average
projected   = peak x (1 + growth)
served      = projected x (1 - answered by an exact-match cache)
in flight   = served rps x duration                              (Little's law)
prefill     = served rps x input tokens x (1 - cached prefixes)
output      = served rps x output tokens
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from capacity.replicas import Exact, in_flight
from stacks.workload_class import WorkloadClass

Dimension = Literal["in_flight", "rps", "prefill_tokens_per_s", "output_tokens_per_s"]
DIMENSIONS: tuple[Dimension, ...] = ("in_flight", "rps", "prefill_tokens_per_s", "output_tokens_per_s")


@dataclass(frozen=True)
class Offered:
    """One class at its projected peak, as the GPUs meet it. `load` lacks what the request does not tell.

    asked: in the unit of the class's own way (requests per second; in flight; streams), at today's peak.
    projected: the same at the horizon; served: without what a cache answers.
    """

    unit: Literal["rps", "in_flight", "streams"]
    asked: Fraction
    projected: Fraction
    served: Fraction
    load: Mapping[Dimension, Fraction]


def offered(load: WorkloadClass) -> Offered:
    """Reckon one class that is complete (`assumptions.complete`): every field its way needs is there."""
    unit, asked = _peak(load)
    projected = asked * (1 + _share(load.growth_pct))
    served = projected * (1 - _share(load.exact_cache_hit_pct))
    return Offered(unit, asked, projected, served, _load(load, unit, served))


def _peak(load: WorkloadClass) -> tuple[Literal["rps", "in_flight", "streams"], Fraction]:
    if load.rps is not None:
        return "rps", Fraction(load.rps)
    if load.in_flight is not None:
        return "in_flight", Fraction(load.in_flight)
    if load.streams is not None:
        return "streams", Fraction(load.streams)
    calls = _runs_per_hour(load) * _number(load.llm_calls_per_run) * (1 + _share(load.retries_pct))
    return "rps", calls / 3600 * _number(load.peak_to_average)


def _runs_per_hour(load: WorkloadClass) -> Fraction:
    if load.jobs_per_hour is not None:
        return Fraction(load.jobs_per_hour)
    if load.active_users is not None:
        return Fraction(load.active_users) * _number(load.runs_per_user_hour)
    return _number(load.registered_users) * _share(load.active_pct) * _number(load.runs_per_user_hour)


def _load(load: WorkloadClass, unit: str, served: Fraction) -> dict[Dimension, Fraction]:
    duration_s = load.request_duration_s
    found: dict[Dimension, Fraction] = {}
    rps: Fraction | None = served if unit == "rps" else None
    if unit != "rps":
        found["in_flight"] = served
        rps = served / Fraction(duration_s) if duration_s is not None else None
    elif duration_s is not None:
        found["in_flight"] = in_flight(served, duration_s)
    if load.streams is not None:
        found["output_tokens_per_s"] = served * _number(load.tokens_per_s_per_stream)
    if rps is None:
        return found
    found["rps"] = rps
    if load.output_tokens.mean is not None:
        found.setdefault("output_tokens_per_s", rps * Fraction(load.output_tokens.mean))
    # Input of which nobody says what a cache has is no number of tokens to compute.
    if load.input_tokens.mean is not None and load.prefix_cache_hit_pct is not None:
        computed = 1 - _share(load.prefix_cache_hit_pct)
        found["prefill_tokens_per_s"] = rps * Fraction(load.input_tokens.mean) * computed
    return found


def _number(said: Exact | None) -> Fraction:
    if said is None:
        raise ValueError("the class is not complete: capacity.sizing.assumptions.complete comes first")
    return Fraction(said)


def _share(pct: Exact | None) -> Fraction:
    return _number(pct) / 100
