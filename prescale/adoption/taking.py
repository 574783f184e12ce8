"""Adopt one object, and let go of one: read, judge, one patch; a write in between is read and judged again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from prescale.adoption.judging import Asked, judge
from prescale.adoption.look import look
from prescale.api.cluster import Cluster
from prescale.api.objects import Conflict, Refused
from prescale.observed import OBSERVE, Observed
from prescale.orders.uninstall import Uninstall, active_events, at_baseline
from prescale.sync import ATTEMPTS
from prescale.targets import is_of
from stacks.scaler import Kind

OFTEN = f"somebody else wrote it {ATTEMPTS} times while we tried. Nothing was changed."


@dataclass(frozen=True)
class Taken:
    """What became of one object, or would become. Nothing was changed where `patch` is None; findings need a person."""

    kind: Kind
    name: str
    service: str | None
    is_adopted: bool
    patch: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


def adopt(cluster: Cluster, asked: Asked, *, dry_run: bool) -> Taken:
    """Take the object, unless it cannot be taken.

    Raises:
        OutOfReach: the cluster did not answer.
    """
    kind, name = asked.key
    left = Taken(kind, name, asked.service, is_adopted=False)
    for _ in range(ATTEMPTS):
        verdict = judge(asked, look(cluster))
        if verdict.refused:
            return replace(left, findings=verdict.refused)
        try:
            if verdict.patch is not None and not dry_run:
                cluster.patch(kind, name, verdict.patch)
        except Conflict:
            continue
        except Refused as error:
            return replace(left, findings=(_refused(kind, name, error),))
        return replace(left, is_adopted=True, patch=verdict.patch, notes=verdict.notes, findings=verdict.findings)
    return replace(left, findings=(OFTEN,))


def let_go(run: Uninstall, kinds: tuple[Kind, ...], name: str) -> Taken:
    """Take an adopted object to its baseline and everything of ours off it: refused while an event holds its floor.

    Args:
        kinds: where it is looked for, in this order: platform.yaml may name it no more.

    Raises:
        OutOfReach: the cluster did not answer.
    """
    for _ in range(ATTEMPTS):
        found = _adopted(run, kinds, name)
        if isinstance(found, Taken):
            return found
        it = Taken(found.kind, name, found.service, is_adopted=True)
        if held := _held(run, found):
            return replace(it, findings=held)
        decision = at_baseline(found)
        if decision.patch is None:
            return replace(it, findings=decision.findings)
        try:
            if not run.dry_run:
                run.objects.patch(found.kind, name, decision.patch)
        except Conflict:
            continue
        except Refused as error:
            return replace(it, findings=(_refused(found.kind, name, error),))
        return replace(it, is_adopted=False, patch=decision.patch, findings=decision.findings)
    return Taken(kinds[0], name, None, is_adopted=True, findings=(OFTEN,))


def _adopted(run: Uninstall, kinds: tuple[Kind, ...], name: str) -> Observed | Taken:
    """The object of this stack that has the name, or why nothing is let go."""
    for kind in kinds:
        item = run.objects.target(kind, name)
        if item is not None and is_of(run.stack, item):
            observed = OBSERVE[kind](item)
            if observed.is_adopted:
                return observed
            made = f"{observed.fields.short} {name} is Pulumi's, and not adopted. `pulumi destroy` removes it."
            return Taken(kind, name, observed.service, is_adopted=False, findings=(made,))
    told = f"nothing called {name} is adopted for stack {run.stack} in {run.objects.where}: there is nothing to let go"
    return Taken(kinds[0], name, None, is_adopted=False, notes=(told,))


def _held(run: Uninstall, observed: Observed) -> tuple[str, ...]:
    service = observed.service
    events = active_events(run, service)
    ordered = run.orders().floors(service, run.clock())
    call_off = f"`warmline prescale cancel {{}} --service {service} -s {run.stack}`"
    fix = " and ".join(call_off.format(event) for event in events)
    held = (
        [f"{', '.join(events)} holds its floor: it was not let go. Wait for the end, or say {fix}."] if events else []
    )
    if ordered:
        names = ", ".join(order.name for order in ordered)
        fix = f"Say `warmline prescale release {service} -s {run.stack}` first."
        held.append(f"{names} holds its floor: it was not let go. {fix}")
    return tuple(held)


def _refused(kind: Kind, name: str, error: Refused) -> str:
    return f"the patch was refused: {error}. Give the user a Role that may patch {kind} {name}, or see who forbids it."
