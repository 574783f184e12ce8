"""One entry as one event, and what it is known by."""

from __future__ import annotations

import hashlib
import re
from datetime import date
from pathlib import Path

from stacks.event_names import UID_DIGITS
from stacks.ics.entry import Entry, Moment
from stacks.ics.matching import Meant
from stacks.ics.reader import Reader, Wrong
from stacks.series import Event


def of(entry: Entry) -> Moment:
    if entry.of is None:
        raise Wrong(entry, "RECURRENCE-ID", "none", "the occurrence it stands for")
    if entry.is_for_all_after:
        fix = "Split the series in the calendar program: end it the day before, and begin another."
        raise Wrong(entry, "RECURRENCE-ID", "RANGE=THISANDFUTURE", "one occurrence", fix)
    return entry.of


def name_of(reader: Reader, entry: Entry, day: date | None = None) -> str:
    """`sales-1f3a9c02b7@2027-10-29`: stays the same when the entry is renamed or moved."""
    stem = re.sub(r"[^a-z0-9]+", "-", Path(reader.spec.file).stem.lower())[:29].strip("-") or "ics"
    name = f"{stem}-{hashlib.sha256(entry.uid.encode()).hexdigest()[:UID_DIGITS]}"
    return f"{name}@{day}" if day else name


def event_of(reader: Reader, entry: Entry, meant: Meant, name: str, *, cancelled: bool = False) -> Event:
    times = reader.times(entry)
    start, end = times.window()
    if times.zone == "UTC":
        start, end = start.to_tz(reader.zone), end.to_tz(reader.zone)
    is_off = cancelled or entry.is_cancelled
    return Event(name, start, end, is_off, meant.asked, meant.place, entry.summary or None)


def single_of(reader: Reader, entry: Entry, meant: Meant, zone: str, *, cancelled: bool = False) -> Event:
    day = reader.face_in(zone, entry, "RECURRENCE-ID", of(entry)).date()
    return event_of(reader, entry, meant, name_of(reader, entry, day), cancelled=cancelled)
