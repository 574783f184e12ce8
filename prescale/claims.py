"""Whose word counts on one object now: active events, orders, recorded ones not yet let go, a person's higher value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace
from whenever import Instant

from prescale.calling_off import how
from prescale.clock import Clock
from prescale.observed import Observed
from prescale.orders.order import SOURCE, Order, Orders
from prescale.record import Held, Kept, Record
from prescale.windows.window import Window

# A person's higher value outside of any window is left alone this long.
KEPT_FOR_S = 4 * 3600
RAISE_CEILING = "Raise replicas.max in platform.yaml and run `pulumi up`; the ceiling is the builder's."


def raise_ceiling(observed: Observed) -> str:
    """What to do about a ceiling that is too low."""
    if not observed.is_adopted:
        return RAISE_CEILING
    theirs = f"{observed.fields.maximum} of {observed.fields.short} {observed.name}"
    return f"Raise {theirs} where it is made, and replicas.max in platform.yaml with it; the ceiling is its maker's."


class Claims(Struct, frozen=True):
    """`events` are those whose floor counts, and what is to be remembered of them.

    `may_lower` is False where an event's floor had to be refused: what is there now may be all it gets.
    """

    events: tuple[Held, ...]
    may_lower: bool
    notes: tuple[str, ...]
    findings: tuple[str, ...]

    @property
    def floor(self) -> int:
        """The highest floor asked for; 0 without any event."""
        return max((held.floor for held in self.events), default=0)


class _Said(Struct, frozen=True):
    """What calendar or orders say of one event: its floor counts now, or `why_not`.

    `early` is what a run that knows of slower starts may have raised it to already.
    """

    floor: int
    until: Instant
    why_not: str | None = None
    early: int = 0


def of_events(
    observed: Observed,
    before: Record,
    windows: Sequence[Window],
    calendar: str,
    clock: Clock,
    *,
    orders: Orders,
    is_certain: bool,
    by_hand: bool,
) -> Claims:
    """Active events of `calendar`, orders in force, and those of the record that no certain word has ended.

    Args:
        is_certain: False holds every recorded event, whatever calendar, orders and clock say.
        by_hand: the calendar's word lets go of nothing that is recorded before its recorded end: who orders something
            by hand does not mean what else differs between the copy of the calendar here and the runner's.
    """
    said = _said(observed, windows, calendar, clock, orders)
    claims, findings = _active(observed, before, said)
    refused = bool(findings)
    notes: list[str] = []
    for held in before.events:
        key = (held.calendar, held.event)
        cancel = orders.cancel(held.event, observed.service, clock)
        if cancel and is_certain:
            notes.append(f"{held.event}: let go, {_called_off(cancel)}")
        elif held.calendar not in {calendar, SOURCE}:
            claims[key] = held
            if held.until <= clock.now:
                fix = f"A run from there lets go of it, or `warmline prescale cancel {held.event}`."
                findings.append(f"{held.event}: its end is past, but {held.calendar} raised it. {fix}")
            else:
                notes.append(f"{held.event}: held at {held.floor} for {held.calendar}, which raised it")
        elif not is_certain:
            claims[key] = _larger(held, claims.get(key))
        elif key in said and not (by_hand and held.calendar == calendar):
            notes += _early_or_gone(held, said[key], key, claims)
        elif held.until > clock.now:
            claims[key] = _larger(held, claims.get(key))
            notes += [] if key in said else [_gone(held)]
        elif key not in claims:
            notes.append(f"{held.event}: let go, it is over")
    return Claims(tuple(sorted(claims.values())), not refused, tuple(notes), tuple(findings))


def _early_or_gone(held: Held, said: _Said, key: tuple[str, str], claims: dict[tuple[str, str], Held]) -> Iterator[str]:
    """What becomes of more than the calendar asks for now: a run that knew of slower starts may have raised it."""
    claimed = claims.get(key)
    if (claimed.floor if claimed else 0) < held.floor <= said.early:
        claims[key] = _larger(held, claimed)
        yield f"{held.event}: held at {held.floor}, raised early by a run that knew of slower starts"
    elif claimed is None:
        yield f"{held.event}: let go, {said.why_not}"


def _said(
    observed: Observed, windows: Sequence[Window], calendar: str, clock: Clock, orders: Orders
) -> dict[tuple[str, str], _Said]:
    said: dict[tuple[str, str], _Said] = {}
    for window in windows:
        floor = max(window.floor_at(moment) for moment in clock.moments)
        early = max(window.floor_early(moment) for moment in clock.moments)
        why_not: str | None = None
        if cancel := orders.cancel(window.event, observed.service, clock):
            why_not, early = _called_off(cancel), 0
        elif not floor:
            why_not = _why(window, clock.now)
        said[calendar, window.event] = _Said(floor, window.end.to_instant(), why_not, early)
    in_force = orders.floors(observed.service, clock)
    for order in orders.said:
        if order.kind != "cancel" and order.service == observed.service:
            why_not = None if order in in_force else "it is over"
            said[SOURCE, order.event] = _Said(order.floor, order.until, why_not)
    return said


def _active(
    observed: Observed, before: Record, said: Mapping[tuple[str, str], _Said]
) -> tuple[dict[tuple[str, str], Held], list[str]]:
    claims: dict[tuple[str, str], Held] = {}
    findings: list[str] = []
    recorded = {(held.calendar, held.event) for held in before.events}
    for (source, event), one in said.items():
        if one.why_not:
            continue
        if one.floor <= observed.max_replicas or (source, event) in recorded:
            claims[source, event] = Held(source, event, one.floor, one.until)
        else:
            above = f"it is above the live ceiling of {observed.max_replicas}"
            findings.append(f"{event}: a floor of {one.floor} was refused, {above}. {raise_ceiling(observed)}")
    return claims, findings


def _called_off(cancel: Order) -> str:
    return f"cancelled by {cancel.by}: {cancel.reason}"


def _gone(held: Held) -> str:
    """The note on what has vanished from where it was said."""
    call_off = f"`warmline prescale cancel {held.event}`"
    where, fix = "the cluster's orders", f"{call_off} lets it go now."
    if held.calendar != SOURCE:
        where, fix = "the calendar", f"To let it go now {how(held.event)}, or run {call_off}."
    return f"{held.event}: gone from {where}, held at {held.floor} to its end {held.until.format_iso()}. {fix}"


def _why(window: Window, now: Instant) -> str:
    if window.cancelled:
        return "it is cancelled"
    return "it is over" if window.end.to_instant() <= now else f"it was moved to {window.start.format_iso()}"


def _larger(one: Held, other: Held | None) -> Held:
    if other is None:
        return one
    return replace(one, floor=max(one.floor, other.floor), until=max(one.until, other.until))


def of_a_person(
    observed: Observed, before: Record, claims: Claims, baseline: int | None, now: Instant, *, may_lower: bool
) -> Kept | None:
    """A person's value above baseline and events: kept to the window's end, else for 4 hours.

    Another value of theirs takes its place; a lower one than what is wanted ends it.
    """
    kept = before.kept
    if kept:
        lies_under_ours = before.set_to is not None and before.set_to >= kept.floor
        if observed.live == kept.floor or (lies_under_ours and observed.live == before.set_to):
            if kept.until <= now and may_lower:
                return None
            # A window that opened meanwhile keeps it to its own end: nothing is lowered in the middle of a sale.
            return Kept(kept.floor, max([kept.until, *(held.until for held in claims.events)]))
    if baseline is None or observed.live <= max(baseline, claims.floor) or not _is_a_persons(observed, before):
        return None
    return Kept(observed.live, kept_until(claims.events, now))


def _is_a_persons(observed: Observed, before: Record) -> bool:
    """Whether the live value, which is above what is wanted, is a person's.

    Above the baseline, and nobody remembers it: without the server's book of owners it can only be a person's.
    """
    return observed.live != before.set_to and observed.min_writer in {None, "person"}


def kept_until(events: Iterable[Held], now: Instant) -> Instant:
    """The end of the last window that is still open, else 4 hours from now.

    One that only another calendar may let go of counts past its end, and says nothing of how long.
    """
    return max((held.until for held in events if held.until > now), default=now.add(seconds=KEPT_FOR_S))
