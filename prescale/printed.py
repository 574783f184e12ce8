"""Values of a plan that some other revision's code printed: each is what it should be, or a TypeError says what not."""

from __future__ import annotations

import math
from typing import Any

MOST = 10**12
"""Replicas or GPUs; a larger number is no stack's, by the bounds of `stacks.field_types`."""

Number = int | float


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < MOST:
        raise TypeError(f"{value!r} is no number of replicas or GPUs")
    return value


def number(value: Any) -> Number:
    if type(value) not in {int, float} or not math.isfinite(value):
        raise TypeError(f"{value!r} is no number")
    found: Number = value
    return found
