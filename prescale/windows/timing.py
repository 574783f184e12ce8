"""When what leads to an event starts, backwards from T0 and by a lead time; and the gaps that are held. Pure.

Steps are (name, seconds) in the order they happen; nodes and reservations go in front of the list when they are known,
and nothing else changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace
from whenever import Instant

from prescale.floors.gap import Ended, holds
from prescale.lead_time.reckoning import LeadTime
from prescale.windows.window import Step, Timetable, Window


def timed(window: Window, lead: LeadTime) -> Window:
    """The window with its steps, and the rises of its ramp, by `lead`."""
    ahead_s = lead.total_s + window.margin_s
    rises = tuple(replace(rise, raise_at=rise.at.to_instant().subtract(seconds=ahead_s)) for rise in window.rises)
    first_at = rises[0].at if rises else window.start
    steps = chain(first_at.to_instant(), [*lead.links, ("ready, with a margin", window.margin_s)])
    return replace(window, lead_time_s=lead.total_s, steps=steps, rises=rises)


def by_lead_times(table: Timetable, lead_times: Mapping[str, LeadTime]) -> Timetable:
    """The timetable as it is where the starts are known, with the lead time of every service."""
    again = (replace(window, holds=(), knows_starts=True) for window in table.windows)
    return replace(table, windows=in_order(_retimed(window, lead_times[window.service]) for window in again))


def _retimed(window: Window, lead: LeadTime) -> Window:
    # By platform.yaml's it is timed already.
    return timed(window, lead) if lead.basis == "measured" else window


def in_order(windows: Iterable[Window]) -> tuple[Window, ...]:
    """In order of time, each with the gaps before it that are too short to cool in."""
    found = sorted(windows, key=lambda window: (window.raise_at, window.event, window.service))
    return _over_gaps(found)


def _over_gaps(windows: Sequence[Window]) -> tuple[Window, ...]:
    ended: dict[str, list[Ended]] = defaultdict(list)
    for window in windows:
        if not window.cancelled:
            ended[window.service].append(Ended(window.event, window.floor, window.end.to_instant()))
    return tuple(_held(window, ended[window.service]) for window in windows)


def _held(window: Window, ended: Sequence[Ended]) -> Window:
    found = () if window.cancelled else holds(ended, window.all_rises, window.lead_time_s)
    return replace(window, holds=found) if found else window


def chain(t0: Instant, links: Iterable[tuple[str, int]]) -> tuple[Step, ...]:
    """Schedule `links` (name, seconds) so that the last one ends at `t0`; links of 0 s are left out."""
    steps: list[Step] = []
    for name, takes_s in reversed([link for link in links if link[1]]):
        t0 = t0.subtract(seconds=takes_s)
        steps.append(Step(name, t0, takes_s))
    return tuple(reversed(steps))
