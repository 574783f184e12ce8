"""Entries of an iCalendar file as events and series, or what is wrong with each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from stacks.events import CalendarFile
from stacks.faults import Fault
from stacks.folders import shown
from stacks.ics.entry import Entry, Moment
from stacks.ics.file import IcsFile
from stacks.ics.matching import row_of, unmatched
from stacks.ics.reader import Reader, Wrong
from stacks.ics.repeated import repeated
from stacks.ics.single import event_of, name_of, of, single_of
from stacks.series import Event, Place, Series

# Entries with a load, over all the years of a file: what happens once, and what repeats. A plan of more takes minutes.
MOST_EVENTS, MOST_SERIES = 2000, 500


@dataclass(frozen=True)
class Found:
    """What one file has. `findings` need a person, each with its row of events.yaml; `notes` do not."""

    events: tuple[Event, ...] = ()
    series: tuple[Series, ...] = ()
    faults: tuple[Fault, ...] = ()
    findings: tuple[tuple[Place, str], ...] = ()
    notes: tuple[str, ...] = ()


def resolve_ics(file: IcsFile, spec: CalendarFile, place: Place, zone: str) -> Found:
    """The events of `file` that `spec` or they themselves give a load.

    Args:
        place: of `spec` in events.yaml.
        zone: of whole days, and of times without a zone.
    """
    if file.faults:
        return Found(faults=file.faults)
    reader = Reader(file, spec, place, zone)
    events: list[Event] = []
    series: list[Series] = []
    groups: dict[str, list[Entry]] = {}
    for entry in file.entries:
        groups.setdefault(entry.uid, []).append(entry)
    for entries in groups.values():
        for made in _of_group(reader, entries):
            if isinstance(made, Series):
                series.append(made)
            else:
                events.append(made)
    if len(events) > MOST_EVENTS or len(series) > MOST_SERIES:
        got = f"{len(events)} entries with a load that happen once, and {len(series)} that repeat"
        fix = "Match less, or keep planned events in a calendar of their own."
        expected = f"at most {MOST_EVENTS} and {MOST_SERIES}"
        return Found(faults=(Fault(shown(file.path), 0, "", got, expected, fix),))
    findings = tuple(unmatched(file.entries, spec, place))
    return Found(tuple(events), tuple(series), tuple(reader.faults), findings, tuple(_left_out(file, spec)))


def _left_out(file: IcsFile, spec: CalendarFile) -> Iterator[str]:
    titles = [entry.summary for entry in file.entries if entry.own_word is None and row_of(entry, spec) is None]
    if titles:
        some = ", ".join(repr(title[:40]) for title in list(dict.fromkeys(titles))[:3])
        yield f"{spec.file}: {len(titles)} entries match no row and are left out, among them {some}"


def _of_group(reader: Reader, entries: list[Entry]) -> Iterator[Event | Series]:
    """What the entries of one UID come to, or the first fault of theirs."""
    try:
        yield from _made(reader, entries)
    except Wrong as wrong:
        reader.faults.append(wrong.fault(shown(reader.file.path)))


def _made(reader: Reader, entries: list[Entry]) -> Iterator[Event | Series]:
    """The entry itself, and those that stand for single occurrences of it: what they leave unsaid is the entry's."""
    whole = _latest([entry for entry in entries if entry.of is None])
    meant = reader.meant(whole) if whole else None
    by_day: dict[Moment, list[Entry]] = {}
    for entry in entries:
        if entry.of is not None:
            by_day.setdefault(entry.of, []).append(entry)
    latest = [newest for group in by_day.values() if (newest := _latest(group))]
    single = [(entry, own) for entry in latest if (own := reader.meant(entry) or meant)]
    if single or meant:
        _known_by(entries[0])
    if whole and meant and whole.repeats:
        yield from repeated(reader, whole, meant, single)
        return
    if whole and meant:
        yield event_of(reader, whole, meant, name_of(reader, whole))
    for entry, own in single:
        yield single_of(reader, entry, own, reader.zone_of(entry, "RECURRENCE-ID", of(entry)))


def _known_by(entry: Entry) -> None:
    if not entry.uid:
        raise Wrong(entry, "UID", "no UID", "an identifier that stays: the floor in the cluster is known by it")


def _latest(entries: list[Entry]) -> Entry | None:
    """The one that counts: the highest SEQUENCE."""
    if not entries:
        return None
    last = max(entries, key=lambda entry: entry.sequence)
    for other in entries:
        if other.sequence == last.sequence and replace(other, line=last.line) != last:
            fix = "Give each its own UID, or the newer one the higher SEQUENCE."
            raise Wrong(other, "UID", "the same UID with other content", "one entry of each", fix)
    return last
