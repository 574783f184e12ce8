"""Numbers as a sentence has them: what was measured is not known to more than four digits."""

from __future__ import annotations

from fractions import Fraction


def shown(value: float | Fraction | None) -> str:
    """Four digits, or all of the whole part, and no exponent: `92.19`, `0.1818`, `104250`; `?` for None."""
    if value is None:
        return "?"
    number = float(value)
    if abs(number) >= 1000:
        return f"{number:.0f}"
    return f"{number:.4g}" if abs(number) >= 0.0001 else f"{number:.7f}".rstrip("0").rstrip(".")
