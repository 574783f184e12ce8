"""`make bench-reliability`: all parts, one after the other, and what is written of them."""

from __future__ import annotations

import json
import platform
import shutil
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from sandbox import lifecycle, machine
from sandbox.control_plane.startup import API_TOOLS
from sandbox.layout import Layout, free_ports
from sandbox.places import REPOSITORY
from sandbox.reliability import calendars, cost, crowd, kills
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
    """How much of each part. `pairs` of runs are timed; none where nothing is to be timed."""

    kills: int
    rounds: int
    calendars: int
    pairs: int


FULL = Sizes(kills=300, rounds=100, calendars=300, pairs=30)
SAMPLE = Sizes(kills=20, rounds=5, calendars=60, pairs=0)

# Part -> how it is measured, in the order of the page.
PARTS: dict[str, Callable[[Layout, Path, Sizes, int, Say], Result]] = {
    "kills": lambda layout, folder, sizes, seed, say: kills.measure(layout, folder, sizes.kills, seed, say),
    "crowd": lambda layout, folder, sizes, seed, say: crowd.measure(layout, folder, sizes.rounds, seed, say),
    "calendars": lambda layout, folder, sizes, seed, say: calendars.measure(layout, folder, sizes.calendars, seed, say),
    "cost": lambda layout, folder, sizes, _, say: cost.measure(layout, folder, sizes.pairs, say),
}


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
    try:
        layout = lifecycle.up(
            (), say, work / "sandbox", prometheus_port=free_ports(1)[0], with_pulumi=False, api_only=True
        )
        for name, part in PARTS.items():
            if only and name not in only:
                continue
            say(f"{name}:")
            began = time.monotonic()
            result = part(layout, work, sizes, seed, say)
            failures += result.failures
            told = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "seed": seed, "took_s": round(time.monotonic() - began)}
            _keep(to, name, {**result.facts(), **told, **_surroundings(), "beside": beside})
    finally:
        lifecycle.down(say, work / "sandbox")
    return failures


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
    tools = sorted(f"{tool.name} {tool.version}" for tool in TOOLS if tool.name in API_TOOLS)
    libraries = [f"{name} {version(name)}" for name in LIBRARIES]
    return {
        "machine": machine.description(),
        "versions": ", ".join([*tools, f"Python {platform.python_version()}", *libraries]),
    }
