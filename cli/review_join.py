"""One stack reviewed against another revision: objects and events of both, compared and told as one text.

Here and not in `infra` or `prescale`: neither may know the other.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from whenever import Instant

from cli.exits import DONE, FINDING
from cli.review_events import section
from infra.footprint import Footprint
from infra.review.comparison import Comparison, compare
from infra.review.markdown import Incomplete, Section, document, incomplete_document
from infra.review.revisions import NotRendered, Tree, answer_in, both_revisions, render_in
from prescale import clock, plan_change, room_change
from prescale.plan_change import Plan
from prescale.room_change import Room

NOT_PLANNED = "did not plan its events"

# Not `-m cli.main`: older revisions print nothing for it, and end with 0.
PLAN = ["-c", "from cli.main import main; main()", "prescale", "plan", "-o", "json"]
PLAN_NEEDS = ["cli/main.py", "prescale/__init__.py", "capacity/__init__.py"]
PLAN_ENDS = (DONE, FINDING)  # a shortage is a finding, and a plan all the same


@dataclass(frozen=True)
class Review:
    """`is_safe` is false for every finding, and where something could not be compared."""

    markdown: str
    is_safe: bool


@dataclass(frozen=True)
class _Side:
    """What one revision's own code says of the stack."""

    objects: list[dict[str, Any]] | Incomplete
    printed_plan: Any | Incomplete


def review_stack(stack: str, ref: str) -> Review:
    """Compare the working tree with `ref`.

    Raises:
        InputError: no repository, no such revision, or a stack that neither of the two has.
    """
    now = clock.now()
    title = f"Stack {stack}: working tree against {ref}"
    with both_revisions(stack, ref) as trees, ThreadPoolExecutor() as all_at_once:
        objects = all_at_once.map(lambda tree: _objects(tree, stack), trees)
        plans = all_at_once.map(lambda tree: _printed_plan(tree, stack, now), trees)
        before, after = (_Side(*side) for side in zip(objects, plans, strict=True))
    if isinstance(before.objects, Incomplete) or isinstance(after.objects, Incomplete):
        missing = [side.objects for side in (before, after) if isinstance(side.objects, Incomplete)]
        said = {item.side for item in missing}
        plans_missing = [side.printed_plan for side in (before, after) if isinstance(side.printed_plan, Incomplete)]
        missing += [item for item in plans_missing if item.side not in said]
        return Review(incomplete_document(title, missing), is_safe=False)
    comparison = compare(before.objects, after.objects)
    events = _events(before.printed_plan, after.printed_plan, comparison, now, (ref, "working tree"))
    is_safe = not (comparison.findings or events.findings or events.missing)
    return Review(document(title, comparison, events), is_safe)


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


def _events(before: Any, after: Any, comparison: Comparison, now: Instant, labels: tuple[str, str]) -> Section:
    pairs = comparison.footprints.items()
    old = _read(before, {name: was for name, (was, _) in pairs if was}, labels[0])
    new = _read(after, {name: becomes for name, (_, becomes) in pairs if becomes}, labels[1])
    if isinstance(old, Incomplete) or isinstance(new, Incomplete):
        return Section("events", missing=tuple(side for side in (old, new) if isinstance(side, Incomplete)))
    (plan_before, room_before), (plan_after, room_after) = old, new
    room = room_change.findings(room_before, room_after)
    return section(plan_change.compare(plan_before, plan_after, now), room, now)


def _read(printed: Any | Incomplete, footprints: dict[str, Footprint], label: str) -> tuple[Plan, Room] | Incomplete:
    if isinstance(printed, Incomplete):
        return printed
    # A footprint is known as `namespace/service`.
    gpus = {name.rpartition("/")[2]: size.gpus for name, size in footprints.items()}
    try:
        return plan_change.read(printed, gpus), room_change.read(printed)
    except ValueError as error:
        return Incomplete(label, f"prescale plan printed {error}", NOT_PLANNED)
