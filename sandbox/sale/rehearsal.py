"""A stack derived from a real one, so that an event can be played today: its durations divided, its event moved.

Nothing in the program, the components or the CLI knows of a time scale: they read this stack as any other, through
WARMLINE_STACKS_DIR. What is not a duration of the stack (requests, probes, the HPA's and KEDA's loops, scrapes,
preStop) keeps its real length.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import yaml
from whenever import Instant

from sandbox.sale.playable import SCALED, must_be_playable
from stacks.events import CalendarSpec, EventSpec
from stacks.folders import EVENTS_FILE, PLATFORM_FILE
from stacks.loader import Stack
from stacks.spec import Platform

NOT_SCALED = "request durations, probe periods, preStop, HPA and KEDA loops, metric scrapes"


class Dumper(yaml.SafeDumper):
    """YAML with exact numbers."""


def _number(dumper: Dumper, value: Decimal) -> yaml.ScalarNode:
    # Under the other tag PyYAML would quote the text, and a quoted number is text to the loader.
    text = f"{value:f}"
    return dumper.represent_scalar(f"tag:yaml.org,2002:{'float' if '.' in text else 'int'}", text)


Dumper.add_representer(Decimal, _number)


@dataclass(frozen=True)
class Rehearsal:
    """A derived stack on disk. `factor` is how many real seconds one second of it stands for.

    `event` is the one that is played: the calendar's first.
    """

    stack: str
    root: Path
    factor: int
    platform: Platform
    calendar: CalendarSpec
    event: EventSpec

    @property
    def lead_time_s(self) -> int:
        """Longest cold start of a service, scaled."""
        return max(service.cold_start.total_s for service in self.platform.services.values())

    @property
    def margin_s(self) -> int:
        return self.calendar.ready_margin_s

    @property
    def ramp_s(self) -> int:
        """How long before T0 the floor begins to rise in steps, scaled; 0 without a ramp."""
        return self.event.ramp.over_s if self.event.ramp else 0

    def schedule(self, start: Instant, end: Instant) -> None:
        """Write the calendar with the event in [start, end), whatever its days were."""
        zone = self.event.timezone or self.calendar.timezone
        times = {"start": _local(start, zone), "end": _local(end, zone), "day": None, "last_day": None}
        moved = self.event.model_copy(update=times)
        self.write(EVENTS_FILE, self.calendar.model_copy(update={"events": [moved]}))

    def clear_calendar(self) -> None:
        """Write a calendar without events."""
        self.write(EVENTS_FILE, self.calendar)

    def write(self, name: str, spec: CalendarSpec | Platform) -> None:
        """Write one of the derived stack's two files."""
        # Renamed into place: a sync that runs at this moment must not read half a calendar.
        path = self.root / self.stack / name
        partial = path.with_suffix(".partial")
        data = spec.model_dump(exclude_none=True)
        partial.write_text(yaml.dump(data, Dumper=Dumper, sort_keys=False), encoding="utf-8")
        partial.replace(path)


def rehearse(stack: Stack, calendar: CalendarSpec, root: Path, factor: int, prometheus_url: str) -> Rehearsal:
    """Write the derived stack below `root` (made anew), with an empty calendar.

    Args:
        factor: what every duration of the stack is divided by.
        prometheus_url: where this sandbox's Prometheus listens.

    Raises:
        InputError: the event cannot be played, or `factor` does not divide a duration.
    """
    must_be_playable(stack, calendar, factor)
    data = stack.platform.model_dump(exclude_none=True)
    data["prometheus"]["url"] = prometheus_url
    for service in data["services"].values():
        for part, fields in SCALED:
            for field in fields:
                service[part][field] //= factor
    margin_s = calendar.ready_margin_s // factor
    scaled = calendar.model_copy(update={"ready_margin_s": margin_s, "events": [], "calendars": []})
    folder = root / stack.name
    if root.exists():
        shutil.rmtree(root)
    shutil.copytree(stack.folder, folder)
    platform = Platform.model_validate(data)
    rehearsal = Rehearsal(stack.name, root, factor, platform, scaled, _scaled(calendar.events[0], factor))
    rehearsal.write(PLATFORM_FILE, platform)
    rehearsal.clear_calendar()
    return rehearsal


def _scaled(event: EventSpec, factor: int) -> EventSpec:
    if event.ramp is None:
        return event
    ramp = event.ramp.model_copy(update={"over_s": event.ramp.over_s // factor})
    return event.model_copy(update={"ramp": ramp})


def _local(moment: Instant, zone: str) -> str:
    """With its offset: the clock's face may show a time twice, today too."""
    return moment.to_tz(zone).round("second").to_fixed_offset().format_iso()
