"""One window and one run at a time: what the tests of decisions are written with. T0 is 20:00 in Kolkata."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from whenever import Instant

from prescale import record as book
from prescale.clock import Clock
from prescale.decision import Decision, decide
from prescale.floors.load import Load
from prescale.record import Record
from prescale.windows.window import Step, Window
from stacks import ownership
from tests.core.cluster_double import patched, seen

T0 = Instant.from_utc(2027, 10, 29, 14, 30)
HOUR = 3600
HERE = "local/events.yaml"
LOAD = Load("replicas", Fraction(1))


def at(seconds: float) -> Instant:
    """Seconds after T0."""
    return T0.add(seconds=seconds)


def window(
    event: str = "sale",
    floor: int = 7,
    raise_s: int = -1800,
    start_s: int = 0,
    end_s: int = 4 * HOUR,
    *,
    cancelled: bool = False,
) -> Window:
    steps = (Step("all of it", at(raise_s), start_s - raise_s),)
    start, end = (at(s).to_tz("Asia/Kolkata") for s in (start_s, end_s))
    zero = Decimal(0)
    return Window(
        event, "support-bot", cancelled, LOAD, zero, Fraction(floor), floor, 16, 2, 1500, start, end, 300, steps
    )


def run(
    target: dict[str, Any],
    windows: list[Window],
    seconds: float = 0,
    *,
    calendar: str = HERE,
    clock: Clock | None = None,
) -> tuple[dict[str, Any], Decision]:
    """One run: the object after it, and what was decided."""
    decision = decide(seen(target), windows, calendar, clock or Clock(at(seconds)))
    return patched(target, decision.patch), decision


def minimum(target: dict[str, Any]) -> int:
    value: int = target["spec"].get("minReplicaCount", 0)
    return value


def remembered(target: dict[str, Any]) -> Record | None:
    text = target["metadata"]["annotations"].get(ownership.FLOOR_ANNOTATION)
    return None if text is None else book.parse(text)
