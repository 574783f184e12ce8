"""What `warmline prescale` prints: plain data for programs, lines for people. Nothing here decides anything."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from whenever import Instant, ZonedDateTime

from capacity.replicas import Exact, decimal_text
from prescale.sync import Outcome
from prescale.timetable import Load, Timetable, Window, usual
from prescale.warmth import Warmth
from stacks.loader import Stack
from stacks.series import name_and_day


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
    return f"{minute(local)} {zone} ({date}{_clock(there)}Z)"


def _clock(moment: ZonedDateTime) -> str:
    seconds = f":{moment.second:02}" if moment.second else ""
    return f"{moment.hour:02}:{moment.minute:02}{seconds}"


def _number(value: Exact) -> int | float:
    fraction = Fraction(value)
    return fraction.numerator if fraction.denominator == 1 else float(fraction)


def plan_data(stack: Stack, table: Timetable, now: Instant) -> dict[str, Any]:
    """The timetable as plain data: instants in UTC, durations in seconds, loads as numbers."""
    return {
        "stack": stack.name,
        "calendar": table.calendar,
        "timezone": stack.calendar.timezone,
        "at": utc(now),
        "events": [_window_data(window, now) for window in table.windows],
        "services": [
            {
                "name": name,
                "baseline": service.replicas.min,
                "ceiling": service.replicas.max,
                "floor": table.floor_at(now, name, service.replicas.min),
                "usual_load": _load_data(load) if (load := usual(service)) else None,
            }
            for name, service in stack.platform.services.items()
        ],
    }


def _load_data(load: Load) -> dict[str, Any]:
    return {
        "rps": _number(load.rps),
        "request_duration_s": _number(load.request_duration_s),
        "in_flight": _number(load.in_flight),
        "in_flight_per_replica": _number(load.in_flight_per_replica),
        "replicas": _number(load.replicas),
    }


def _window_data(window: Window, now: Instant) -> dict[str, Any]:
    return {
        "name": window.event,
        "service": window.service,
        "state": window.state(now),
        "floor": window.floor,
        "baseline": window.baseline,
        "ceiling": window.ceiling,
        "raise_at": utc(window.raise_at),
        "start": utc(window.start),
        "end": utc(window.end),
        "timezone": window.start.tz_id,
        **_load_data(window.load),
        "headroom_pct": _number(window.headroom_pct),
        "replicas_with_headroom": _number(window.replicas_with_headroom),
        "lead_time_s": window.lead_time_s,
        "margin_s": window.margin_s,
        "steps": [
            {"name": step.name, "starts_at": utc(step.starts_at), "takes_s": step.takes_s} for step in window.steps
        ],
    }


def minute(local: ZonedDateTime) -> str:
    """`2027-10-29 20:00`."""
    return f"{local.date()} {_clock(local)}"


def plan_arithmetic(stack: Stack, table: Timetable) -> list[str]:
    """How each floor came about, once for all occurrences of an event, and each service's usual load, as lines."""
    lines: list[str] = []
    firsts: dict[tuple[str, str], Window] = {}
    for window in table.windows:
        firsts.setdefault((name_and_day(window.event)[0], window.service), window)
    for window in firsts.values():
        lines += _reckoned(window)
    for name, service in stack.platform.services.items():
        if load := usual(service):
            lines.append(f"{name}, without any event")
            lines.append(f"  {_load_text(load)}; baseline {service.replicas.min}")
    return lines


def _load_text(load: Load) -> str:
    text = decimal_text
    in_flight = f"{text(load.rps)} rps x {text(load.request_duration_s)} s = {text(load.in_flight)} in flight"
    return f"{in_flight}; / {text(load.in_flight_per_replica)} = {text(load.replicas)} replicas of load"


def _reckoned(window: Window) -> Iterable[str]:
    yield f"{window.event}, {window.service}"
    yield f"  {_load_text(window.load)}"
    factor = decimal_text(1 + Fraction(window.headroom_pct) / 100)
    needed = decimal_text(window.replicas_with_headroom)
    bounds = f"baseline {window.baseline}, ceiling {window.ceiling}"
    headroom = f"{decimal_text(window.headroom_pct)} % headroom"
    yield f"  x {factor} ({headroom}) = {needed} -> floor {window.floor} ({bounds})"
    zone = window.start.tz_id or "UTC"
    steps = [f"{_clock(step.starts_at.to_tz(zone))} {step.name} {step.takes_s} s" for step in window.steps]
    yield f"  {' -> '.join([*steps, f'{_clock(window.start)} start'])}; lead time {window.lead_time_s} s"


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
    return f"{when}, {amount} {side} for {_clock(warmth.t0)}"
