"""Give an order: it is written into the cluster, and the floors it is about are made true at once.

Killed between the two, the next run of anybody does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from whenever import Instant

from prescale import absence
from prescale.api.objects import Refused
from prescale.claims import raise_ceiling
from prescale.clock import Clock
from prescale.observed import Observed
from prescale.orders import store
from prescale.orders.order import Order, Term, of_a_service
from prescale.outcome import Outcome
from prescale.sync import Run, sync
from prescale.targets import running_of
from stacks import ownership
from stacks.reach import OutOfReach


@dataclass(frozen=True)
class Author:
    """Who orders something, and why."""

    by: str
    reason: str


@dataclass(frozen=True)
class Answer:
    """What became of it: the orders as they were written, and what the run after it did. Findings need a person."""

    orders: tuple[Order, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


# When it is said -> when it is over.
Ends = Callable[[Instant], Instant]


def said_at(clock: Clock) -> Instant:
    """The time an order is counted from: the API server's, since every runner is held to that."""
    return clock.server or clock.now


def raise_floor(run: Run, service: str, floor: int, ends: Ends, author: Author) -> Answer:
    """A floor of `floor` replicas for `service`. Above its live ceiling nothing is written."""
    observed = _object_of(run, service)
    if isinstance(observed, Answer):
        return observed
    if floor > observed.max_replicas:
        above = f"it is above the live ceiling of {observed.max_replicas}"
        fix = f"Nothing was ordered. {raise_ceiling(observed)}"
        return Answer(findings=(f"a floor of {floor} was refused, {above}. {fix}",))
    order = of_a_service("now", service, floor, _term(run, ends, author))
    return carry_out(run, {service}, [order])


def hold(run: Run, service: str, ends: Ends, author: Author) -> Answer:
    """Keep what `service` has now, by its floor and by what runs, as the floor; at most the ceiling."""
    observed = _object_of(run, service)
    if isinstance(observed, Answer):
        return observed
    running = running_of(run.objects.hpas())
    there = max(observed.live, running.get(observed.hpa_name, 0))
    if there == 0:
        return Answer(findings=(f"{service} has no replicas and no floor: there is nothing to hold. Use `now`.",))
    order = of_a_service("hold", service, min(there, observed.max_replicas), _term(run, ends, author))
    return carry_out(run, {service}, [order])


def _object_of(run: Run, service: str) -> Observed | Answer:
    found = run.targets()
    for observed in found.observed:
        if observed.service == service:
            return observed
    adopted, are_others = run.adopted.get(service), bool(found.observed)
    absent = absence.of(run.stack, run.objects.where, adopted, are_others=are_others, has_keda=found.has_keda)
    return Answer(findings=(f"{service}: {absent}",))


def _term(run: Run, ends: Ends, author: Author) -> Term:
    at = said_at(run.clock())
    return Term(at, ends(at), author.by, author.reason)


def carry_out(
    run: Run,
    services: set[str] | frozenset[str],
    orders: Sequence[Order],
    *,
    without: Sequence[str] = (),
    lets_a_person_go: bool = False,
) -> Answer:
    """Write `orders`, take back those named `without`, and run for `services`.

    Raises:
        OutOfReach: the cluster did not answer; its text says whether the orders had been written.
    """
    following = replace(
        run, services=tuple(sorted(services)), by_hand=True, lets_a_person_go=lets_a_person_go, proposed=tuple(orders)
    )
    following = replace(following, taken_back=tuple(without))
    if run.dry_run:
        return Answer(tuple(orders), sync(following))
    written: tuple[Order, ...] = ()
    if orders or without:
        try:
            written = store.write(run.objects, run.stack, orders, run.clock(), without=without)
        except Refused as error:
            fix = f"Give the user a Role that may get, create and patch ConfigMap {ownership.orders_name(run.stack)}."
            return Answer(findings=(f"nothing was ordered: {error}. {fix}",))
    try:
        return Answer(written, sync(replace(following, proposed=(), taken_back=())))
    except OutOfReach as error:
        if not (orders or without):
            raise
        changed = "The order was written before, and the next `prescale sync` does the rest."
        raise OutOfReach(error.address, error.reason, error.fix, changed) from None
