"""What a plan asks for and cannot have: plain data for programs, lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cli.prescale.text import both, utc
from prescale.windows.shortage import Shortage
from stacks.loader import Stack


def data(stack: Stack, found: Sequence[Shortage]) -> dict[str, Any]:
    """The pools' GPUs and what is short of them, as `prescale plan -o json` has both."""
    return {
        "node_pools": [{"name": name, "gpus": pool.most_gpus} for name, pool in stack.platform.node_pools.items()],
        "gpu_shortages": [
            {
                "pool": one.pool,
                "since": utc(one.since),
                "events": list(one.events),
                "needed": one.needed,
                "available": one.available,
                "at_risk": list(one.at_risk),
            }
            for one in found
        ],
    }


def lines(found: Sequence[Shortage], zone: str) -> list[str]:
    """One line each, marked as what needs a person is."""
    return [
        f"! pool {one.pool}: {_whose(one)} need {one.needed} GPUs from {both(one.since, zone)} on, "
        f"its nodes have at most {one.available}{_at_risk(one)}"
        for one in found
    ]


def _whose(one: Shortage) -> str:
    return f"the floors of {', '.join(one.events)}" if one.events else "the baselines"


def _at_risk(one: Shortage) -> str:
    return f"; at risk first, by the lowest priority: {', '.join(one.at_risk)}" if one.at_risk else ""
