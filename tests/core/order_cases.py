"""Orders about support-bot, said at T0, and a run by hand against the double: what tests of orders are written with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prescale.clock import Clock
from prescale.orders.giving import Answer, Author, raise_floor
from prescale.orders.order import Order, Term, cancel_of, of_a_service
from prescale.orders.uninstall import Uninstall
from prescale.outcome import Outcome
from prescale.sync import Run, sync
from prescale.windows.window import Timetable
from tests.core.api_double import ApiDouble
from tests.core.cluster_double import scaled_object
from tests.core.decision_cases import HERE, HOUR, at

BOT = "support-bot"
ALICE = Author("alice@laptop", "on the news")
NAME = "now-support-bot-20271029T1430Z"


def now(floor: int = 12, until_s: float = 2 * HOUR, at_s: float = 0) -> Order:
    return of_a_service("now", BOT, floor, Term(at(at_s), at(until_s), ALICE.by, ALICE.reason))


def held(floor: int, until_s: float = 2 * HOUR) -> Order:
    return of_a_service("hold", BOT, floor, Term(at(0), at(until_s), ALICE.by, ALICE.reason))


def cancelled(event: str, until_s: float = 4 * HOUR, service: str | None = None) -> Order:
    return cancel_of(event, service, Term(at(0), at(until_s), ALICE.by, ALICE.reason))


def hand(api: ApiDouble, seconds: float = 0, *windows: Any, dry_run: bool = False, kind: type[Run] = Run) -> Run:
    """What a person's command works with at `seconds` after T0, by both clocks."""
    api.clock = lambda: at(seconds)
    cluster = api.cluster()
    cluster.clock = Clock  # type: ignore[method-assign]
    by_hand = kind is Run
    return kind("local", Timetable(HERE, windows), (BOT,), cluster, lambda: at(seconds), dry_run, by_hand=by_hand)


def runner(api: ApiDouble, seconds: float = 0, *windows: Any) -> Outcome:
    """What a runner of the calendar `windows` does then, to the first object."""
    api.clock = lambda: at(seconds)
    cluster = api.cluster()
    cluster.clock = Clock  # type: ignore[method-assign]
    return sync(Run("local", Timetable(HERE, windows), (BOT,), cluster, lambda: at(seconds)))[0]


def api_of(**settings: Any) -> ApiDouble:
    return ApiDouble(scaled_object(**settings))


def for_hours(hours: float) -> Callable[[Any], Any]:
    return lambda at: at.add(seconds=hours * HOUR)


def order_now(api: ApiDouble, seconds: float = 0, *windows: Any, floor: int = 12, dry_run: bool = False) -> Answer:
    return raise_floor(hand(api, seconds, *windows, dry_run=dry_run), BOT, floor, for_hours(2), ALICE)


def uninstaller(api: ApiDouble, seconds: float = 0, *windows: Any) -> Uninstall:
    run = hand(api, seconds, *windows, kind=Uninstall)
    assert isinstance(run, Uninstall)
    return run
