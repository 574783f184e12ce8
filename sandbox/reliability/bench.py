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
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from sandbox import lifecycle, machine
from sandbox.control_plane.startup import TOOLS as PROGRAMS
from sandbox.layout import Layout, free_ports
from sandbox.places import REPOSITORY
from sandbox.reliability import calendars, cost, crowd, kills, outages
from sandbox.toolchain.tools import TOOLS

Say = Callable[[str], None]

LIBRARIES = ("lightkube", "httpx2", "msgspec", "pydantic", "PyYAML")


class Result(Protocol):
    """What a part came to."""

    failures: list[str]

    def facts(self) -> dict[str, object]:
        """As plain data."""


@dataclass(frozen=True)
class Sizes:
    """How much of each part. `pairs` of runs are timed, none where nothing is to be timed; `away_s` is in seconds."""

    kills: int
    rounds: int
    calendars: int
    pairs: int
    away_s: int


FULL = Sizes(kills=300, rounds=100, calendars=300, pairs=30, away_s=60)
SAMPLE = Sizes(kills=20, rounds=5, calendars=60, pairs=0, away_s=2)

# Part -> how it is measured, in the order of the page.
PARTS: dict[str, Callable[[Layout, Path, Sizes, int, Say], Result]] = {
    "kills": lambda layout, folder, sizes, seed, say: kills.measure(layout, folder, sizes.kills, seed, say),
    "crowd": lambda layout, folder, sizes, seed, say: crowd.measure(layout, folder, sizes.rounds, seed, say),
    "calendars": lambda layout, folder, sizes, seed, say: calendars.measure(layout, folder, sizes.calendars, seed, say),
    "cost": lambda layout, folder, sizes, _, say: cost.measure(layout, folder, sizes.pairs, say),
    "outages": lambda layout, folder, sizes, _, say: outages.measure(layout, folder, sizes.away_s, say),
}
# Where KEDA and the HPA have to act. The others are measured where nothing does.
ON_ALL_OF_IT = {"outages"}


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
    for api_only in (True, False):
        names = [name for name in PARTS if (name in ON_ALL_OF_IT) != api_only and (not only or name in only)]
        if not names:
            continue
        with _control_plane(work / "sandbox", say, api_only=api_only) as layout:
            for name in names:
                say(f"{name}:")
                began = time.monotonic()
                result = PARTS[name](layout, work, sizes, seed, say)
                failures += result.failures
                told = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "seed": seed, "beside": beside}
                took_s = round(time.monotonic() - began)
                _keep(to, name, {**result.facts(), **told, "took_s": took_s, **_surroundings()})
    return failures


@contextmanager
def _control_plane(directory: Path, say: Say, *, api_only: bool) -> Iterator[Layout]:
    try:
        port = free_ports(1)[0]
        yield lifecycle.up((), say, directory, prometheus_port=port, with_pulumi=False, api_only=api_only)
    finally:
        lifecycle.down(say, directory)


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
    ordered = {name: parts[name] for name in PARTS if name in parts}
    path.write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8")
    page(folder)


def _surroundings() -> dict[str, str]:
    tools = sorted(f"{tool.name} {tool.version}" for tool in TOOLS if tool.name in PROGRAMS)
    libraries = [f"{name} {version(name)}" for name in LIBRARIES]
    return {
        "machine": machine.description(),
        "versions": ", ".join([*tools, f"Python {platform.python_version()}", *libraries]),
    }
