"""The HPA that KEDA makes: it is there, it alone scales the Deployment, and it says what the ScaledObject says.

Source: KEDA 2.21, controllers/keda/hpa.go; Kubernetes 1.34, pkg/controller/podautoscaler/horizontal.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from prescale.preflight.finding import Found
from prescale.preflight.kinds.meta import condition
from prescale.preflight.kinds.workload import Autoscaler
from prescale.preflight.scene import Target
from prescale.preflight.seen import AUTOSCALERS

RESTS = "ScalingDisabled"
"""Why an HPA is not active whose target has no replicas."""


def _own(target: Target) -> Autoscaler | None:
    return next((one for one in target.seen.of(AUTOSCALERS) if one.metadata.name == target.observed.hpa_name), None)


def is_there(target: Target) -> Iterator[Found]:
    """A paused object has none; that is another check's word."""
    if _own(target) is None and not target.observed.paused:
        yield Found(
            what=f"HPA {target.observed.hpa_name}",
            got="nothing",
            expected="the one KEDA makes from the ScaledObject",
            fix=f"See that KEDA runs, and `kubectl describe scaledobject {target.observed.name}`.",
        )


def owner(target: Target) -> Iterator[Found]:
    found = _own(target)
    if found is None:
        return
    owners = {(one.kind, one.name) for one in found.metadata.owner_references}
    if target.observed.kind == "HorizontalPodAutoscaler":  # one that a ScaledObject owned would be no target at all
        return
    if ("ScaledObject", target.observed.name) not in owners:
        yield Found(
            what=f"owner of HPA {found.metadata.name}",
            got=", ".join(f"{kind} {name}" for kind, name in sorted(owners)) or "nobody",
            expected=f"ScaledObject {target.observed.name}",
            fix="Delete that HPA: KEDA makes its own, and takes over no other's.",
        )


def others_on_the_target(target: Target) -> Iterator[Found]:
    ref = target.ref
    names = sorted(
        one.metadata.name
        for one in target.seen.of(AUTOSCALERS)
        if one.metadata.name != target.observed.hpa_name
        and one.spec.scale_target_ref.name == ref.name
        and one.spec.scale_target_ref.kind == (ref.kind or "Deployment")
    )
    if names:
        yield Found(
            what=f"HPAs that scale {ref.name}",
            got=f"{', '.join(names)} beside {target.observed.hpa_name}",
            expected=f"{target.observed.hpa_name} alone",
            fix="Delete the others: two HPAs undo each other's replicas.",
        )


def follows(target: Target) -> Iterator[Found]:
    """KEDA writes minimum and maximum over as soon as all triggers can be built, and not before."""
    found = _own(target)
    if found is None:
        return
    said = (max(target.observed.live, 1), target.observed.max_replicas)
    shown = (found.spec.min_replicas, found.spec.max_replicas)
    if said != shown:
        yield Found(
            what=f"HPA {found.metadata.name}",
            got=f"minReplicas {shown[0]}, maxReplicas {shown[1]}",
            expected=f"{said[0]} and {said[1]}, as the ScaledObject has it",
            fix=f"See `kubectl describe scaledobject {target.observed.name}`: a broken trigger keeps it as it was.",
        )


def may_scale_up(target: Target) -> Iterator[Found]:
    found = _own(target)
    if found is not None and found.spec.behavior.scale_up.select_policy == "Disabled":
        if target.observed.scale_out_paused:  # which is what sets it, and another check's word
            return
        yield Found(
            what=f"HPA {found.metadata.name}",
            got="behavior.scaleUp.selectPolicy Disabled",
            expected="Max, or load above the floor gets no replicas",
            fix=f"Take it out of {_has_behavior(target)}.",
        )


def _has_behavior(target: Target) -> str:
    made_by_keda = target.observed.kind == "ScaledObject"
    return "the ScaledObject's horizontalPodAutoscalerConfig" if made_by_keda else "its manifest"


def is_awake(target: Target) -> Iterator[Found]:
    """An HPA that others made is woken by nobody; KEDA wakes its own."""
    if target.observed.kind == "HorizontalPodAutoscaler" and target.observed.is_at_zero:
        yield Found(
            what=f"replicas of {target.ref.name}",
            got="0",
            expected=f"1 or more: at 0 HPA {target.observed.name} rests, and no floor of it is in force",
            fix="Scale it to 1.",
        )


def is_active(target: Target) -> Iterator[Found]:
    """What the HPA itself says: it cannot read its metric, or cannot scale."""
    found = _own(target)
    if found is None:
        return
    for kind in ("AbleToScale", "ScalingActive"):
        said = condition(found.status.conditions, kind)
        if said is not None and said.status == "False" and said.reason != RESTS:
            yield Found(
                what=f"condition {kind} of HPA {found.metadata.name}",
                got=f"False, {said.reason}: {said.message}",
                expected="True: above the floor nothing follows the load",
                fix="Mend what it says: the metrics' server, KEDA's adapter, or the trigger.",
            )
