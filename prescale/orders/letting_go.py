"""The certain word that lets go: of one event, or of all that was ordered of a service."""

from __future__ import annotations

from prescale.orders.giving import Answer, Author, carry_out, said_at
from prescale.orders.known import Known, Unknown, known, pick
from prescale.orders.order import Order, Term, cancel_of
from prescale.sync import Run

# A cancel of what is nearly over, or held beyond its end, must be there long enough for every runner to have seen it.
AT_LEAST_S = 3600


def cancel(run: Run, name: str, service: str | None, author: Author) -> Answer:
    """Let go of the event or order called `name`, until its own end: next year's is another one.

    Raises:
        Unknown: nothing has that name.
    """
    found = run.targets().observed
    orders = run.orders()
    event = pick(name, service, known(run.table, orders, found, run.clock()))
    is_said = all(orders.cancel(name, one, run.clock()) for one in event.services)
    return carry_out(run, event.services, [] if is_said else [_cancel(run, event, service, author)])


def take_back(run: Run, name: str) -> Answer:
    """Take back every cancel of `name` that is in force: it counts again, as calendar or order say it.

    Raises:
        Unknown: nothing has that name, or nothing cancels it.
    """
    found = run.targets().observed
    orders = run.orders()
    event = pick(name, None, known(run.table, orders, found, run.clock()))
    cancels = [one.name for one in orders.in_force(run.clock()) if one.kind == "cancel" and one.event == name]
    if not cancels:
        raise Unknown(f"no order cancels {name}")
    return carry_out(run, event.services, [], without=cancels)


def release(run: Run, service: str, author: Author) -> Answer:
    """Let go of every `now` and `hold` of `service`, and of a person's higher value."""
    orders = run.orders()  # before the clock: the first answer says the API server's time
    ordered = orders.floors(service, run.clock())
    cancels = [_cancel(run, Known(one.event, frozenset({service}), one.until), service, author) for one in ordered]
    return carry_out(run, {service}, cancels, lets_a_person_go=True)


def _cancel(run: Run, event: Known, service: str | None, author: Author) -> Order:
    at = said_at(run.clock())
    until = max(event.until, at.add(seconds=AT_LEAST_S))
    return cancel_of(event.event, service, Term(at, until, author.by, author.reason))
