"""What `warmline prescale` prints: plain data for programs, lines for people. Nothing here decides anything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from whenever import Instant, ZonedDateTime

if TYPE_CHECKING:
    from prescale.sync import Outcome
    from prescale.timetable import Timetable
    from prescale.warmth import Warmth


def utc(moment: Instant | ZonedDateTime) -> str:
    """RFC 3339 in UTC, with `Z`."""
    instant = moment if isinstance(moment, Instant) else moment.to_instant()
    text: str = instant.format_iso()
    return text


def both(moment: Instant | ZonedDateTime, zone: str) -> str:
    """Local time and UTC: `2027-10-29 20:00 Asia/Kolkata (14:30Z)`, with the date again where UTC has another."""
    instant = moment if isinstance(moment, Instant) else moment.to_instant()
    local, there = instant.to_tz(zone), instant.to_tz("UTC")
    date = "" if there.date() == local.date() else f"{there.date()} "
    return f"{minute(local)} {zone} ({date}{time_of_day(there)}Z)"


def time_of_day(moment: ZonedDateTime) -> str:
    """`20:00`, with seconds only where there are any."""
    seconds = f":{moment.second:02}" if moment.second else ""
    return f"{moment.hour:02}:{moment.minute:02}{seconds}"


def minute(local: ZonedDateTime) -> str:
    """`2027-10-29 20:00`."""
    return f"{local.date()} {time_of_day(local)}"


def sync_data(stack: str, at: Instant, outcomes: Sequence[Outcome], *, dry_run: bool) -> dict[str, Any]:
    """A run as plain data."""
    return {
        "stack": stack,
        "at": utc(at),
        "dry_run": dry_run,
        "services": [
            {
                "service": outcome.service,
                "was": outcome.was,
                "target": outcome.target,
                "events": list(outcome.events),
                "patch": outcome.patch,
                "patched": outcome.patched_at is not None,
                "in_force_s": None if outcome.in_force_s is None else round(outcome.in_force_s, 2),
                "notes": list(outcome.notes),
                "findings": list(outcome.findings),
            }
            for outcome in outcomes
        ],
    }


def sync_lines(outcomes: Sequence[Outcome], table: Timetable, now: Instant, *, dry_run: bool) -> list[str]:
    """One line for each service, then its notes; what needs a person starts with `!`."""
    lines = []
    for outcome in outcomes:
        lines.append(f"{outcome.service}: {_done(outcome, table, now, dry_run=dry_run)}")
        if dry_run and outcome.patch:
            lines.append(f"  {json.dumps(outcome.patch)}")
        lines += [f"  {note}" for note in outcome.notes]
        lines += [f"! {finding}" for finding in outcome.findings]
    return lines


def _done(outcome: Outcome, table: Timetable, now: Instant, *, dry_run: bool) -> str:
    if outcome.was is None or outcome.target is None:
        return "nothing done"
    why = ", ".join(outcome.events) or "the baseline"
    if outcome.patch is None:
        coming = [window for window in table.of(outcome.service) if window.state(now) == "planned"]
        after = ""
        if coming:
            zone = coming[0].start.tz_id or "UTC"
            after = f"; next {coming[0].floor} for {coming[0].event} at {both(coming[0].raise_at, zone)}"
        return f"minReplicaCount stays {outcome.was} ({why}){after}"
    change = f"{outcome.was} -> {outcome.target}" if outcome.was != outcome.target else f"stays {outcome.was}, noted"
    if dry_run:
        return f"minReplicaCount would be patched: {change} ({why})"
    force = "" if outcome.in_force_s is None else f"; in force on the HPA after {outcome.in_force_s:.1f} s"
    return f"minReplicaCount {change} ({why}){force}"


def status_data(stack: str, at: Instant, warmths: Sequence[Warmth]) -> dict[str, Any]:
    """The look as plain data."""
    return {
        "stack": stack,
        "at": utc(at),
        "warm": all(warmth.is_warm for warmth in warmths),
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
                "late_s": warmth.late_s,
                "notes": list(warmth.notes),
            }
            for warmth in warmths
        ],
    }


def status_lines(warmths: Sequence[Warmth], zone: str) -> list[str]:
    """One line for each service: warm or not, and by when."""
    lines = []
    for warmth in warmths:
        floor = f"floor {warmth.floor} ({warmth.event or 'the baseline'})"
        shown = "none" if warmth.hpa_min is None else warmth.hpa_min
        seen = f"HPA minReplicas {shown}, {warmth.ready} Ready, {warmth.answering} answering"
        state = "warm" if warmth.is_warm else "NOT warm"
        lines.append(f"{warmth.service}: {state}; {floor}; {seen}")
        if warmth.missing:
            lines.append(f"! missing: {'; '.join(warmth.missing)}{_by_when(warmth, zone)}")
        lines += [f"  {note}" for note in warmth.notes]
    return lines


def _by_when(warmth: Warmth, zone: str) -> str:
    if warmth.ready_by is None:
        return ""
    when = f"; ready by {both(warmth.ready_by, zone)}"
    if warmth.late_s is None or warmth.t0 is None:
        return when
    minutes, side = abs(warmth.late_s) / 60, "late" if warmth.late_s > 0 else "early"
    amount = f"{minutes:.0f} min" if minutes >= 1 else f"{abs(warmth.late_s)} s"
    return f"{when}, {amount} {side} for {time_of_day(warmth.t0)}"
