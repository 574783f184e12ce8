"""What a plan asks for and cannot have: plain data for programs, lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cli.prescale_text import both, utc
from prescale.shortage import Shortage


def data(found: Sequence[Shortage]) -> list[dict[str, Any]]:
    """As `prescale plan -o json` has them."""
    return [
        {
            "pool": one.pool,
            "since": utc(one.since),
            "events": list(one.events),
            "needed": one.needed,
            "available": one.available,
        }
        for one in found
    ]


def lines(found: Sequence[Shortage], zone: str) -> list[str]:
    """One line each, marked as what needs a person is."""
    return [
        f"! pool {one.pool}: the floors of {', '.join(one.events)} need {one.needed} GPUs from "
        f"{both(one.since, zone)} on, its nodes have at most {one.available}"
        for one in found
    ]
