"""Two plans of one stack compared: whether the calendar still fits on the node pools. Pure.

As in `prescale.plan_change`, a plan is what `prescale plan -o json` prints, perhaps by another revision's code. One
that says nothing of pools has none to lose, and nothing that was short before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from whenever import Instant

from prescale.printed import count, text


@dataclass(frozen=True)
class Short:
    """`missing` GPUs are what `needed` passes those of the pool by."""

    since: Instant
    needed: int
    available: int

    @property
    def missing(self) -> int:
        return self.needed - self.available


@dataclass(frozen=True)
class Room:
    """GPUs of each node pool, and each shortage by pool and events."""

    pools: Mapping[str, int]
    shortages: Mapping[tuple[str, tuple[str, ...]], Short]


def read(printed: Any) -> Room:
    """The room in the plan that was `printed`.

    Raises:
        ValueError: it is not a plan.
    """
    try:
        pools = {text(item["name"]): count(item["gpus"]) for item in printed.get("node_pools", ())}
        shortages = {
            (text(item["pool"]), tuple(map(text, item["events"]))): Short(
                Instant.parse_iso(text(item["since"])), count(item["needed"]), count(item["available"])
            )
            for item in printed.get("gpu_shortages", ())
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"not a plan: {error!r}") from None
    return Room(pools, shortages)


def findings(before: Room, after: Room) -> Iterator[str]:
    """Room that goes, and shortages that are new or larger. One that was there before is not this change's."""
    for name, gpus in before.pools.items():
        left = after.pools.get(name)
        if left is None:
            yield f"pool {name}: removed, with its {gpus} GPUs."
        elif left < gpus:
            yield f"pool {name}: at most {left} GPUs instead of {gpus}."
    for (pool, events), short in after.shortages.items():
        was = before.shortages.get((pool, events))
        if was is None or was.missing < short.missing:
            whose = f"the floors of {', '.join(events)}" if events else "the baselines"
            yield (
                f"pool {pool}: {whose} need {short.needed} GPUs from {short.since.format_iso()} on,"
                f" its nodes have at most {short.available}."
            )
