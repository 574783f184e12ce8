"""Who else writes the fields that the pre-scaler and the HPA own: what they put back is gone in the middle of a sale.

Source: Argo CD 3.2, docs/user-guide/diffing.md and sync-options.md; Flux 2.7, kustomize-controller server-side apply.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from prescale.preflight.finding import Found, Unsure
from prescale.preflight.kinds.policy import Application, Ignored
from prescale.preflight.scene import Target
from prescale.preflight.seen import APPLICATIONS, argo_application
from stacks import ownership

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
RESPECTS = "RespectIgnoreDifferences=true"
POINTER, JQ = "/spec/minReplicaCount", ".spec.minReplicaCount"

GITOPS = {
    "argocd-controller": "Argo CD",
    "argocd-application-controller": "Argo CD",
    "kustomize-controller": "Flux",
    "helm-controller": "Flux",
    "helm": "Helm",
    "Helm": "Helm",
    "fleet-agent": "Fleet",
    "fleetagent": "Fleet",
    "kapp-controller": "kapp",
}
"""Field managers that apply what a repository says, again and again."""

LEAVE_OUT = "Take spec.minReplicaCount out of what it applies: the pre-scaler owns it"
IGNORE_IT = (
    f"{LEAVE_OUT}; or ignoreDifferences with jsonPointers [{POINTER}] for keda.sh/ScaledObject, and syncOptions"
    f" [{RESPECTS}]."
)

OURS = (
    ("spec", "minReplicaCount"),
    ("metadata", "annotations", ownership.FLOOR_ANNOTATION),
    ("metadata", "annotations", ownership.FORCE_ACTIVATION),
)


def field_managers(target: Target) -> Iterator[Found]:
    """The server's own book says who owns what."""
    for entry in target.scaled_object.metadata.managed_fields:
        tool = GITOPS.get(entry.manager)
        if tool is None:
            continue
        owned = [path[-1] for path in OURS if entry.has(*path)]
        if owned and not (tool == "Argo CD" and _ignores(target)):
            yield Found(
                what=f"owner of {', '.join(owned)}",
                got=f"{entry.manager} ({tool})",
                expected="the pre-scaler alone",
                fix=IGNORE_IT if tool == "Argo CD" else f"{LEAVE_OUT}.",
            )


def last_applied(target: Target) -> Iterator[Found]:
    """`kubectl apply` and Argo CD keep what they applied: the next apply puts it back."""
    text = target.scaled_object.metadata.annotations.get(LAST_APPLIED)
    if text is None or _ignores(target):
        return
    try:
        applied = json.loads(text)["spec"]["minReplicaCount"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    yield Found(
        what=LAST_APPLIED.partition("/")[2],
        got=f"minReplicaCount {applied}",
        expected="a manifest without it: the next apply puts it back",
        fix=IGNORE_IT if argo_application(target.scaled_object) else f"{LEAVE_OUT}.",
    )


def argo(target: Target) -> Iterator[Found | Unsure]:
    """An Application that tracks the object heals it back, unless it was told to leave the floor alone."""
    name = argo_application(target.scaled_object)
    if name is None:
        return
    found = _application(target, name)
    if found is None:
        # Helm's charts set one of these labels, too: then there is no Argo CD behind it.
        if any(key.startswith("argocd.argoproj.io/") for key in _marks(target)):
            yield Unsure(
                f"Argo CD's Application {name} is not in this cluster: see that it has ignoreDifferences for {POINTER}"
            )
    elif not _leaves_alone(found, target):
        yield Found(
            what=f"Argo CD Application {name}",
            got="no ignoreDifferences for it, or not respected in a sync",
            expected="the floor left alone by self-heal and by every sync",
            fix=IGNORE_IT,
        )


def _marks(target: Target) -> set[str]:
    metadata = target.scaled_object.metadata
    return {*metadata.annotations, *metadata.labels}


def _application(target: Target, name: str) -> Application | None:
    """By its name, or with its namespace in front, as Argo CD writes those outside of its own."""
    for one in target.seen.of(APPLICATIONS):
        if name in {one.metadata.name, f"{one.metadata.namespace}_{one.metadata.name}"}:
            return one
    return None


def _ignores(target: Target) -> bool:
    """Whether Argo CD has the object and was told to leave the floor alone; then a later sync does."""
    name = argo_application(target.scaled_object)
    if name is None or not target.seen.could_read(APPLICATIONS):
        return False
    found = _application(target, name)
    return found is not None and _leaves_alone(found, target)


def _leaves_alone(application: Application, target: Target) -> bool:
    is_ignored = any(_means(one, target) for one in application.spec.ignore_differences)
    return is_ignored and RESPECTS in application.spec.sync_policy.sync_options


def _means(one: Ignored, target: Target) -> bool:
    metadata = target.scaled_object.metadata
    is_it = (
        one.group in {"", "*", "keda.sh"}
        and one.kind in {"", "*", "ScaledObject"}
        and one.name in {"", metadata.name}
        and one.namespace in {"", metadata.namespace}
    )
    is_floor = (
        POINTER in one.json_pointers
        or any(JQ in path for path in one.jq_path_expressions)
        or ownership.FIELD_MANAGER in one.managed_fields_managers
    )
    return is_it and is_floor


def replicas(target: Target) -> Iterator[Found]:
    """Who else says how many pods the Deployment has; the HPA says it through the scale subresource."""
    for entry in target.deployment.metadata.managed_fields:
        if entry.has("spec", "replicas") and entry.subresource != "scale":
            yield Found(
                what="owner of the Deployment's spec.replicas",
                got=f"{entry.manager} ({entry.operation})",
                expected="the HPA alone",
                fix="Leave spec.replicas out of what it applies: each time it does, the HPA's number is gone.",
            )
