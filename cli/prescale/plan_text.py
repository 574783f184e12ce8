"""What `warmline prescale plan` prints beside its table: plain data for programs, the arithmetic for people."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from whenever import Instant

from capacity.replicas import Exact, decimal_text
from cli.output import number
from cli.prescale.text import both, time_of_day, utc
from prescale.floors.gap import Hold
from prescale.floors.load import Load, usual
from prescale.windows.window import Timetable, Window
from stacks.event_names import name_and_day
from stacks.holiday import holiday_notes
from stacks.loader import Stack
from stacks.stray import stray_cancels

# Of gaps that are held: what repeats has many.
GAPS_SHOWN = 5


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
        "findings": findings(table),
        "notes": _notes(stack, now),
    }


def _load_data(load: Load) -> dict[str, Any]:
    """None for what the load's unit does not say: unknown, and not 0."""
    return {
        "unit": load.unit,
        "multiplier": number(load.multiplier),
        "rps": number(load.rps),
        "request_duration_s": number(load.request_duration_s),
        "in_flight": number(load.in_flight),
        "in_flight_per_replica": number(load.in_flight_per_replica),
        "tokens_per_s": number(load.tokens_per_s),
        "tokens_per_s_per_replica": number(load.tokens_per_s_per_replica),
        "replicas": number(load.replicas),
    }


def _window_data(window: Window, now: Instant) -> dict[str, Any]:
    return {
        "name": window.event,
        "title": window.title,
        "service": window.service,
        "state": window.state(now),
        "owner": window.owner,
        "priority": window.priority,
        "floor": window.floor,
        "baseline": window.baseline,
        "ceiling": window.ceiling,
        "raise_at": utc(window.raise_at),
        "start": utc(window.start),
        "end": utc(window.end),
        "timezone": window.start.tz_id,
        **_load_data(window.load),
        "headroom_pct": number(window.headroom_pct),
        "replicas_with_headroom": number(window.replicas_with_headroom),
        "lead_time_s": window.lead_time_s,
        "margin_s": window.margin_s,
        "steps": [
            {"name": step.name, "starts_at": utc(step.starts_at), "takes_s": step.takes_s} for step in window.steps
        ],
        "ramp": _ramp_data(window),
        "holds": [
            {"floor": hold.rise.floor, "since": utc(hold.rise.raise_at), "until": utc(hold.until), "after": hold.after}
            for hold in window.holds
        ],
    }


def _ramp_data(window: Window) -> dict[str, Any] | None:
    if window.ramp is None:
        return None
    return {
        "steps": window.ramp.steps,
        "over_s": window.ramp.over_s,
        "rises": [{"floor": rise.floor, "at": utc(rise.at), "raise_at": utc(rise.raise_at)} for rise in window.rises],
    }


def plan_arithmetic(stack: Stack, table: Timetable) -> list[str]:
    """How each floor came about, once for all occurrences of an event, and each service's usual load, as lines."""
    lines: list[str] = []
    firsts: dict[tuple[str, str], Window] = {}
    for window in table.windows:
        firsts.setdefault((name_and_day(window.event)[0], window.service), window)
    for window in firsts.values():
        lines += reckoned(stack, window)
    for name, service in stack.platform.services.items():
        if load := usual(service):
            lines.append(f"{name}, without any event")
            lines.append(f"  {_of_load(load, None)}; baseline {service.replicas.min}")
    return lines


def remarks(stack: Stack, table: Timetable, now: Instant) -> list[str]:
    """What calendar files, holidays and days leave open; what needs a person starts with `!`."""
    return [*(f"! {text}" for text in findings(table)), *_notes(stack, now)]


def findings(table: Timetable) -> list[str]:
    """Each is an event that may be missing."""
    return [*dict.fromkeys(said for _, said in table.findings)]


def _notes(stack: Stack, now: Instant) -> list[str]:
    calendar = stack.calendar
    today = now.to_tz(calendar.timezone).date().to_stdlib()
    return [*calendar.notes, *holiday_notes(calendar.series, today), *stray_cancels(stack, today)]


def gap_lines(table: Timetable, now: Instant, zone: str) -> list[str]:
    """What is held between two events, where their gap is too short to cool in."""
    held = [(window, hold) for window in table.windows for hold in window.holds if hold.until > now]
    shown = [_gap(window, hold, zone) for window, hold in held[:GAPS_SHOWN]]
    return (
        shown if len(held) <= GAPS_SHOWN else [*shown, f"{len(held) - GAPS_SHOWN} more such gaps; -o json has them all"]
    )


def _gap(window: Window, hold: Hold, zone: str) -> str:
    since, until = both(hold.rise.raise_at, zone), time_of_day(hold.until.to_tz(zone))
    gap_s = round((hold.until - hold.rise.raise_at).total("seconds"))
    why = f"{gap_s} s between {hold.after} and {window.event}, less than a lead time of {window.lead_time_s} s"
    return f"{window.service}: held at {hold.rise.floor} from {since} to {until}, {why}"


def _of_load(load: Load, without_event: Load | None) -> str:
    """From what was said to replicas, step by step.

    Args:
        without_event: what a multiplier multiplies.
    """
    text = decimal_text
    each: Exact
    if load.unit == "replicas":
        return f"{text(load.replicas)} replicas, said as such"
    if load.tokens_per_s is not None and load.tokens_per_s_per_replica is not None:
        said, each = f"{text(load.tokens_per_s)} output tokens/s", load.tokens_per_s_per_replica
    else:
        said, each = f"{text(load.in_flight or 0)} in flight", load.in_flight_per_replica or 0
    if load.rps is not None and load.request_duration_s is not None:
        said = f"{text(load.rps)} rps x {text(load.request_duration_s)} s = {said}"
    if load.multiplier is not None and without_event and without_event.rps is not None:
        said = f"{text(load.multiplier)} x {text(without_event.rps)} rps = {said}"
    return f"{said}; / {text(each)} = {text(load.replicas)} replicas of load"


def reckoned(stack: Stack, window: Window) -> Iterable[str]:
    """How one window's floor came about; the first line names it."""
    about = [window.title] if window.title else []
    about += [f"owner {window.owner}"] * bool(window.owner) + [f"priority {window.priority}"] * bool(window.priority)
    yield "; ".join([f"{window.event}, {window.service}", *about])
    yield f"  {_of_load(window.load, usual(stack.platform.services[window.service]))}"
    factor = decimal_text(1 + Fraction(window.headroom_pct) / 100)
    needed = decimal_text(window.replicas_with_headroom)
    bounds = f"baseline {window.baseline}, ceiling {window.ceiling}"
    headroom = f"{decimal_text(window.headroom_pct)} % headroom"
    yield f"  x {factor} ({headroom}) = {needed} -> floor {window.floor} ({bounds})"
    zone = window.start.tz_id or "UTC"
    steps = [f"{time_of_day(step.starts_at.to_tz(zone))} {step.name} {step.takes_s} s" for step in window.steps]
    first = window.rises[0].at if window.rises else window.start
    end = "start" if first == window.start else "first step"
    yield f"  {' -> '.join([*steps, f'{time_of_day(first)} {end}'])}; lead time {window.lead_time_s} s"
    if window.ramp:
        each = ", ".join(f"{rise.floor} at {time_of_day(rise.at)}" for rise in window.rises)
        ahead_s = window.lead_time_s + window.margin_s
        rise = f"from {min(window.baseline, window.floor)} in {window.ramp.steps} steps over {window.ramp.over_s} s"
        yield f"  {rise}: {each}, each raised {ahead_s} s before; start {time_of_day(window.start)}"
