"""The ConfigMap that keeps a stack's orders: how a run reads it, and how a person's order gets into it.

A run only reads it. Whoever adds an order removes those that have been over for a day: until then they say who and why,
and no clock that is let decide is as wrong as that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import Any

from prescale.api.objects import Conflict, Objects, Refused
from prescale.clock import Clock
from prescale.orders.order import Order, Orders, Unreadable, parse
from stacks import ownership

KNOWN_AFTER_S = 86400
# As for ScaledObjects: a write in between is answered by reading again.
ATTEMPTS = 8


def read(objects: Objects, stack: str) -> Orders:
    """All orders of `stack`, in one call: none where there is no ConfigMap. Read it after the ScaledObjects.

    Raises:
        OutOfReach: the cluster did not answer.
    """
    name = ownership.orders_name(stack)
    try:
        entries = _entries(objects.config_map(name), stack)
    except Refused as error:
        fix = f"Nothing is lowered. Give the user a Role that may get ConfigMap {name}, or look whose it is."
        return Orders(unreadable=(f"the orders cannot be read ({error}). {fix}",))
    said: list[Order] = []
    unreadable: list[str] = []
    for key, text in sorted(entries.items()):
        try:
            said.append(parse(key, text))
        except Unreadable as error:
            fix = f"Nothing is lowered. Correct or remove it in ConfigMap {name}."
            unreadable.append(f"the order {key} cannot be read ({error}). {fix}")
    return Orders(tuple(said), tuple(unreadable))


def write(
    objects: Objects, stack: str, orders: Sequence[Order], clock: Clock, *, without: Collection[str] = ()
) -> tuple[Order, ...]:
    """Add `orders`, and take back those named in `without`, in one write.

    Returns: the orders as they were written: one whose name was taken has another.

    Raises:
        Refused: a Role or a policy said no, or the ConfigMap is not the stack's.
        OutOfReach: the cluster did not answer.
    """
    name = ownership.orders_name(stack)
    for _ in range(ATTEMPTS):
        found = objects.config_map(name)
        entries = _entries(found, stack)
        written = tuple(_with_own_name(order, entries) for order in orders)
        added = {order.name: order.text() for order in written if order.name not in entries}
        gone = dict.fromkeys(key for key, text in entries.items() if key in without or _is_long_over(key, text, clock))
        try:
            if found is None and added:
                objects.create_config_map(name, {ownership.STACK_LABEL: stack}, added)
            elif found is not None and (added or gone):
                version = found["metadata"]["resourceVersion"]
                patch = {"metadata": {"resourceVersion": version}, "data": {**gone, **added}}
                objects.patch_config_map(name, patch)
        except Conflict:
            continue
        return written
    raise Refused(f"somebody else wrote {name} {ATTEMPTS} times while we tried")


def remove(objects: Objects, stack: str) -> None:
    """Delete the ConfigMap, if there is one, with all orders.

    Raises:
        Refused: a Role said no, or it is not the stack's.
        OutOfReach: the cluster did not answer.
    """
    found = objects.config_map(ownership.orders_name(stack))
    if found is not None:
        _entries(found, stack)
        objects.delete_config_map(ownership.orders_name(stack))


def _entries(found: Mapping[str, Any] | None, stack: str) -> Mapping[str, str]:
    if found is None:
        return {}
    metadata = found["metadata"]
    if (metadata.get("labels") or {}).get(ownership.STACK_LABEL) != stack:
        raise Refused(f"ConfigMap {metadata['name']} does not carry the label {ownership.STACK_LABEL}: {stack}")
    entries: Mapping[str, str] = found.get("data") or {}
    return entries


def _with_own_name(order: Order, entries: Mapping[str, str]) -> Order:
    """The order under the first name that is free, or its own already: a request may arrive twice."""
    names = chain([order.name], (f"{order.name}-{number}" for number in count(2)))
    name = next(one for one in names if entries.get(one, order.text()) == order.text())
    return replace(order, name=name, event=order.event if order.kind == "cancel" else name)


def _is_long_over(key: str, text: str, clock: Clock) -> bool:
    try:
        until = parse(key, text).until
    except Unreadable:
        return False
    return all(until.add(seconds=KNOWN_AFTER_S) <= moment for moment in clock.moments)
