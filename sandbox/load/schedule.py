"""When requests leave: a Poisson process whose rate changes in steps. Pure, and the same for the same seed."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

MAX_REQUESTS = 200_000
"""More than this is a typing error in a schedule for one machine."""


@dataclass(frozen=True, slots=True)
class Phase:
    """`seconds` at a mean of `rps` requests per second."""

    seconds: float
    rps: float


def phases_from(schedule: Sequence[tuple[float, float]]) -> tuple[Phase, ...]:
    """Phases of `[(seconds, rps), ...]`.

    Raises:
        ValueError: a length that is not positive, a negative rate, or more than MAX_REQUESTS expected.
    """
    phases = tuple(Phase(float(seconds), float(rps)) for seconds, rps in schedule)
    for index, phase in enumerate(phases):
        if phase.seconds <= 0 or phase.rps < 0:
            raise ValueError(f"phase {index}: got {phase}, expected seconds above 0 and rps of at least 0")
    expected = sum(phase.seconds * phase.rps for phase in phases)
    if not phases or expected > MAX_REQUESTS:
        raise ValueError(
            f"got {expected:.0f} expected requests, allowed are 1 phase or more and {MAX_REQUESTS} requests"
        )
    return phases


def arrivals_s(phases: Sequence[Phase], seed: int) -> list[float]:
    """Seconds from the start at which each request is due, ascending.

    Unit exponential gaps are spent against the rate of the phase they fall into, so the borders are exact.
    """
    rng = random.Random(seed)  # noqa: S311 -- arrivals, no secret
    times: list[float] = []
    begin_s, owed = 0.0, rng.expovariate(1.0)
    for phase in phases:
        end_s, now_s = begin_s + phase.seconds, begin_s
        while phase.rps > 0 and now_s + owed / phase.rps < end_s:
            now_s += owed / phase.rps
            times.append(now_s)
            owed = rng.expovariate(1.0)
        owed -= (end_s - now_s) * phase.rps
        begin_s = end_s
    return times


def aiperf_trace(arrivals: Sequence[float], prompt_tokens: int, output_tokens: int) -> str:
    """The same arrivals as AIPerf's fixed-schedule trace (`--custom-dataset-type mooncake-trace`), times in ms."""
    lines = (
        json.dumps(
            {
                "timestamp": round(due_s * 1000),
                "text_input": f"{index:06d} " + "abc " * (prompt_tokens - 1),
                "output_length": output_tokens,
            }
        )
        for index, due_s in enumerate(arrivals)
    )
    return "".join(f"{line}\n" for line in lines)


def rate_at(phases: Sequence[Phase], elapsed_s: float) -> float:
    """Requests per second that the schedule asks for at a moment; 0 after its end."""
    for phase in phases:
        if elapsed_s < phase.seconds:
            return phase.rps
        elapsed_s -= phase.seconds
    return 0.0


def length_s(phases: Sequence[Phase]) -> float:
    """Seconds from the first phase's begin to the last one's end."""
    return sum(phase.seconds for phase in phases)
