"""The rows of `warmline prescale plan`: of what repeats only the next ones, so that the rest can be seen."""

from __future__ import annotations

from collections.abc import Sequence

from whenever import Instant

from cli.prescale.text import minute
from prescale.windows.window import Timetable, Window
from stacks.event_names import name_and_day

# Of each event that repeats, and each of its services: what is not over.
SHOWN = 5


def plan_rows(table: Timetable, now: Instant) -> tuple[list[list[str]], list[str]]:
    """One row for each event and service, times in its zone and below in UTC; then lines on what is not shown."""
    shown: list[Window] = []
    more: dict[tuple[str, str], list[Window]] = {}
    coming: dict[tuple[str, str], int] = {}
    for window in table.windows:
        name, day = name_and_day(window.event)
        key = (name, window.service)
        if day and window.state(now) != "over":
            coming[key] = coming.get(key, 0) + 1
        if coming.get(key, 0) > SHOWN:
            more.setdefault(key, []).append(window)
        else:
            shown.append(window)
    return [_row(window, now) for window in shown], [_more(*key, windows) for key, windows in more.items()]


def _row(window: Window, now: Instant) -> list[str]:
    zone = window.start.tz_id or "UTC"
    times = (window.raise_at, window.start.to_instant(), window.end.to_instant())
    cells = [f"{minute(time.to_tz(zone))}\n{minute(time.to_tz('UTC'))}Z" for time in times]
    return [
        "\n".join(filter(None, [window.event, (window.title or "")[:40], zone])),
        window.service,
        window.state(now),
        str(window.floor),
        *cells,
    ]


def _more(name: str, service: str, windows: Sequence[Window]) -> str:
    last = max(window.start.date() for window in windows)
    return f"{name}, {service}: {len(windows)} more until {last}; -o json has them all"
