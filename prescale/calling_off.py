"""How an event is called off for certain where it was written: in events.yaml, or in an .ics file."""

from __future__ import annotations

from stacks.event_names import is_of_a_file, name_and_day


def how(event: str) -> str:
    """What a person has to do in the calendar. Of an event that is no longer in it: put it back, and say so there."""
    series, day = name_and_day(event)
    if is_of_a_file(event):
        one = f"except {day} from its series in the .ics file (EXDATE)"
        return f"{one}, or have that day there as STATUS:CANCELLED" if day else _WHOLE
    return f"put {day} into cancelled_on of {series}" if day else "mark it `cancelled: true`"


_WHOLE = "have its entry in the .ics file with STATUS:CANCELLED"
