"""What `warmline prescale sync` prints: plain data for programs, lines for people. Nothing here decides anything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from whenever import Instant

from cli.prescale import orders_text
from cli.prescale.text import both, utc
from prescale.outcome import Outcome
from prescale.windows.window import Timetable


def data(stack: str, at: Instant, outcomes: Sequence[Outcome], *, dry_run: bool) -> dict[str, Any]:
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
                "orders": orders_text.data(outcome.orders),
                "patch": outcome.patch,
                "patched": outcome.patched_at is not None,
                "in_force_s": None if outcome.in_force_s is None else round(outcome.in_force_s, 2),
                "notes": list(outcome.notes),
                "findings": list(outcome.findings),
            }
            for outcome in outcomes
        ],
    }


def lines(outcomes: Sequence[Outcome], table: Timetable, now: Instant, zone: str, *, dry_run: bool) -> list[str]:
    """One line for each service, then its orders and notes; what needs a person starts with `!`."""
    told = []
    for outcome in outcomes:
        told.append(f"{outcome.service}: {_done(outcome, table, now, dry_run=dry_run)}")
        if dry_run and outcome.patch:
            told.append(f"  {json.dumps(outcome.patch)}")
        told += [f"  {line}" for line in orders_text.lines(outcome.orders, zone)]
        told += [f"  {note}" for note in outcome.notes]
        told += [f"! {finding}" for finding in outcome.findings]
    return told


def _done(outcome: Outcome, table: Timetable, now: Instant, *, dry_run: bool) -> str:
    if outcome.was is None or outcome.target is None:
        return "nothing done"
    why = ", ".join(outcome.events) or "the baseline"
    if outcome.patch is None:
        off = {order.event for order in outcome.orders if order.kind == "cancel"}
        windows = (window for window in table.of(outcome.service) if window.event not in off)
        coming = [window for window in windows if window.state(now) == "planned"]
        after = ""
        if coming:
            zone = coming[0].start.tz_id or "UTC"
            after = f"; next {coming[0].rise_at(now).floor} for {coming[0].event} at {both(coming[0].raise_at, zone)}"
        return f"{outcome.minimum} stays {outcome.was} ({why}){after}"
    change = f"{outcome.was} -> {outcome.target}" if outcome.was != outcome.target else f"stays {outcome.was}, noted"
    if dry_run:
        return f"{outcome.minimum} would be patched: {change} ({why})"
    force = "" if outcome.in_force_s is None else f"; in force on the HPA after {outcome.in_force_s:.1f} s"
    return f"{outcome.minimum} {change} ({why}){force}"
