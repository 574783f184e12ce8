"""Whose word counts on one object now: active events, recorded events not yet let go, a person's higher value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from whenever import Instant

from prescale.clock import Clock
from prescale.observed import Observed
from prescale.record import Held, Kept, Record
from prescale.timetable import Window
from stacks.series import name_and_day

# A person's higher value outside of any window is left alone this long.
KEPT_FOR_S = 4 * 3600
RAISE_CEILING = "Raise replicas.max in platform.yaml and run `pulumi up`; the ceiling is the builder's."


@dataclass(frozen=True)
class Claims:
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


def of_events(
    observed: Observed, before: Record, windows: Sequence[Window], calendar: str, clock: Clock, *, is_certain: bool
) -> Claims:
    """Active events of `calendar`, and those of the record that no certain word has ended.

    Args:
        is_certain: False holds every recorded event, whatever the calendar and the clock say.
    """
    claims, findings = _active(observed, before, windows, calendar, clock)
    refused = bool(findings)
    notes: list[str] = []
    written = {window.event: window for window in windows}
    for held in before.events:
        key = (held.calendar, held.event)
        if held.calendar != calendar:
            claims[key] = held
            if held.until <= clock.now:
                fix = "Only a run from there lets go of it: run it once more, or remove the annotation."
                findings.append(f"{held.event}: its end is past, but {held.calendar} raised it. {fix}")
            else:
                notes.append(f"{held.event}: held at {held.floor} for {held.calendar}, which raised it")
        elif not is_certain:
            claims[key] = _larger(held, claims.get(key))
        elif held.event in written:
            if key not in claims:
                notes.append(f"{held.event}: let go, {_why(written[held.event], clock.now)}")
        elif held.until > clock.now:
            claims[key] = held
            fix = f"{_call_off(held.event)} to let it go now."
            until = held.until.format_iso()
            notes.append(f"{held.event}: gone from the calendar, held at {held.floor} to its end {until}. {fix}")
        else:
            notes.append(f"{held.event}: let go, it is over")
    return Claims(tuple(sorted(claims.values())), not refused, tuple(notes), tuple(findings))


def _active(
    observed: Observed, before: Record, windows: Sequence[Window], calendar: str, clock: Clock
) -> tuple[dict[tuple[str, str], Held], list[str]]:
    claims: dict[tuple[str, str], Held] = {}
    findings: list[str] = []
    recorded = {(held.calendar, held.event) for held in before.events}
    for window in windows:
        floor = max(window.floor_at(moment) for moment in clock.moments)
        if not floor:
            continue
        key = (calendar, window.event)
        if floor <= observed.max_replicas or key in recorded:
            claims[key] = Held(calendar, window.event, floor, window.end.to_instant())
        else:
            above = f"it is above the live ceiling of {observed.max_replicas}"
            findings.append(f"{window.event}: a floor of {floor} was refused, {above}. {RAISE_CEILING}")
    return claims, findings


def _call_off(event: str) -> str:
    series, day = name_and_day(event)
    return f"Put {day} into cancelled_on of {series}" if day else "Mark it `cancelled: true`"


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
