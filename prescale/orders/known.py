"""What a person can call off: events of the calendar, orders, and what only a record in the cluster still knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from whenever import Instant

from prescale.clock import Clock
from prescale.decision import record_of
from prescale.observed import Observed
from prescale.orders.order import Orders
from prescale.windows.window import Timetable
from stacks.event_names import name_and_day

# Names in one message.
SHOWN = 5


class Unknown(ValueError):  # noqa: N818 - it names the state of what was said
    """Nothing that counts now or later has this name; the text says what has one like it."""


@dataclass(frozen=True)
class Known:
    """One event: for which services it counts, and when the last of what is known of it ends."""

    event: str
    services: frozenset[str]
    until: Instant


def known(table: Timetable, orders: Orders, found: Sequence[Observed], clock: Clock) -> dict[str, Known]:
    """Everything that counts, or is to come, by name; in order of its end."""
    every: dict[str, Known] = {}
    for event, service, until in sorted(_each(table, orders, found, clock), key=lambda one: one[2]):
        before = every.pop(event, Known(event, frozenset(), until))
        every[event] = Known(event, before.services | {service}, max(before.until, until))
    return every


def _each(
    table: Timetable, orders: Orders, found: Sequence[Observed], clock: Clock
) -> Iterator[tuple[str, str, Instant]]:
    for window in table.windows:
        if window.end.to_instant() > clock.now:
            yield window.event, window.service, window.end.to_instant()
    for order in orders.said:
        # Also those that a cancel has let go: it may be taken back.
        if order.kind != "cancel" and order.service is not None and order.is_in_force(clock):
            yield order.event, order.service, order.until
    for observed in found:
        record, _ = record_of(observed)
        # Also past its end: what another calendar raised is held until somebody says so.
        for held in record.events if record else ():
            yield held.event, observed.service, held.until


def pick(name: str, service: str | None, every: Mapping[str, Known]) -> Known:
    """The one event called `name`, of `service` if it is given.

    Raises:
        Unknown: there is none, or it is one of many days, or not one of that service.
    """
    if name not in every:
        days = [event for event in every if name_and_day(event)[0] == name]
        if days:
            raise Unknown(f"{name} repeats. Say which one: {_listed(days)}")
        near = get_close_matches(name, every, n=SHOWN)
        if near:
            raise Unknown(f"no event or order {name} counts now or later. Near it: {_listed(near)}")
        raise Unknown(f"no event or order {name} counts now or later. There is {_listed(every) or 'none at all'}")
    one = every[name]
    if service is None:
        return one
    if service not in one.services:
        raise Unknown(f"{name} is none of {service}'s, but of {_listed(sorted(one.services))}")
    return Known(name, frozenset({service}), one.until)


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - SHOWN} more" if len(every) > SHOWN else ""
    return ", ".join(every[:SHOWN]) + more
