"""What an event is called: by its own name, on a day of a series, or after the entry of an .ics file."""

from __future__ import annotations

import re

# No event's own name has it.
ON = "@"


# An entry of an .ics file is known by the file's name and so many hexadecimal digits of its identifier's hash.
UID_DIGITS = 10
_OF_A_FILE = re.compile(rf".+-[0-9a-f]{{{UID_DIGITS}}}")


def is_of_a_file(event: str) -> bool:
    """Whether it is called as what comes from an .ics file is: `sales-1f3a9c02b7`, on a day or not."""
    return _OF_A_FILE.fullmatch(name_and_day(event)[0]) is not None


def name_and_day(event: str) -> tuple[str, str]:
    """`friday-peak@2027-10-29` -> (`friday-peak`, `2027-10-29`); no day where the event happens once."""
    name, _, day = event.partition(ON)
    return name, day
