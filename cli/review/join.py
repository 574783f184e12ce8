"""One stack reviewed against another revision: objects and events of both, compared.

Here and not in `infra` or `prescale`: neither may know the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from whenever import Instant

from cli.exits import DONE, FINDING
from infra.footprint import Footprint
from infra.review.comparison import Comparison, compare
from infra.review.fields import FieldChange
from infra.review.markdown import Incomplete
from infra.review.revisions import NotRendered, Tree, answer_in, both_revisions, render_in
from infra.review.settings import setting_changes
from prescale import clock, plan_change, room_change
from prescale.plan_change import Plan, PlanChange
from prescale.room_change import Room
from stacks.faults import InputError
from stacks.files import Unreadable, text_of
from stacks.folders import EVENTS_FILE, PLATFORM_FILE
from stacks.yaml_text import parse

NOT_PLANNED = "did not plan its events"

# Not `-m cli.main`: older revisions print nothing for it, and end with 0.
PLAN = ["-c", "from cli.main import main; main()", "prescale", "plan", "-o", "json"]
PLAN_NEEDS = ["cli/main.py", "prescale/__init__.py", "capacity/__init__.py"]
PLAN_ENDS = (DONE, FINDING)  # a shortage is a finding, and a plan all the same


@dataclass(frozen=True)
class Review:
    """What a change does to `stack` since `ref`, seen at `now`.

    `objects` and `events` are None where they could not be compared; `missing` says why. `settings` are those of both
    files, as they are written.
    """

    stack: str
    ref: str
    now: Instant
    objects: Comparison | None
    events: PlanChange | None
    missing: tuple[Incomplete, ...] = ()
    settings: tuple[FieldChange, ...] = ()

    @property
    def findings(self) -> tuple[str, ...]:
        """Every risk of the objects, then of the events."""
        return tuple(text for part in (self.objects, self.events) if part for text in part.findings)

    @property
    def is_safe(self) -> bool:
        """False for every finding, and where something could not be compared."""
        return not (self.findings or self.missing)


@dataclass(frozen=True)
class _Side:
    """What one revision's own code says of the stack."""

    objects: list[dict[str, Any]] | Incomplete
    printed_plan: Any | Incomplete


@dataclass(frozen=True)
class _Read:
    plan: Plan
    room: Room


def review_stack(stack: str, ref: str) -> Review:
    """Compare the working tree with `ref`.

    Raises:
        InputError: no repository, no such revision, or a stack that neither of the two has.
    """
    now = clock.now()
    with both_revisions(stack, ref) as trees, ThreadPoolExecutor() as all_at_once:
        rendered = all_at_once.map(lambda tree: _objects(tree, stack), trees)
        planned = all_at_once.map(lambda tree: _printed_plan(tree, stack, now), trees)
        before, after = (_Side(*side) for side in zip(rendered, planned, strict=True))
        settings = _settings(trees, stack)
    if isinstance(before.objects, Incomplete) or isinstance(after.objects, Incomplete):
        missing = [side.objects for side in (before, after) if isinstance(side.objects, Incomplete)]
        said = {item.side for item in missing}
        plans_missing = [side.printed_plan for side in (before, after) if isinstance(side.printed_plan, Incomplete)]
        missing += [item for item in plans_missing if item.side not in said]
        return Review(stack, ref, now, None, None, tuple(missing))
    objects = compare(before.objects, after.objects)
    old, new = _plans(before.printed_plan, after.printed_plan, objects, (ref, "working tree"))
    if isinstance(old, Incomplete) or isinstance(new, Incomplete):
        missing = [side for side in (old, new) if isinstance(side, Incomplete)]
        return Review(stack, ref, now, objects, None, tuple(missing), settings)
    events = plan_change.compare(old.plan, new.plan, now)
    room = room_change.findings(old.room, new.room)
    compared = replace(events, findings=(*events.findings, *room))
    return Review(stack, ref, now, objects, compared, settings=settings)


def _settings(trees: Iterable[Tree], stack: str) -> tuple[FieldChange, ...]:
    """What the two files say otherwise; of a stack that is new or gone nothing: objects and events tell of it."""
    if not all(tree.has(stack) for tree in trees):
        return ()
    changes: list[FieldChange] = []
    for name in (PLATFORM_FILE, EVENTS_FILE):
        before, after = (_written(tree.stacks / stack / name) for tree in trees)
        if before is not None and after is not None:
            changes += setting_changes(before, after)
    return tuple(changes)


def _written(path: Path) -> dict[str, Any] | None:
    """What stands in one file; None where that revision's own code says what is wrong with it."""
    try:
        said = parse(text_of(path), str(path)).data
    except (Unreadable, InputError):
        return None
    return said if isinstance(said, dict) else None


def _objects(tree: Tree, stack: str) -> list[dict[str, Any]] | Incomplete:
    try:
        return render_in(tree, stack)
    except NotRendered as error:
        return Incomplete(tree.label, str(error))


def _printed_plan(tree: Tree, stack: str, now: Instant) -> Any | Incomplete:
    if not tree.has(stack):
        return {"events": []}
    try:
        return answer_in(tree, [*PLAN, "-s", stack, "--at", now.format_iso()], PLAN_NEEDS, PLAN_ENDS)
    except NotRendered as error:
        return Incomplete(tree.label, str(error), NOT_PLANNED)


def _plans(
    before: Any, after: Any, comparison: Comparison, labels: tuple[str, str]
) -> tuple[_Read | Incomplete, _Read | Incomplete]:
    pairs = comparison.footprints.items()
    old = _read(before, {name: was for name, (was, _) in pairs if was}, labels[0])
    new = _read(after, {name: becomes for name, (_, becomes) in pairs if becomes}, labels[1])
    return old, new


def _read(printed: Any | Incomplete, footprints: dict[str, Footprint], label: str) -> _Read | Incomplete:
    if isinstance(printed, Incomplete):
        return printed
    # A footprint is known as `namespace/service`.
    gpus = {name.rpartition("/")[2]: size.gpus for name, size in footprints.items()}
    try:
        return _Read(plan_change.read(printed, gpus), room_change.read(printed))
    except ValueError as error:
        return Incomplete(label, f"prescale plan printed {error}", NOT_PLANNED)
