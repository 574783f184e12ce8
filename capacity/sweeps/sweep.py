"""What load generators measured, in one shape whatever tool wrote it: points of load and latency, and a sweep of them.

Times are seconds, rates per second. What a file does not say is None, never 0. Measured numbers are binary floats, as
their files have them; whatever is rounded up later becomes a rational first (`exact`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Literal

Arrivals = Literal["open", "closed", "burst", "replay"]
"""Sent at a rate, whatever the server does; each after another's end; all at once; at the times of a trace."""

LatencyName = Literal["ttft", "tpot", "itl", "e2e", "client_queue"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a point was read: the file, and the place in it (`benchmarks[2]`, `line 3`; empty for all of it)."""

    file: str
    place: str = ""

    def __str__(self) -> str:
        return f"{self.file}: {self.place}" if self.place else self.file


@dataclass(frozen=True, slots=True)
class Latency:
    """One latency over a point's completed requests. `percentiles_s` maps 50.0, 99.0, 99.9 to seconds, ascending."""

    mean_s: float | None = None
    percentiles_s: Mapping[float, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PerRequest:
    """The same latencies request by request, where a file has them: columns of equal length, None where it has not."""

    ttft_s: tuple[float, ...] | None = None
    tpot_s: tuple[float, ...] | None = None
    e2e_s: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class StatedGoodput:
    """Requests per second that kept the limits the tool was given, as the tool counted them.

    `limits_s` is empty where the file does not say the limits, or one of them is on something no point has.
    """

    rps: float
    limits_s: Mapping[LatencyName, float]


@dataclass(frozen=True, slots=True)
class Point:
    """One load, one measurement.

    requested_rps: what the generator was told; None for closed loops. achieved_rps: what it sent. throughput_rps: what
    completed. concurrency_limit: the most the client let be in flight; concurrency: what was, on average, as the tool
    measured it. burstiness: 1 for arrivals at random, below for bunches, above for evener ones. is_rate_fitted: the
    generator stretched its arrivals, at random as they are, until their rate was the one asked for. incomplete: cut off
    by the end of the run, or of which nothing is said. client_queue: waiting inside the client, which the tool's other
    latencies leave out. gpus: GPUs of the serving side. configuration: what the file itself says of the serving side,
    by the names of `evidence.record`. keys: field -> the key it was read from (`ttft.p99` -> `p99_ttft_ms`).
    """

    origin: Origin
    tool: str
    arrivals: Arrivals | None = None
    tool_version: str | None = None
    requested_rps: float | None = None
    achieved_rps: float | None = None
    throughput_rps: float | None = None
    concurrency_limit: float | None = None
    concurrency: float | None = None
    burstiness: float | None = None
    is_evenly_spaced: bool | None = None
    is_rate_fitted: bool | None = None
    duration_s: float | None = None
    completed: int | None = None
    failed: int | None = None
    incomplete: int | None = None
    ttft: Latency | None = None
    tpot: Latency | None = None
    itl: Latency | None = None
    e2e: Latency | None = None
    client_queue: Latency | None = None
    input_tokens_per_s: float | None = None
    output_tokens_per_s: float | None = None
    input_tokens_mean: float | None = None
    output_tokens_mean: float | None = None
    gpus: int | None = None
    per_request: PerRequest | None = None
    goodput: StatedGoodput | None = None
    configuration: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)

    def latency(self, name: LatencyName) -> Latency | None:
        """The latency called `name`."""
        found: Latency | None = getattr(self, name)
        return found


@dataclass(frozen=True, slots=True)
class Sweep:
    """The points of one serving configuration, as one folder or file holds them; in order of load, least first."""

    name: str
    points: tuple[Point, ...]


def exact(number: float) -> Fraction:
    """`number` as its shortest decimal, so that 2.1 is 21/10."""
    return Fraction(Decimal(repr(number)))
