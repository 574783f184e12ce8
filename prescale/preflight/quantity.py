"""Kubernetes quantities as exact numbers.

Source: Kubernetes 1.34, apimachinery/pkg/api/resource/quantity.go.
"""

from __future__ import annotations

import re
from fractions import Fraction

_BINARY = {f"{letter}i": Fraction(1024) ** power for power, letter in enumerate("KMGTPE", 1)}
_DECIMAL = {letter: Fraction(1000) ** power for power, letter in enumerate("kMGTPE", 1)}
_SMALL = {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000)}
_SUFFIXES = {"": Fraction(1), **_SMALL, **_DECIMAL, **_BINARY}
_FORM = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d{1,3})|([a-zA-Z]{0,2}))")


def amount(quantity: str | float) -> Fraction:
    """`500m` -> 1/2, `48Gi` -> 51539607552.

    Raises:
        ValueError: it is none.
    """
    found = _FORM.fullmatch(str(quantity))
    if not found or (found[3] or "") not in _SUFFIXES:
        raise ValueError(f"{quantity!r} is no quantity")
    scale = Fraction(10) ** int(found[2]) if found[2] else _SUFFIXES[found[3] or ""]
    return Fraction(found[1]) * scale


def shown(value: Fraction) -> str:
    """As a person writes it: `6`, `500m`, `48Gi`."""
    if value.denominator != 1:
        return f"{value * 1000}m" if (value * 1000).denominator == 1 else f"{float(value):g}"
    for suffix, factor in reversed(_BINARY.items()):
        if value and value % factor == 0:
            return f"{value / factor}{suffix}"
    return str(value)
