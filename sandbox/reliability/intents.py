"""Windows that people mean, said as a KEDA cron trigger and as an event: around changes of the clock, and once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ZONE = "America/New_York"


@dataclass(frozen=True)
class Intent:
    """What somebody means, in `ZONE`: as cron's start and end, as an event, and as the windows that it comes to.

    `days` are those looked at, from the first to the last of each pair; `windows` are [start, end) with their offsets.
    """

    what: str
    start: str
    end: str
    event: Mapping[str, str | Mapping[str, str]]
    days: tuple[tuple[str, str], ...]
    windows: tuple[tuple[str, str], ...]


def _daily(days: Sequence[str], start: str, end: str) -> tuple[tuple[str, str], ...]:
    """The same time on each of some days, which carry their offsets."""
    return tuple((f"{day[:10]}T{start}{day[10:]}", f"{day[:10]}T{end}{day[10:]}") for day in days)


def _each_day(start: str, end: str, rule: str = "FREQ=DAILY") -> dict[str, str | dict[str, str]]:
    return {"start": start, "end": end, "repeat": {"rule": rule}}


# On 2027-03-14 the clock goes from 02:00 (-05:00) to 03:00 (-04:00), on 2027-11-07 from 02:00 (-04:00) to 01:00.
# A time that is skipped or repeated is read so that the window is as wide as it can be.
INTENTS = (
    Intent(
        "Monday to Friday, 06:30 to 22:10",
        "30 6 * * 1-5",
        "10 22 * * *",
        _each_day("2027-03-08 06:30", "2027-03-08 22:10", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        (("2027-03-08", "2027-03-21"),),
        (
            *_daily([f"2027-03-{day:02}-05:00" for day in range(8, 13)], "06:30", "22:10"),
            *_daily([f"2027-03-{day:02}-04:00" for day in range(15, 20)], "06:30", "22:10"),
        ),
    ),
    Intent(
        "every day 02:30 to 04:30, and the clock skips 02:30",
        "30 2 * * *",
        "30 4 * * *",
        _each_day("2027-03-12 02:30", "2027-03-12 04:30"),
        (("2027-03-12", "2027-03-15"),),
        (
            *_daily(["2027-03-12-05:00", "2027-03-13-05:00"], "02:30", "04:30"),
            ("2027-03-14T01:30-05:00", "2027-03-14T04:30-04:00"),
            *_daily(["2027-03-15-04:00"], "02:30", "04:30"),
        ),
    ),
    Intent(
        "every day 01:00 to 02:30, and the clock skips 02:30",
        "0 1 * * *",
        "30 2 * * *",
        _each_day("2027-03-12 01:00", "2027-03-12 02:30"),
        (("2027-03-12", "2027-03-15"),),
        (
            *_daily(["2027-03-12-05:00", "2027-03-13-05:00"], "01:00", "02:30"),
            ("2027-03-14T01:00-05:00", "2027-03-14T03:30-04:00"),
            *_daily(["2027-03-15-04:00"], "01:00", "02:30"),
        ),
    ),
    Intent(
        "every day 01:30 to 02:30, and 01:30 comes twice",
        "30 1 * * *",
        "30 2 * * *",
        _each_day("2027-11-05 01:30", "2027-11-05 02:30"),
        (("2027-11-05", "2027-11-08"),),
        (
            *_daily(["2027-11-05-04:00", "2027-11-06-04:00"], "01:30", "02:30"),
            ("2027-11-07T01:30-04:00", "2027-11-07T02:30-05:00"),
            *_daily(["2027-11-08-05:00"], "01:30", "02:30"),
        ),
    ),
    Intent(
        "once, on 2026-11-27 from 19:30 to 23:00, and a year later",
        "30 19 27 11 *",
        "0 23 27 11 *",
        {"start": "2026-11-27 19:30", "end": "2026-11-27 23:00"},
        (("2026-11-26", "2026-11-28"), ("2027-11-26", "2027-11-28")),
        (("2026-11-27T19:30-05:00", "2026-11-27T23:00-05:00"),),
    ),
    Intent(
        "the same with its weekday, a Friday",
        "30 19 27 11 5",
        "0 23 27 11 5",
        {"start": "2026-11-27 19:30", "end": "2026-11-27 23:00"},
        (("2026-11-01", "2026-11-30"),),
        (("2026-11-27T19:30-05:00", "2026-11-27T23:00-05:00"),),
    ),
)
