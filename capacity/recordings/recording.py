"""What Prometheus recorded of one service over a window, and the load that arrived, reckoned from it.

An engine counts what ends, not what arrives: past its limit what ends stays level while more and more waits. So

    arrived = ended, however + refused + growth of what is in flight

which is the load offered to the engines. What a gateway answered, held back or turned away never came to them, and a
request that an engine took with it when it died is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from capacity.recordings.histogram import Histogram

Timed = Literal["ttft", "itl", "tpot", "e2e", "queue"]
TIMED: tuple[Timed, ...] = get_args(Timed)
Counted = Literal["input_tokens", "output_tokens"]
COUNTED: tuple[Counted, ...] = get_args(Counted)

Series = Mapping[int, Fraction]
"""Unix seconds -> value; moments without any series are not in it."""

BUSY_S = 300
"""A peak is the busiest five minutes: long enough to be a load, and as long as most requests several times over."""
STEPS_A_BUSY = 20
MOST_STEPS = 1000
"""Prometheus returns at most 11,000 points of a series."""


@dataclass(frozen=True, slots=True)
class Window:
    """Unix seconds (begin, end]; looked at every `step_s`, in stretches of `busy_s`, a whole number of steps."""

    begin: int
    end: int
    step_s: int
    busy_s: int

    @property
    def length_s(self) -> int:
        return self.end - self.begin

    @property
    def first(self) -> int:
        """The first moment that is looked at: whole steps before the end."""
        return self.end - self.length_s // self.step_s * self.step_s


def window(begin: int, end: int) -> Window:
    """The window (begin, end], at least 10 s long, looked at as closely as a peak of `BUSY_S` asks."""
    length_s = end - begin
    step_s = max(-(-min(length_s, BUSY_S) // STEPS_A_BUSY), -(-length_s // MOST_STEPS))
    steps = max(min(length_s, BUSY_S) // step_s, 1)
    return Window(begin, end, step_s, steps * step_s)


@dataclass(frozen=True, slots=True)
class Recording:
    """One service's series.

    in_flight, replicas: at each moment. ended, refused: of the `busy_s` before each moment. Of the whole window: ends,
    by how they ended, and of these failed, by the engine's fault; refusals; preemptions. refused, refusals and
    preemptions are None where the engine has no such series. timed, counted: of the requests of the whole window; what
    was not observed is not in it.
    """

    window: Window
    in_flight: Series
    replicas: Series
    ended: Series
    refused: Series | None
    ends: Mapping[str, Fraction]
    failed: Fraction
    refusals: Fraction | None
    preemptions: Fraction | None
    timed: Mapping[Timed, Histogram]
    counted: Mapping[Counted, Histogram]

    @property
    def requests(self) -> Fraction:
        """All that ended in the window, however."""
        return sum(self.ends.values(), Fraction(0))

    @property
    def not_served(self) -> Fraction:
        """Failed and refused ones, as a share of all that ended or were refused; 0 where there were none."""
        refusals = self.refusals or Fraction(0)
        return (self.failed + refusals) / (self.requests + refusals) if self.requests + refusals else Fraction(0)


@dataclass(frozen=True, slots=True)
class Peak:
    """The busiest stretch by what arrived; rates per second, the rest as means over it.

    grown: by how much more was in flight at its end than at its begin.
    """

    end: int
    arrived_rps: Fraction
    ended_rps: Fraction
    in_flight: Fraction
    replicas: Fraction | None
    grown: Fraction

    @property
    def is_queueing(self) -> bool:
        """Whether what is in flight grew by more than chance does: three times its root, as for random arrivals."""
        return self.grown > 0 and self.grown**2 > 9 * self.in_flight


def peak(recording: Recording) -> Peak | None:
    """The stretch in which most arrived; None where no stretch is known from end to end."""
    return max(_stretches(recording), key=lambda one: (one.arrived_rps, -one.end), default=None)


def most_in_flight(recording: Recording) -> Fraction | None:
    """The highest mean over a stretch: queues grow after the load that fills them."""
    return max((one.in_flight for one in _stretches(recording)), default=None)


def _stretches(recording: Recording) -> Iterator[Peak]:
    busy_s = recording.window.busy_s
    for end, ended in sorted(recording.ended.items()):
        before, now = (recording.in_flight.get(moment) for moment in (end - busy_s, end))
        in_flight = _mean(recording, recording.in_flight, end)
        if before is None or now is None or in_flight is None:
            continue
        refused = recording.refused.get(end, Fraction(0)) if recording.refused is not None else Fraction(0)
        arrived = max(ended + refused + now - before, Fraction(0))
        replicas = _mean(recording, recording.replicas, end)
        yield Peak(end, arrived / busy_s, ended / busy_s, in_flight, replicas, now - before)


def _mean(recording: Recording, series: Series, end: int) -> Fraction | None:
    """Over the moments of the stretch that ends there; None without any."""
    step_s, busy_s = recording.window.step_s, recording.window.busy_s
    values = [series[moment] for moment in range(end - busy_s + step_s, end + 1, step_s) if moment in series]
    return sum(values, Fraction(0)) / len(values) if values else None
