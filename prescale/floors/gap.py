"""Between two events: a gap too short to cool in is held, for what is let go there would have to start cold again."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from whenever import Instant

from prescale.floors.ramp import Rise


class Ended(Struct, frozen=True):
    """An event that asks for `floor` replicas until `end`."""

    event: str
    floor: int
    end: Instant


class Hold(Struct, frozen=True):
    """What two events both need, from the end of the one before, `after`, until the other's own raise.

    `rise.raise_at` is where it begins, `rise.at` what it is kept for.
    """

    rise: Rise
    until: Instant
    after: str

    def covers(self, now: Instant) -> bool:
        return self.rise.raise_at <= now < self.until


def holds(ended: Iterable[Ended], rises: Sequence[Rise], lead_time_s: int) -> tuple[Hold, ...]:
    """One for every end that lies less than a lead time before a raise."""
    ends = sorted(ended, key=lambda event: event.end)
    return tuple(hold for rise in rises for hold in _before(rise, ends, lead_time_s))


def _before(rise: Rise, ends: Sequence[Ended], lead_time_s: int) -> Iterator[Hold]:
    since = rise.raise_at.subtract(seconds=lead_time_s)
    first = bisect_right(ends, since, key=lambda event: event.end)
    last = bisect_left(ends, rise.raise_at, key=lambda event: event.end)
    for event in ends[first:last]:
        yield Hold(Rise(min(event.floor, rise.floor), rise.at, event.end), rise.raise_at, event.event)
