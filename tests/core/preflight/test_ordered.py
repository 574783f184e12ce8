"""Preflight asks about what people ordered in the cluster as about the calendar's events."""

from __future__ import annotations

from whenever import Instant

from prescale.orders.order import Order, Term, cancel_of, of_a_service
from prescale.preflight.finding import NotChecked, Report
from tests.core.preflight.world import BASELINE, FLOOR, NAME, NOW, world

RAISED = Instant.parse_iso("2027-10-29T14:00:00Z")


def term(until: Instant) -> Term:
    return Term(NOW, until, "alice@laptop", "on the news")


def now(floor: int, until: Instant) -> Order:
    return of_a_service("now", NAME, floor, term(until))


def test_an_order_in_force_at_the_raise_asks_for_its_room() -> None:
    bent = world()
    bent.keep_nodes(FLOOR)
    assert bent.report().findings == ()
    bent.orders = (now(FLOOR + 2, RAISED.add(hours=1)),)
    (found,) = bent.report().findings
    assert (found.check, found.expected) == ("nodes", f"{FLOOR + 2} whole replicas")


def test_an_order_that_is_over_by_then_asks_for_nothing() -> None:
    bent = world()
    bent.keep_nodes(FLOOR)
    bent.orders = (now(FLOOR + 2, RAISED),)
    assert bent.report() == Report((), ())


def test_an_event_that_was_called_off_asks_for_nothing() -> None:
    bent = world()
    bent.keep_nodes(BASELINE)
    assert bent.report().findings
    bent.orders = (cancel_of("diwali-sale", None, term(RAISED.add(hours=6))),)
    assert bent.report() == Report((), ())


def test_orders_that_cannot_be_read_are_not_checked() -> None:
    bent = world()
    bent.unreadable_orders = ("the orders cannot be read (Forbidden).",)
    assert bent.report() == Report((), (NotChecked("orders", "", "the orders cannot be read (Forbidden)."),))
