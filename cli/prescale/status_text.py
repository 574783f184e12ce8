"""What `warmline prescale status` prints: plain data for programs, lines for people. Nothing here decides anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whenever import Instant

from cli.prescale import orders_text
from cli.prescale.text import both, time_of_day, utc
from prescale.orders.order import Order
from prescale.warmth import Warmth


def data(stack: str, at: Instant, warmths: Sequence[Warmth], orders: Sequence[Order]) -> dict[str, Any]:
    """The look as plain data."""
    return {
        "stack": stack,
        "at": utc(at),
        "warm": all(warmth.is_warm for warmth in warmths),
        "orders": orders_text.data(orders),
        "services": [
            {
                "service": warmth.service,
                "warm": warmth.is_warm,
                "event": warmth.event,
                "floor": warmth.floor,
                "hpa_min_replicas": warmth.hpa_min,
                "ready": warmth.ready,
                "answering": warmth.answering,
                "missing": list(warmth.missing),
                "ready_by": utc(warmth.ready_by) if warmth.ready_by else None,
                "t0": utc(warmth.t0) if warmth.t0 else None,
                "due": warmth.due,
                "late_s": warmth.late_s,
                "notes": list(warmth.notes),
            }
            for warmth in warmths
        ],
    }


def lines(warmths: Sequence[Warmth], zone: str, orders: Sequence[Order]) -> list[str]:
    """One line for each service: warm or not, and by when; then the orders in force."""
    told = []
    for warmth in warmths:
        floor = f"floor {warmth.floor} ({warmth.event or 'the baseline'})"
        shown = "none" if warmth.hpa_min is None else warmth.hpa_min
        seen = f"HPA minReplicas {shown}, {warmth.ready} Ready, {warmth.answering} answering"
        state = "warm" if warmth.is_warm else "NOT warm"
        told.append(f"{warmth.service}: {state}; {floor}; {seen}")
        if warmth.missing:
            told.append(f"! missing: {'; '.join(warmth.missing)}{_by_when(warmth, zone)}")
        told += [f"  {note}" for note in warmth.notes]
    return [*told, *orders_text.lines(orders, zone)]


def _by_when(warmth: Warmth, zone: str) -> str:
    if warmth.ready_by is None:
        return ""
    whose = "" if warmth.due is None else f"{warmth.due} "
    when = f"; {whose}ready by {both(warmth.ready_by, zone)}"
    if warmth.late_s is None or warmth.t0 is None:
        return when
    minutes, side = abs(warmth.late_s) / 60, "late" if warmth.late_s > 0 else "early"
    amount = f"{minutes:.0f} min" if minutes >= 1 else f"{abs(warmth.late_s)} s"
    return f"{when}, {amount} {side} for {time_of_day(warmth.t0)}"
