"""The starts that are remembered of each service, few and not for long. Pure: `keeping` has them in the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from whenever import Instant

from prescale.lead_time.start import Start, Unreadable, parse

MOST = 100
"""Starts of one service; 93 are enough that one outlier does not make the sure bound of a p95 (see `reckoning`)."""

MOST_OF_ALL = 12_000
"""Starts of all services of a stack: with lines below 80 bytes they fit into one object of 1 MiB, etcd's limit."""

DAYS = 90
"""Older starts are of another cluster in all but name: nodes, registries and stores changed under it."""


@dataclass(frozen=True)
class History:
    """Service -> its starts, oldest first. `unreadable` are lines that were none; the next write leaves them out."""

    starts: Mapping[str, tuple[Start, ...]] = field(default_factory=dict)
    unreadable: int = 0

    def of(self, service: str, kind: str, now: Instant) -> tuple[Start, ...]:
        """What counts for `service` today: starts of that kind, not too old."""
        return tuple(one for one in self.starts.get(service, ()) if one.kind == kind and not _is_old(one, now))

    def with_seen(self, seen: Mapping[str, Iterable[Start]], services: int, now: Instant) -> History:
        """The history after `seen` as well; of a start that is in it the first word counts.

        Args:
            seen: service -> starts measured now.
            services: how many the stack has: they share the room.
        """
        most = max(1, min(MOST, MOST_OF_ALL // max(1, services)))
        merged: dict[str, tuple[Start, ...]] = {}
        for service in sorted({*self.starts, *seen}):
            known = {(one.created, one.pod): one for one in seen.get(service, ())}
            known |= {(one.created, one.pod): one for one in self.starts.get(service, ())}
            kept = [known[key] for key in sorted(known) if not _is_old(known[key], now)]
            if kept:
                merged[service] = tuple(kept[-most:])
        return History(merged)

    def data(self) -> dict[str, str]:
        """As a ConfigMap keeps it: one value for each service, one line for each start."""
        return {service: "".join(f"{one.line()}\n" for one in starts) for service, starts in self.starts.items()}


NOTHING = History()


def parse_data(data: Mapping[str, str]) -> History:
    """Read a ConfigMap's data. Lines that are no starts are counted and passed over: a history is no order."""
    starts: dict[str, tuple[Start, ...]] = {}
    unreadable = 0
    for service, text in data.items():
        found: list[Start] = []
        for line in text.splitlines():
            try:
                found.append(parse(line))
            except Unreadable:
                unreadable += 1
        starts[service] = tuple(sorted(found, key=lambda one: (one.created, one.pod)))
    return History(starts, unreadable)


def _is_old(start: Start, now: Instant) -> bool:
    return start.created < now.subtract(hours=24 * DAYS)
