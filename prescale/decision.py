"""What one run does to one ScaledObject or HPA: a pure function of (windows, orders, observed state, now).

The floor is recomputed, never restored: floor(now) = max(baseline, every active event, every order). Raising needs one
voice, lowering needs certainty. One patch carries all of it: a crash leaves either the old state or the new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from prescale import claims as claiming
from prescale import record as book
from prescale.claims import Claims
from prescale.clock import Clock
from prescale.observed import Observed
from prescale.orders.order import NONE, Orders
from prescale.record import Held, Kept, Record
from prescale.windows.window import Window
from stacks import ownership


class Decision(Struct, frozen=True):
    """What to do, and why.

    `target` is the minimum that should be, `wanted` what baseline and `events` alone ask for. `patch` is a
    JSON merge patch, None if all is as it should be. `findings` need a person: the run exits 1. `warm` is how many
    replicas the events are known to have had Ready.
    """

    target: int
    wanted: int
    events: tuple[Held, ...]
    patch: dict[str, Any] | None
    notes: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    warm: int = 0


def decide(
    observed: Observed,
    windows: Sequence[Window],
    calendar: str,
    clock: Clock,
    orders: Orders = NONE,
    *,
    by_hand: bool = False,
    lets_a_person_go: bool = False,
) -> Decision:
    """Decide for one object.

    Args:
        windows: of this object's service, from `calendar`.
        clock: where it is not sure, an event counts if either clock says so, and nothing is lowered.
        orders: read after the object, or what its record says of them is newer than they are.
        by_hand: a person ordered something: of what is recorded, only orders let go before its recorded end.
        lets_a_person_go: a person's higher value is not kept.
    """
    baseline, findings = baseline_of(observed)
    remembered, unreadable = record_of(observed)
    findings += [*unreadable, *_clock_findings(clock), *orders.unreadable]
    is_certain = clock.is_sure and baseline is not None and remembered is not None and not orders.unreadable
    before = remembered or Record()
    claims = claiming.of_events(
        observed, before, windows, calendar, clock, orders=orders, is_certain=is_certain, by_hand=by_hand
    )
    findings += claims.findings
    may_lower = is_certain and claims.may_lower
    wanted = max(baseline or 0, claims.floor)

    kept = None
    if not (lets_a_person_go and may_lower):
        kept = claiming.of_a_person(observed, before, claims, baseline, clock.now, may_lower=may_lower)
    if remembered is None and observed.live > (baseline or 0):
        # The lost record may have held an event up: what is there counts as a person's until somebody has looked.
        kept = Kept(observed.live, claiming.kept_until(claims.events, clock.now))
    target = max(wanted, kept.floor if kept else 0, 0 if may_lower else observed.live)

    findings += _not_in_force(observed, claims)
    warm = _still_warm(observed, before, claims)
    if target > observed.max_replicas:
        findings.append(_above_ceiling(observed, kept, target))
        target = _below_ceiling(observed, baseline, claims) or target
    notes = [*claims.notes, *_told(observed, before, kept, wanted, target)]
    if target > observed.max_replicas or (remembered is None and target == observed.live):
        patch = None
    else:
        activation = _activation(observed, before, claims, target, may_lower=may_lower)
        set_to = target if target == wanted or target != observed.live else before.set_to
        after = Record(set_to, claims.events, kept, activated=activation in {"set", "keep"}, warm=warm)
        patch = patch_to(observed, None if _says_nothing(after, target, wanted) else after, target, activation)
    return Decision(target, wanted, claims.events, patch, tuple(notes), tuple(findings), warm)


def baseline_of(observed: Observed) -> tuple[int | None, list[str]]:
    """The annotated baseline in replicas; None, and why, where it cannot be read."""
    text = observed.annotations.get(ownership.BASELINE_ANNOTATION)
    if text is not None and text.isascii() and text.isdigit() and len(text) < 7:
        return int(text), []
    state = "is missing" if text is None else f"is {text!r}, not a number of replicas"
    writes = "Run `warmline prescale adopt` again" if observed.is_adopted else "Run `pulumi up`"
    fix = f"Nothing is lowered. {writes}, which writes it."
    return None, [f"the annotation {ownership.BASELINE_ANNOTATION} {state}. {fix}"]


def record_of(observed: Observed) -> tuple[Record | None, list[str]]:
    """What earlier runs noted on the object; None, and why, where it cannot be read."""
    text = observed.annotations.get(ownership.FLOOR_ANNOTATION)
    if text is None:
        return Record(), []
    try:
        return book.parse(text), []
    except book.Unreadable as error:
        fix = "Nothing is lowered. Look at the object, then remove the annotation; the next run writes it anew."
        return None, [f"the annotation {ownership.FLOOR_ANNOTATION} cannot be read ({error}). {fix}"]


def _clock_findings(clock: Clock) -> list[str]:
    if clock.is_sure:
        return []
    side = "ahead of" if clock.skew_s > 0 else "behind"
    fix = "Nothing is lowered. Set this machine's clock."
    return [f"this machine's clock is {abs(clock.skew_s)} s {side} the API server's. {fix}"]


def _told(observed: Observed, before: Record, kept: Kept | None, wanted: int, target: int) -> list[str]:
    notes = []
    live = observed.live
    if kept and kept.floor > wanted and kept.floor <= observed.max_replicas:
        notes.append(f"a person's {kept.floor} is kept until {kept.until.format_iso()}; {wanted} would do")
    elif before.kept and not kept and target < live:
        notes.append(f"a person's {before.kept.floor} is let go")
    if _is_stuck(observed, target):
        notes.append(f"it is at 0 replicas: force-activation has KEDA bring up {target}, whatever its trigger says")
    if before.set_to is not None and live < min(wanted, before.set_to) and target <= observed.max_replicas:
        notes.append(f"somebody lowered {before.set_to} to {live}; raised again")
    return notes


def _above_ceiling(observed: Observed, kept: Kept | None, target: int) -> str:
    ceiling = f"the live ceiling of {observed.max_replicas}"
    if kept and target == kept.floor:
        # Source: KEDA 2.21, CheckReplicaCountBoundsAreValid; only without its webhook does such an object come about.
        broken = f"a person's {observed.fields.minimum} of {target} is above {ceiling}, so KEDA takes no floor over"
        return f"{broken}. Set it to {observed.max_replicas} or less; nothing was changed."
    refused = f"a {observed.fields.minimum} of {target} was refused, it is above {ceiling}"
    return f"{refused}. {claiming.raise_ceiling(observed)}"


def _below_ceiling(observed: Observed, baseline: int | None, claims: Claims) -> int | None:
    """What can be raised to all the same: who asks for too much keeps nobody else's floor down."""
    asked = (baseline or 0, *(held.floor for held in claims.events))
    most = max((floor for floor in asked if floor <= observed.max_replicas), default=0)
    return most if most > observed.live else None


