"""Orders as `warmline prescale` prints them: plain data for programs, one line each for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cli.prescale.text import both, utc
from prescale.orders.order import Order


def data(orders: Iterable[Order]) -> list[dict[str, Any]]:
    """One mapping for each; `floor` in replicas is none of a cancel, `service` none where it is every one's."""
    return [
        {
            "name": order.name,
            "kind": order.kind,
            "service": order.service,
            "event": order.event,
            "floor": None if order.kind == "cancel" else order.floor,
            "at": utc(order.at),
            "until": utc(order.until),
            "by": order.by,
            "reason": order.reason,
        }
        for order in orders
    ]


def lines(orders: Iterable[Order], zone: str) -> list[str]:
    """What each says, until when, who said it and why."""
    return [
        f"{order.name}: {_says(order)} until {both(order.until, zone)}; {order.by}: {order.reason}" for order in orders
    ]


def _says(order: Order) -> str:
    if order.kind == "cancel":
        return f"{order.event} is off for {order.service or 'every service'}"
    return (
        f"{order.service} has at least {order.floor}"
        if order.kind == "now"
        else f"{order.service} is held at {order.floor}"
    )
