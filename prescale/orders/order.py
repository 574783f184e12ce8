"""Orders as they are kept in the cluster, one value of a ConfigMap each, and what they say of one service now.

An order expires by its own `until`. It raises if either clock says that it is in force, and lets go only if both do.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

from whenever import Instant

from prescale.clock import Clock
from prescale.printed import count, text

Kind = Literal["now", "hold", "cancel"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# Where the claims of `now` and `hold` come from, in the place of a calendar's name; every calendar's has a slash.
SOURCE = "orders"

# Of reason and by, in characters: they are shown on one line, and a ConfigMap is bounded.
LONGEST_TEXT = 200
# Of a ConfigMap's key. Source: Kubernetes 1.34, IsConfigMapKey.
LONGEST_NAME = 253


class Unreadable(ValueError):  # noqa: N818 - it names the state of the entry
    """The entry is no order."""


@dataclass(frozen=True)
class Term:
    """When an order is said and how long it holds, by whom it is said, and why."""

    at: Instant
    until: Instant
    by: str
    reason: str


@dataclass(frozen=True)
class Order:
    """One order. `event` is the name of its claim, or, of a cancel, the event it lets go (of one service or of all).

    `floor` is in replicas, 0 for a cancel. `at` is when it was said, `by` whom, and `reason` why.
    """

    name: str
    kind: Kind
    service: str | None
    event: str
    floor: int
    until: Instant
    at: Instant
    by: str
    reason: str

    def is_in_force(self, clock: Clock) -> bool:
        """Whether it is not over, by one of the clocks at least: enough to raise."""
        return any(moment < self.until for moment in clock.moments)

    def is_certain(self, clock: Clock) -> bool:
        """Whether it is not over by any clock: what it takes to let go."""
        return all(moment < self.until for moment in clock.moments)

    def text(self) -> str:
        """Compact JSON, the same text for the same order."""
        data: dict[str, Any] = {"kind": self.kind}
        if self.service is not None:
            data["service"] = self.service
        data |= {"event": self.event} if self.kind == "cancel" else {"floor": self.floor}
        data |= {"at": self.at.format_iso(), "until": self.until.format_iso(), "by": self.by, "reason": self.reason}
        return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def named(kind: Kind, subject: str, at: Instant) -> str:
    """The name of an order about `subject`: `now-support-bot-20291029T1400Z`."""
    minute = re.sub(r"[-:]", "", at.format_iso()[:16])
    return re.sub(r"[^-._A-Za-z0-9]", "-", f"{kind}-{subject}")[: LONGEST_NAME - 24] + f"-{minute}Z"


def of_a_service(kind: Literal["now", "hold"], service: str, floor: int, term: Term) -> Order:
    """An order that holds `floor` replicas of `service`."""
    name = named(kind, service, term.at)
    return Order(name, kind, service, name, floor, term.until, term.at, term.by, term.reason)


def cancel_of(event: str, service: str | None, term: Term) -> Order:
    """The order that lets `event` go: of one service, or of all."""
    return Order(
        named("cancel", event, term.at), "cancel", service, event, 0, term.until, term.at, term.by, term.reason
    )


def parse(name: str, entry: Any) -> Order:
    """Read one entry of the ConfigMap.

    Raises:
        Unreadable: it is not JSON, or not of this shape.
    """
    try:
        data = json.loads(entry)
        kind = _kind(data["kind"])
        is_cancel = kind == "cancel"
        service = _line(data["service"]) if "service" in data or not is_cancel else None
        return Order(
            name=name,
            kind=kind,
            service=service,
            event=_line(data["event"]) if is_cancel else name,
            floor=0 if is_cancel else count(data["floor"]),
            until=Instant.parse_iso(text(data["until"])),
            at=Instant.parse_iso(text(data["at"])),
            by=_line(data["by"]),
            reason=_line(data["reason"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Unreadable(" ".join(str(error).split()) or type(error).__name__) from None


def _kind(value: Any) -> Kind:
    for kind in KINDS:
        if kind == value:
            return kind
    raise TypeError(f"{value!r} is no kind of order")


def _line(value: Any) -> str:
    if not text(value).isprintable():
        raise TypeError(f"{value!r} is not one printable line")
    return text(value)


@dataclass(frozen=True)
class Orders:
    """All orders of one stack as a run read them. `unreadable` says of each that could not be read why: one finding.

    Where one is unreadable nothing may be lowered: it may have been the one that holds.
    """

    said: tuple[Order, ...] = ()
    unreadable: tuple[str, ...] = ()

    def floors(self, service: str, clock: Clock) -> tuple[Order, ...]:
        """`now` and `hold` of `service` that are in force and not cancelled."""
        return tuple(
            order
            for order in self.said
            if order.kind != "cancel"
            and order.service == service
            and order.is_in_force(clock)
            and self.cancel(order.event, service, clock) is None
        )

    def cancel(self, event: str, service: str, clock: Clock) -> Order | None:
        """The order that calls off `event` for `service`, if one is in force."""
        cancels = (order for order in self.said if order.kind == "cancel" and order.event == event)
        return next((one for one in cancels if one.service in {None, service} and one.is_certain(clock)), None)

    def in_force(self, clock: Clock, service: str | None = None) -> tuple[Order, ...]:
        """Those that count now, of every service or of `service`: not over, and not cancelled."""
        return tuple(
            order
            for order in self.said
            if order.is_in_force(clock)
            and (service is None or order.service in {None, service})
            and not (order.service and self.cancel(order.name, order.service, clock))
        )


NONE = Orders()
