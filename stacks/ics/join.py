"""The iCalendar files that events.yaml names, as part of its calendar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from stacks.calendar import Calendar
from stacks.demand import Asked
from stacks.events import CalendarSpec
from stacks.faults import Fault, Misfit
from stacks.folders import shown
from stacks.ics.file import read_ics
from stacks.ics.resolve import Found, resolve_ics
from stacks.local_time import zone_faults
from stacks.series import Place


@dataclass(frozen=True)
class Joined:
    """`calendar` with what the files have; `own_words` are demands that stand in the files themselves.

    `findings` are rows that nothing came of, `digests` those of the files' texts.
    """

    calendar: Calendar
    faults: tuple[Fault, ...]
    wrong: tuple[Misfit, ...]
    own_words: tuple[tuple[Place, Asked], ...]
    findings: tuple[tuple[Place, str], ...] = ()
    digests: Mapping[Path, str] = field(default_factory=dict)


def join(calendar: Calendar, spec: CalendarSpec, folder: Path) -> Joined:
    """Read every file, and put its events beside those of events.yaml.

    Args:
        folder: of the stack; the files' places are relative to it.
    """
    found: list[Found] = []
    digests: dict[Path, str] = {}
    wrong: list[Misfit] = []
    for index, one in enumerate(spec.calendars):
        place = ("calendars", index)
        zone = one.timezone or spec.timezone
        if any(zone_faults(zone, ())):
            wrong += zone_faults(one.timezone, (*place, "timezone")) if one.timezone else ()
            continue
        if any(folder / one.file == folder / other.file for other in spec.calendars[:index]):
            fix = "Put its rows into one list."
            wrong.append(Misfit((*place, "file"), f"{one.file} a second time", "it once", fix))
            continue
        file = read_ics(folder / one.file)
        digests[file.path] = file.digest
        found.append(resolve_ics(file, one, place, zone))
        wrong += _names_again(found, place, one.file, shown(file.path))
    listed = tuple(event for one in found for event in one.events)
    series = tuple(series for one in found for series in one.series)
    joined = replace(
        calendar,
        listed=listed,
        series=(*calendar.series, *series),
        notes=tuple(text for one in found for text in one.notes),
    )
    own_words = [(event.place, event.asked) for event in listed if len(event.place) == 2]
    own_words += [(one.place, one.asked) for one in series if len(one.place) == 2]
    faults = tuple(fault for one in found for fault in one.faults)
    findings = tuple(finding for one in found for finding in one.findings)
    return Joined(joined, faults, tuple(wrong), tuple(own_words), findings, digests)


def _names_again(found: list[Found], place: Place, file: str, path: str) -> Iterator[Misfit]:
    """Names are made of the file's and the entry's identifier, so this is the same entry in two files of one name."""
    *before, last = ({event.name for event in one.events} | {series.name for series in one.series} for one in found)
    for name in sorted(last & set().union(*before)):
        fix = f"Name {path} otherwise, or leave the entry out of one of the two."
        yield Misfit((*place, "file"), f"an entry of {file} that is known as {name} already", "each entry once", fix)
