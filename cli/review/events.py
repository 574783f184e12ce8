"""What a review says of a stack's events: one table, as Markdown. Nothing here decides anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from whenever import Instant

from cli.prescale.text import both
from infra.review.markdown import Section, arrow, code, escaped
from prescale.plan_change import Cause, EventChange, PlanChange, Planned

COLUMNS = ("Event", "Service", "What", "Floor", "GPUs at floor", "Raised at", "T0", "End", "Because")
NONE = "none"


def section(change: PlanChange, now: Instant) -> Section:
    """The events' part of a review."""
    counted = Counter(item.kind for item in change.events)
    counts = ", ".join(f"{number} {kind}" for kind, number in counted.items())
    return Section(
        "events",
        counts=f"events: {counts}" if counts else "",
        findings=change.findings,
        columns=COLUMNS,
        rows=tuple(_row(item, now) for item in change.events),
    )


def _row(change: EventChange, now: Instant) -> str:
    side = change.sides[-1]
    cells = [
        code(side.event),
        code(side.service),
        ", ".join(what(change, now)),
        _pair(change, lambda planned: NONE if planned.is_cancelled else str(planned.floor)),
        _pair(change, _gpus),
        *(escaped(_pair(change, time)) for time in (_raise_at, _start, _end)),
        escaped("; ".join(_because(change))),
    ]
    return f"| {' | '.join(cells)} |"


def what(change: EventChange, now: Instant) -> list[str]:
    """The kind, and what it does not say of the side that counts."""
    side = change.sides[-1]
    words: list[str] = [change.kind]
    if side.is_cancelled and change.kind != "cancelled":
        words.append("cancelled")
    elif side.is_over(now):
        words.append("over")
    elif change.kind not in {"removed", "cancelled"} and side.raise_at < now < side.start:
        words.append("its time to raise has passed")
    return words


def _pair(change: EventChange, said: Callable[[Planned], str]) -> str:
    before, after = (NONE if side is None else said(side) for side in (change.before, change.after))
    return arrow(before, after)


def _gpus(planned: Planned) -> str:
    if planned.is_cancelled:
        return NONE
    return "unknown" if planned.gpus_at_floor is None else str(planned.gpus_at_floor)


def _raise_at(planned: Planned) -> str:
    return both(planned.raise_at, planned.zone)


def _start(planned: Planned) -> str:
    return both(planned.start, planned.zone)


def _end(planned: Planned) -> str:
    return both(planned.end, planned.zone)


def causes(change: EventChange) -> Iterator[Cause]:
    """Everything that is not what it was: what the plan has, and the GPUs of a replica."""
    yield from change.causes
    before, after = (side.gpus_per_replica if side else None for side in (change.before, change.after))
    if before and after and before != after:
        yield Cause("gpus_per_replica", before, after)


def _because(change: EventChange) -> Iterator[str]:
    for cause in causes(change):
        before, after = (NONE if value is None else value for value in (cause.before, cause.after))
        yield f"{cause.name} {before} → {after}"
    if change.by_code:
        yield "the code reckons it differently"
