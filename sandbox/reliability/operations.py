"""What Pulumi's engine is told to do, before, during and after an event, and what has to come of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from sandbox.reliability.built import Built
from sandbox.reliability.oracle import Service
from sandbox.reliability.stack_on_disk import Ran

# Each is a service too, whose event stands there: one command of the engine is a row of the matrix.
TIMES = ("before", "during", "after")
BASELINE, OTHER_BASELINE, FLOOR, CEILING, LOW_CEILING = 1, 2, 4, 6, 3
SERVICES = tuple(Service(name, BASELINE, CEILING, lead_s=5) for name in TIMES)
BETWEEN = "sync between the engine's read and its write"
FIRST = f"{BETWEEN}, the first to raise"

Left = Literal["kept", "as the sync wanted", "baseline", "nothing"]


@dataclass(frozen=True)
class Operation:
    """One row. `left` is what has to be in force right after it: objects made anew know no event.

    Args:
        raised: whose events a run has raised before; None where no run was.
        apart: once for each time, since one that is refused fails the command for all.
        refused: of a time, what the engine's refusal has to say; `next_refused`, what the next run's has.
    """

    name: str
    play: Callable[[Built, tuple[str, ...]], Ran]
    left: Left = "kept"
    raised: tuple[str, ...] | None = ("during", "after")
    apart: bool = False
    times: tuple[str, ...] = TIMES
    refused: Mapping[str, str] = field(default_factory=dict)
    next_refused: Mapping[str, str] = field(default_factory=dict)


def _sync_between(site: Built, times: tuple[str, ...]) -> Ran:
    _other_baseline(site, times)
    return site.up_around_a_sync(len(times))


def _baseline(site: Built, times: tuple[str, ...]) -> Ran:
    _other_baseline(site, times)
    return site.act("up")


def _other_baseline(site: Built, times: tuple[str, ...]) -> None:
    both = BASELINE + OTHER_BASELINE
    site.write(*(replace(one, baseline=both - one.baseline) for one in site.services if one.name in times))


def _ceiling(site: Built, times: tuple[str, ...]) -> Ran:
    site.write(*(replace(one, ceiling=LOW_CEILING if one.name in times else CEILING) for one in site.services))
    return site.act("up")


def _replaced(site: Built, _: tuple[str, ...]) -> Ran:
    words = site.pulumi("stack", "--show-urns").stdout.split()
    urns = [word for word in words if word.startswith("urn:") and word.endswith("-scaledobject")]
    if len(urns) != len(TIMES):
        raise AssertionError(f"these are not {len(TIMES)} ScaledObjects: {urns}")
    return site.act("up", *(word for urn in urns for word in ("--replace", urn)))


# In this order: objects that no run has touched come first, and last those of a stack that is built again.
OPERATIONS = (
    Operation(
        FIRST,
        _sync_between,
        "as the sync wanted",
        raised=None,
        apart=True,
        refused={"during": ".spec.minReplicaCount"},
    ),
    Operation("baseline changed", _baseline),
    Operation(
        "ceiling lowered under the floor",
        _ceiling,
        apart=True,
        refused=dict.fromkeys(("during", "after"), "must be less than"),
        next_refused=dict.fromkeys(("before", "during"), f"at most the ceiling of {LOW_CEILING}"),
    ),
    Operation("pulumi refresh", lambda site, _: site.act("refresh")),
    Operation("pulumi up --refresh", lambda site, _: site.act("up", "--refresh")),
    Operation(BETWEEN, _sync_between, "as the sync wanted", raised=("after",)),
    Operation("ScaledObject replaced", _replaced, "baseline"),
    Operation(
        "pulumi destroy",
        lambda site, _: site.act("destroy"),
        "nothing",
        next_refused=dict.fromkeys(TIMES, "nothing of stack local is in"),
    ),
    Operation("created", lambda site, _: site.act("up"), "baseline", raised=None),
)
SAMPLE = (
    replace(OPERATIONS[0], times=("during",)),
    *(each for each in OPERATIONS if each.name in {BETWEEN, "ScaledObject replaced"}),
)
