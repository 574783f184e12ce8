"""`make bench-reliability`: all parts, one after the other, and what is written of them."""

from __future__ import annotations

import json
import platform
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from sandbox import lifecycle, machine
from sandbox.control_plane.startup import TOOLS as PROGRAMS
from sandbox.layout import Layout, free_ports
from sandbox.places import REPOSITORY
from sandbox.reliability import calendars, cost, cron, crowd, kills, matrix, operations, outages, tolerance
from sandbox.toolchain.tools import TOOLS

Say = Callable[[str], None]

ENGINE = ("pulumi", "pulumi-resource-kubernetes")
LIBRARIES = ("lightkube", "httpx2", "msgspec", "pydantic", "PyYAML")


class Result(Protocol):
    """What a part came to."""

    failures: list[str]

    def facts(self) -> dict[str, object]:
        """As plain data."""


@dataclass(frozen=True)
class Sizes:
    """How much of each part. `pairs` of runs are timed, none where nothing is to be timed; `away_s` is in seconds.

    `operations` are the matrix's rows, `replicas` how many run and how many are desired.
    """

    kills: int
    rounds: int
    calendars: int
    pairs: int
    away_s: int
    operations: tuple[operations.Operation, ...]
    replicas: tuple[tuple[int, int], ...]


FULL = Sizes(300, 100, 300, pairs=30, away_s=60, operations=operations.OPERATIONS, replicas=tolerance.REPLICAS)
SAMPLE = Sizes(20, 5, 60, pairs=0, away_s=2, operations=operations.SAMPLE, replicas=tolerance.SAMPLE)

# Part -> how it is measured, on a control plane that is given to it.
PARTS: dict[str, Callable[[Layout, Path, Sizes, int, Say], Result]] = {
    "kills": lambda layout, folder, sizes, seed, say: kills.measure(layout, folder, sizes.kills, seed, say),
    "crowd": lambda layout, folder, sizes, seed, say: crowd.measure(layout, folder, sizes.rounds, seed, say),
    "calendars": lambda layout, folder, sizes, seed, say: calendars.measure(layout, folder, sizes.calendars, seed, say),
    "cost": lambda layout, folder, sizes, _, say: cost.measure(layout, folder, sizes.pairs, say),
    "outages": lambda layout, folder, sizes, _, say: outages.measure(layout, folder, sizes.away_s, say),
    "tolerance": lambda layout, folder, sizes, _, say: tolerance.measure(layout, folder, sizes.replicas, say),
}
# Where KEDA and the HPA have to act. The others are measured where nothing does.
ON_ALL_OF_IT = {"outages", "tolerance"}
# What needs no control plane, or one for a stack of its own.
ON_ITS_OWN: dict[str, Callable[[Path, Sizes, Say], Result]] = {
    "matrix": lambda folder, sizes, say: matrix.measure(folder, sizes.operations, say),
    "cron": lambda folder, _, say: cron.measure(folder, say),
}
# In the order of the page.
ORDER = ("kills", "crowd", "calendars", "cost", "outages", "matrix", "tolerance", "cron")


def measure(
    work: Path, to: Path, sizes: Sizes, seed: int, say: Say, *, only: Collection[str] = (), beside: str = ""
) -> list[str]:
    """Measure the parts, or `only` some, and write reliability.json and the page: every failure, empty if none.

    Args:
        work: made anew; its stacks and the sandbox's logs stay for who wants to look.
        beside: what else the machine did meanwhile.

    Raises:
        SandboxError: the control plane could not be had.
    """
    shutil.rmtree(work, ignore_errors=True)
    failures: list[str] = []

    def keep(name: str, part: Callable[[], Result]) -> None:
        say(f"{name}:")
        began = time.monotonic()
        result = part()
        failures.extend(result.failures)
        told = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "seed": seed, "beside": beside}
        took_s = round(time.monotonic() - began)
        _keep(to, name, {**result.facts(), **told, "took_s": took_s, **_surroundings()})

    for api_only in (True, False):
        names = [name for name in PARTS if (name in ON_ALL_OF_IT) != api_only and (not only or name in only)]
        if not names:
            continue
        with _control_plane(work / "sandbox", say, api_only=api_only) as layout:
            for name in names:
                keep(name, partial(PARTS[name], layout, work, sizes, seed, say))
    for name, measured in ON_ITS_OWN.items():
        if not only or name in only:
            keep(name, partial(measured, work, sizes, say))
    return failures


@contextmanager
def _control_plane(directory: Path, say: Say, *, api_only: bool) -> Iterator[Layout]:
    port = free_ports(1)[0]
    with lifecycle.temporary(say, directory):
        yield lifecycle.up((), say, directory, prometheus_port=port, with_pulumi=False, api_only=api_only)


def page(folder: Path) -> Path:
    """Make reliability.md anew from the JSON beside it."""
    environment = Environment(
        loader=FileSystemLoader(REPOSITORY / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701
    )
    parts = json.loads((folder / "reliability.json").read_text(encoding="utf-8"))
    path = folder / "reliability.md"
    path.write_text(environment.get_template("bench-reliability.md.j2").render(parts=parts), encoding="utf-8")
    return path


def _keep(folder: Path, name: str, facts: dict[str, Any]) -> None:
    """Put one part's facts among those of the others, which may be of another day."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "reliability.json"
    parts = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    parts[name] = facts
    ordered = {name: parts[name] for name in ORDER if name in parts}
    path.write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8")
    page(folder)


def _surroundings() -> dict[str, str]:
    tools = sorted(f"{tool.name} {tool.version}" for tool in TOOLS if tool.name in {*PROGRAMS, *ENGINE})
    libraries = [f"{name} {version(name)}" for name in LIBRARIES]
    return {
        "machine": machine.description(),
        "versions": ", ".join([*tools, f"Python {platform.python_version()}", *libraries]),
    }