def _not_in_force(observed: Observed, claims: Claims) -> list[str]:
    """What keeps a floor on the object from being one on the pods."""
    if not claims.events:
        return []
    findings = []
    if observed.kind == "HorizontalPodAutoscaler" and observed.is_at_zero:
        fix = "Scale the target to 1: from there on the HPA has the floor again."
        findings.append(f"the target of HPA {observed.name} has 0 replicas, so the HPA rests and no floor is. {fix}")
    if observed.paused:
        fix = "Remove the annotation: the floor is in force as soon as KEDA scales again."
        findings.append(f"KEDA is paused ({observed.paused}), so no floor is in force. {fix}")
    if observed.scale_out_paused:
        # Source: KEDA 2.21, scaleFromZeroOrIdle returns at once; above 0 the HPA's own minimum still holds.
        fix = "Remove the annotation."
        lacks = "load above the floor gets no replicas, and at 0 replicas the floor gets none either"
        findings.append(f"scaling out is paused ({observed.scale_out_paused}): {lacks}. {fix}")
    if observed.idle_replicas is not None:
        held = "force-activation holds it off until the event is over"
        fix = "Remove idleReplicaCount."
        findings.append(f"idleReplicaCount {observed.idle_replicas} undercuts any floor; {held}. {fix}")
    return findings


def _still_warm(observed: Observed, before: Record, claims: Claims) -> int:
    """Of what was seen Ready, that which nothing can have let go of since: a lower floor, by whomever, or a pause."""
    return 0 if observed.paused else min(before.warm, claims.floor, observed.live)


def _activation(observed: Observed, before: Record, claims: Claims, target: int, *, may_lower: bool) -> str | None:
    """`set`, `keep`, `remove` force-activation, or None to leave it alone.

    At 0 replicas with a trigger that fails, as it does where only the engines have the metric, and with
    idleReplicaCount, KEDA does not look at the floor without it. Every event gets it, whatever its baseline: how many
    replicas run is not in the object, and a pause or a person may have left none. An HPA has no such word.
    """
    if observed.kind != "ScaledObject":
        return None
    if claims.events or _is_stuck(observed, target):
        return ("keep" if before.activated else None) if observed.is_activated else "set"
    if before.activated:
        return "remove" if may_lower else "keep"
    return None


def _is_stuck(observed: Observed, target: int) -> bool:
    """Whether nothing runs although nobody wants it so, and KEDA can be told."""
    is_kedas = observed.kind == "ScaledObject" and observed.idle_replicas is None and not observed.paused
    return observed.is_at_zero and target > 0 and is_kedas


def _says_nothing(after: Record, target: int, wanted: int) -> bool:
    """Whether a later run could reckon all of it anew: then there is no annotation."""
    if after.events or after.kept or after.activated:
        return False
    return target <= wanted or after.set_to is None


def patch_to(observed: Observed, after: Record | None, target: int, activation: str | None) -> dict[str, Any] | None:
    """The one merge patch that makes it so; None if it is so.

    Args:
        activation: `set`, `remove`, or anything else to leave force-activation alone.
    """
    annotations: dict[str, str | None] = {}
    text = observed.annotations.get(ownership.FLOOR_ANNOTATION)
    # Compared by meaning: KEDA copies annotations to the HPA, so another order of keys is no reason to write.
    if after is None and text is not None:
        annotations[ownership.FLOOR_ANNOTATION] = None
    elif after is not None and (text is None or not _says(text, after)):
        annotations[ownership.FLOOR_ANNOTATION] = after.text()
    if activation in {"set", "remove"}:
        annotations[ownership.FORCE_ACTIVATION] = "true" if activation == "set" else None
    patch: dict[str, Any] = {}
    if annotations:
        patch["metadata"] = {"annotations": annotations}
    if target != observed.live:
        patch["spec"] = {observed.fields.minimum: target}
    if not patch:
        return None
    # The server refuses it if anybody wrote in between; then the next read decides.
    patch.setdefault("metadata", {})["resourceVersion"] = observed.resource_version
    return patch


def _says(text: str, after: Record) -> bool:
    try:
        return book.parse(text) == after
    except book.Unreadable:
        return False
