"""Runs as Prometheus metrics, in the text format.

Labels are `stack`, `serving_namespace` and `serving_service`: a scrape sets `namespace` and `service` itself, and would
rename ours. Times are gauges of Unix time, so that they stay true between two runs.

Source: Prometheus, "Exposition formats" (text format 0.0.4) and "Metric and label naming".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from whenever import Instant

from prescale.runs.report import RunReport, ServiceReport

PREFIX = "warmline_prescale_"
LAST_SUCCESS = f"{PREFIX}last_success_timestamp_seconds"
FLOOR_UNTIL = f"{PREFIX}floor_until_timestamp_seconds"

Number = int | float | None


@dataclass(frozen=True)
class Gauge:
    """One metric. `of_run` or `of_service` is its value; None leaves the sample out."""

    name: str
    text: str
    of_run: Callable[[RunReport], Number] | None = None
    of_service: Callable[[ServiceReport], Number] | None = None


def _unix(moment: Instant | None) -> int | None:
    return None if moment is None else int(moment.timestamp())


GAUGES = (
    Gauge(f"{PREFIX}last_run_timestamp_seconds", "When a run last ended, however.", lambda run: _unix(run.at)),
    Gauge(LAST_SUCCESS, "When a run last came to its end (exit code 0 or 1).", lambda run: _unix(run.last_success)),
    Gauge(
        f"{PREFIX}run_exit_code",
        "Exit code of the last run: 0 done, 1 a finding, 2 bad input, 3 cluster out of reach.",
        lambda run: run.exit_code,
    ),
    Gauge(f"{PREFIX}run_findings", "What needs a person, by the last run.", lambda run: len(run.findings)),
    Gauge(f"{PREFIX}run_duration_seconds", "How long the last run took.", lambda run: round(run.duration_s, 3)),
    Gauge(f"{PREFIX}run_api_calls", "Calls of the API server that the last run made.", lambda run: run.api_calls),
    Gauge(f"{PREFIX}baseline_replicas", "The floor while no event counts.", of_service=lambda each: each.baseline),
    Gauge(
        f"{PREFIX}floor_wanted_replicas",
        "The floor that baseline, events and orders ask for.",
        of_service=lambda each: each.floor_wanted,
    ),
    Gauge(
        f"{PREFIX}floor_in_force_replicas",
        "The HPA's minReplicas; absent where there is no HPA.",
        of_service=lambda each: each.floor_in_force,
    ),
    Gauge(
        f"{PREFIX}ready_replicas",
        "Ready pods, counted while an event counts.",
        of_service=lambda each: each.ready,
    ),
    Gauge(
        f"{PREFIX}next_start_timestamp_seconds",
        "T0 of the next event; less time() it is the seconds to start.",
        of_service=lambda each: _unix(each.starts_at),
    ),
    Gauge(
        f"{PREFIX}event_start_timestamp_seconds",
        "T0 of the event that counts now, the latest of several; absent without one.",
        of_service=lambda each: _unix(each.event_start),
    ),
    Gauge(
        FLOOR_UNTIL,
        "When what holds the floor up ends; absent at the baseline.",
        of_service=lambda each: _unix(each.until),
    ),
)

# What a run that did not come to its end takes over from the file before it: the last word on them still holds.
KEPT = (LAST_SUCCESS, FLOOR_UNTIL)

# A sample as `exposition` writes it: a moment, of as many digits as moments have.
_SAMPLE = re.compile(
    r'(?P<name>[a-z_]+)(?P<labels>\{stack="(?P<stack>(?:[^"\\]|\\.)*)"[^\n]*\}) (?P<value>[0-9]{1,10})'
)


@dataclass(frozen=True)
class Before:
    """The samples of an older file that are kept: (metric, its stack's label as written) -> labels -> value."""

    samples: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)

    def last_success(self, stack: str) -> Instant | None:
        """When a run over `stack` last came to its end."""
        for value in self.samples.get((LAST_SUCCESS, escaped(stack)), {}).values():
            return Instant.from_timestamp(int(value))
        return None


def read(text: str) -> Before:
    """What is to be kept of an older file's text; of a text that is none, nothing."""
    samples: dict[tuple[str, str], dict[str, str]] = {}
    for line in text.split("\n"):
        found = _SAMPLE.fullmatch(line)
        if found and found["name"] in KEPT:
            samples.setdefault((found["name"], found["stack"]), {})[found["labels"]] = found["value"]
    return Before(samples)


def exposition(reports: Sequence[RunReport], before: Before | None = None) -> str:
    """All metrics of these runs as one file's text."""
    lines: list[str] = []
    for gauge in GAUGES:
        samples = dict(_samples(gauge, reports, before or Before()))
        if samples:
            lines += [f"# HELP {gauge.name} {gauge.text}", f"# TYPE {gauge.name} gauge"]
            lines += [f"{gauge.name}{labels} {value}" for labels, value in samples.items()]
    return "".join(f"{line}\n" for line in lines)


def escaped(value: str) -> str:
    """A label's value as it stands between quotes; what is no text of UTF-8 (a typed name may be any bytes) as `?`."""
    value = value.encode(errors="replace").decode()
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _samples(gauge: Gauge, reports: Sequence[RunReport], before: Before) -> Iterator[tuple[str, str]]:
    for report in reports:
        if gauge.name in KEPT and not report.came_to_its_end:
            yield from before.samples.get((gauge.name, escaped(report.stack)), {}).items()
        elif gauge.of_run:
            yield from _sample(gauge.of_run(report), stack=report.stack)
        elif gauge.of_service:
            for each in report.services:
                place = {"serving_namespace": report.namespace or "", "serving_service": each.service}
                yield from _sample(gauge.of_service(each), stack=report.stack, **place)


def _sample(value: Number, **labels: str) -> Iterator[tuple[str, str]]:
    if value is not None:
        inner = ",".join(f'{name}="{escaped(text)}"' for name, text in labels.items())
        yield f"{{{inner}}}", f"{value}"
