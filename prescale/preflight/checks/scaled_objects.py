"""What keeps a ScaledObject's floor from being one on the pods: pause, idle, ceiling, fallback, a second owner.

Source: KEDA 2.21, apis/keda/v1alpha1/scaledobject_types.go, pkg/fallback, pkg/scaling/executor.
"""

from __future__ import annotations

from collections.abc import Iterator

from prescale.claims import raise_ceiling
from prescale.preflight.finding import Found
from prescale.preflight.kinds.meta import condition
from prescale.preflight.scene import Target
from prescale.preflight.seen import SCALED_OBJECTS

KEEPS_WHAT_RUNS = {"currentReplicas", "currentReplicasIfHigher"}


def paused(target: Target) -> Iterator[Found]:
    for text, lacks in (
        (target.observed.paused, "no pause: without an HPA no floor is in force"),
        (target.observed.scale_out_paused, "no such pause: load above the floor gets no replicas"),
    ):
        if text:
            yield Found(what="annotations of the ScaledObject", got=text, expected=lacks, fix="Remove the annotation.")


def idle(target: Target) -> Iterator[Found]:
    if target.observed.idle_replicas is not None:
        yield Found(
            what="idleReplicaCount",
            got=str(target.observed.idle_replicas),
            expected="none: without load it undercuts any floor but one of an event",
            fix="Remove it.",
        )


def ceiling(target: Target) -> Iterator[Found]:
    if target.observed.max_replicas < target.floor:
        yield Found(
            what=target.observed.fields.maximum,
            got=str(target.observed.max_replicas),
            expected=f"at least the floor of {target.floor}",
            fix=raise_ceiling(target.observed),
        )


def conditions(target: Target) -> Iterator[Found]:
    """What KEDA itself says of it."""
    for kind, bad, expected in (
        ("Ready", "False", "Ready: KEDA keeps the old HPA, and with it the old floor, while a trigger is broken"),
        ("Fallback", "True", "metrics that can be read: it scales by its fallback"),
    ):
        found = condition(target.scaled_object.status.conditions, kind)
        if found is not None and found.status == bad:
            yield Found(
                what=f"condition {kind} of the ScaledObject",
                got=f"{bad}, {found.reason}: {found.message}",
                expected=expected,
                fix=f"Mend what it says; `kubectl describe scaledobject {target.observed.name}` has more.",
            )


def second_owner(target: Target) -> Iterator[Found]:
    ref = target.ref
    others = [
        item.metadata.name
        for item in target.seen.of(SCALED_OBJECTS)
        if item is not target.scaler
        and item.spec.scale_target_ref.name == ref.name
        and (item.spec.scale_target_ref.kind or "Deployment") == (ref.kind or "Deployment")
    ]
    if others:
        yield Found(
            what=f"ScaledObjects that scale {ref.name}",
            got=f"{', '.join(sorted(others))} beside {target.observed.fields.short} {target.observed.name}",
            expected="one object that scales it",
            fix="Remove the others: each rewrites what the other does.",
        )


def fallback(target: Target) -> Iterator[Found]:
    """What is scaled to when the metric cannot be read: in the middle of an event, not less than what runs."""
    found = target.scaled_object.spec.fallback
    if found is None:
        return
    if found.replicas > target.observed.max_replicas:
        yield Found(
            what="fallback.replicas",
            got=str(found.replicas),
            expected=f"at most maxReplicaCount ({target.observed.max_replicas}), where it ends anyway",
            fix="Lower it, or raise replicas.max.",
        )
    # An absent behavior is static.
    if found.replicas < target.floor and (found.behavior or "static") not in KEEPS_WHAT_RUNS:
        yield Found(
            what="fallback",
            got=f"{found.behavior or 'static'} {found.replicas}, below the floor of {target.floor}",
            expected="what runs, when the metric is lost at the peak",
            fix="Set behavior: currentReplicasIfHigher.",
        )


def modifiers(target: Target) -> Iterator[Found]:
    """A fallback beside a formula is dropped without a word where the target is no integer."""
    spec = target.scaled_object.spec
    formula, text = spec.advanced.scaling_modifiers.formula, spec.advanced.scaling_modifiers.target
    if spec.fallback is not None and formula and not text.isdigit():
        yield Found(
            what="advanced.scalingModifiers.target",
            got=repr(text),
            expected="a whole number, or KEDA takes the fallback for invalid",
            fix="Write it without a fraction, or leave the formula out.",
        )
