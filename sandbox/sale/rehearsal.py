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
from typing import Any

import yaml
from whenever import Instant

from stacks.events import CalendarSpec
from stacks.faults import Fault, InputError
from stacks.loader import EVENTS_FILE, PLATFORM_FILE, Stack
from stacks.spec import Platform

SCALED = (
    ("cold_start", ("node_s", "image_s", "weights_s", "engine_start_s")),
    ("scale_down", ("window_s", "period_s")),
)
"""The durations of a service that the scale divides; of the calendar it is `ready_margin_s`."""

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
    """A derived stack on disk. `factor` is how many real seconds one second of it stands for."""

    stack: str
    root: Path
    factor: int
    platform: Platform
    calendar: CalendarSpec

    @property
    def lead_time_s(self) -> int:
        """Longest cold start of a service, scaled."""
        return max(service.cold_start.total_s for service in self.platform.services.values())

    @property
    def margin_s(self) -> int:
        return self.calendar.ready_margin_s

    def schedule(self, start: Instant, end: Instant) -> None:
        """Write the calendar with its first event in [start, end)."""
        event = self.calendar.events[0]
        zone = event.timezone or self.calendar.timezone
        moved = event.model_copy(update={"start": _local(start, zone), "end": _local(end, zone)})
        self.write(EVENTS_FILE, self.calendar.model_copy(update={"events": [moved], "calendars": []}))

    def clear_calendar(self) -> None:
        """Write a calendar without events."""
        self.write(EVENTS_FILE, self.calendar.model_copy(update={"events": [], "calendars": []}))

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
        InputError: a duration that `factor` does not divide: the rehearsal's numbers would not be the stack's.
    """
    data = stack.platform.model_dump(exclude_none=True)
    data["prometheus"]["url"] = prometheus_url
    for name, service in data["services"].items():
        for part, fields in SCALED:
            for field in fields:
                service[part][field] = _divided(service[part][field], factor, f"services.{name}.{part}.{field}")
    margin_s = _divided(calendar.ready_margin_s, factor, "ready_margin_s")
    scaled_calendar = calendar.model_copy(update={"ready_margin_s": margin_s})
    folder = root / stack.name
    if root.exists():
        shutil.rmtree(root)
    shutil.copytree(stack.folder, folder)
    platform = Platform.model_validate(data)
    rehearsal = Rehearsal(stack.name, root, factor, platform, scaled_calendar)
    rehearsal.write(PLATFORM_FILE, platform)
    rehearsal.clear_calendar()
    return rehearsal


def _divided(seconds: int, factor: int, path: str) -> int:
    if seconds % factor:
        expected = f"a multiple of the time scale {factor}"
        raise InputError(
            [Fault("the rehearsed stack", 0, path, f"{seconds} s", expected, "Choose another --time-scale.")]
        )
    return seconds // factor


def _local(moment: Instant, zone: str) -> str:
    shown: Any = moment.to_tz(zone).to_plain().round("second").format_iso()
    return str(shown).replace("T", " ")
