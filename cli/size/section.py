"""The one form that a plan is printed from: sections of rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from capacity.replicas import Exact, decimal_text


@dataclass(frozen=True)
class Section:
    """A heading, rows below columns, and lines below those."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    lines: tuple[str, ...] = ()


def span(fewest: Exact, most: Exact) -> str:
    """`7`, or `7 to 21` where something was assumed; the lower number first."""
    low, high = sorted((Fraction(fewest), Fraction(most)))
    return decimal_text(low) if low == high else f"{decimal_text(low)} to {decimal_text(high)}"
