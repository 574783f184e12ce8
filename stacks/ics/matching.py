"""What an entry of an iCalendar file asks: its own word, or the first row of events.yaml that matches it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from stacks.demand import Asked
from stacks.events import CalendarFile, Match
from stacks.faults import Fault, InputError
from stacks.ics.entry import OWN_WORD, Entry
from stacks.series import Place
from stacks.wording import validation_fault
from stacks.yaml_text import parse


@dataclass(frozen=True)
class Meant:
    """What an entry asks, and where in events.yaml that is said: the calendar's row for an entry's own word."""

    asked: Asked
    place: Place


def row_of(entry: Entry, spec: CalendarFile) -> int | None:
    """The first row that matches."""
    return next((row for row, one in enumerate(spec.events) if _matches(entry, one.match)), None)


def own_word(entry: Entry, file: str) -> Asked:
    """What the entry itself says.

    Raises:
        InputError: it is no YAML of that shape.
    """
    document = parse(entry.own_word or "", file)
    try:
        return Asked.model_validate(document.data)
    except ValidationError as error:
        faults = [validation_fault(file, document, item) for item in error.errors()]
        raise InputError(faults) from None


def at_entry(entry: Entry, error: InputError) -> Iterator[Fault]:
    """Faults of an entry's own word, on its line and below its property."""
    for fault in error.faults:
        path = f"{OWN_WORD}.{fault.path}".rstrip(".")
        yield Fault(fault.file, entry.line, path, fault.got, fault.expected, fault.fix)


def unmatched(entries: tuple[Entry, ...], spec: CalendarFile, place: Place) -> Iterator[tuple[Place, str]]:
    """Rows that no entry matches: the entry may have been renamed, and then nothing is raised for it."""
    used = {row_of(entry, spec) for entry in entries}
    for row, one in enumerate(spec.events):
        if row in used or one.match == Match():
            continue
        said = ", ".join(f"{name} {text!r}" for name, text in one.match.model_dump(exclude_none=True).items())
        text = f"no entry of {spec.file} with {said} comes to this row. Correct it, or remove the row."
        yield (*place, "events", row), text


def _matches(entry: Entry, match: Match) -> bool:
    if match.summary is not None and not _like(entry.summary, match.summary):
        return False
    return match.category is None or any(_like(category, match.category) for category in entry.categories)


def _like(text: str, pattern: str) -> bool:
    pieces = (re.escape(piece) for piece in pattern.strip().casefold().split("*"))
    return re.fullmatch(".*".join(pieces), text.strip().casefold()) is not None
