"""Load to replicas, exactly: rationals all the way, so that the only rounding is the last ceil.

    requests in flight = rps x duration        (Little's law)
    replicas of load   = in flight / in flight per replica
    floor              = ceil(replicas of load x (1 + headroom))

Numbers come in as `Decimal` or `int`, never as binary floats: 2.1 / 0.7 is 3 here, not 3.0000000000000004.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

Exact = Decimal | Fraction | int

HPA_TOLERANCE = Fraction(11, 10)
"""Source: kube-controller-manager --horizontal-pod-autoscaler-tolerance, default 0.1."""


def in_flight(rps: Exact, request_duration_s: Exact) -> Fraction:
    """Requests being served or waiting at any moment, at `rps` arrivals of `request_duration_s` each.

    Source: Little's law, L = lambda x W (J. D. C. Little, 1961).
    """
    return Fraction(rps) * Fraction(request_duration_s)


def of_load(load: Exact, per_replica: Exact) -> Fraction:
    """Replicas the load fills, as a fraction.

    Args:
        load: requests in flight, or output tokens per second.
        per_replica: the operating target in the same unit, above 0.
    """
    return Fraction(load) / Fraction(per_replica)


def with_headroom(replicas: Exact, headroom_pct: Exact) -> Fraction:
    """`replicas` and `headroom_pct` per cent on top, for what nobody foresaw."""
    return Fraction(replicas) * (1 + Fraction(headroom_pct) / 100)


def whole(replicas: Exact) -> int:
    """The fewest whole replicas that are not less."""
    return math.ceil(Fraction(replicas))


def least_in_flight_limit(in_flight_per_replica: Exact) -> int:
    """The lowest bound of requests in flight at one replica that still lets the autoscaler see more than its target."""
    return math.floor(Fraction(in_flight_per_replica) * HPA_TOLERANCE) + 1


def baseline(min_replicas: int, usual_replicas: Exact) -> int:
    """Replicas to hold without any event: what the usual peak needs, and never below `min_replicas`."""
    return max(min_replicas, whole(usual_replicas))


def decimal_text(number: Exact) -> str:
    """`number` as a person writes it: exact if it has at most 6 decimals, else rounded to 6.

    Returns: no exponent, no trailing zeros (`208.26`, `6.76845`, `7`).
    """
    millionths = round(Fraction(number) * 10**6)
    whole_part, rest = divmod(abs(millionths), 10**6)
    return f"{'-' if millionths < 0 else ''}{whole_part}.{rest:06}".rstrip("0").rstrip(".")
