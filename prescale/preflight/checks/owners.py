"""Who else writes the fields that the pre-scaler and the HPA own: what they put back is gone in the middle of a sale.

Source: Argo CD 3.2, docs/user-guide/diffing.md and sync-options.md; Flux 2.7, kustomize-controller server-side apply.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from prescale.observed import FIELDS
from prescale.preflight.finding import Found, Unsure
from prescale.preflight.kinds.meta import Meta
from prescale.preflight.kinds.policy import Application, Ignored
from prescale.preflight.scene import Target
from prescale.preflight.seen import APPLICATIONS, argo_application
from stacks import ownership
from stacks.scaler import Kind

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
RESPECTS = "RespectIgnoreDifferences=true"
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

GROUPS: Mapping[Kind, str] = {"ScaledObject": "keda.sh", "HorizontalPodAutoscaler": "autoscaling"}

Writes = tuple[str, Found]
"""A tool, and what it writes again and again."""


def _ours(kind: Kind) -> tuple[tuple[str, ...], ...]:
    return (
        ("spec", FIELDS[kind].minimum),
        ("metadata", "annotations", ownership.FLOOR_ANNOTATION),
        ("metadata", "annotations", ownership.FORCE_ACTIVATION),
    )


def leave_out(kind: Kind) -> str:
    """What to do about whoever applies the floor."""
    return f"Take spec.{FIELDS[kind].minimum} out of what it applies: the pre-scaler owns it"


def ignore_it(kind: Kind) -> str:
    """What to do in Argo CD."""
    ignored = f"ignoreDifferences with jsonPointers [{pointer(kind)}] for {GROUPS[kind]}/{kind}"
    return f"{leave_out(kind)}; or {ignored}, and syncOptions [{RESPECTS}]."


def pointer(kind: Kind) -> str:
    return f"/spec/{FIELDS[kind].minimum}"


def applied_by_tools(metadata: Meta, kind: Kind) -> Iterator[Writes]:
    """The server's own book says who owns what."""
    for entry in metadata.managed_fields:
        tool = GITOPS.get(entry.manager)
        owned = [path[-1] for path in _ours(kind) if entry.has(*path)]
        if tool is not None and owned:
            yield (
                tool,
                Found(
                    what=f"owner of {', '.join(owned)}",
                    got=f"{entry.manager} ({tool})",
                    expected="the pre-scaler alone",
                    fix=ignore_it(kind) if tool == "Argo CD" else f"{leave_out(kind)}.",
                ),
            )


def applied_last(metadata: Meta, kind: Kind) -> Iterator[Found]:
    """`kubectl apply` and Argo CD keep what they applied: the next apply puts it back."""
    try:
        applied = json.loads(metadata.annotations[LAST_APPLIED])["spec"][FIELDS[kind].minimum]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    yield Found(
        what=LAST_APPLIED.partition("/")[2],
        got=f"{FIELDS[kind].minimum} {applied}",
        expected="a manifest without it: the next apply puts it back",
        fix=ignore_it(kind) if argo_application(metadata) else f"{leave_out(kind)}.",
    )


def field_managers(target: Target) -> Iterator[Found]:
    for tool, found in applied_by_tools(target.scaler.metadata, target.observed.kind):
        if not (tool == "Argo CD" and _ignores(target)):
            yield found


def last_applied(target: Target) -> Iterator[Found]:
    if not _ignores(target):
        yield from applied_last(target.scaler.metadata, target.observed.kind)


def argo(target: Target) -> Iterator[Found | Unsure]:
    """An Application that tracks the object heals it back, unless it was told to leave the floor alone."""
    name = argo_application(target.scaler.metadata)
    found = _application(target, name) if name else None
    if found is None:
        # Helm's charts set one of these labels, too: then there is no Argo CD behind it.
        if is_argos(target.scaler.metadata):
            which = f"Application {name} is not in this cluster" if name else "Application is not named on it"
            yield Unsure(f"Argo CD's {which}: see that it has ignoreDifferences for {pointer(target.observed.kind)}")
    elif not _leaves_alone(found, target):
        yield Found(
            what=f"Argo CD Application {name}",
            got="no ignoreDifferences for it, or not respected in a sync",
            expected="the floor left alone by self-heal and by every sync",
            fix=ignore_it(target.observed.kind),
        )


def is_argos(metadata: Meta) -> bool:
    """Whether it says so by a word of Argo CD's own."""
    return any(key.startswith("argocd.argoproj.io/") for key in (*metadata.annotations, *metadata.labels))


def _application(target: Target, name: str) -> Application | None:
    """By its name, or with its namespace in front, as Argo CD writes those outside of its own."""
    for one in target.seen.of(APPLICATIONS):
        if name in {one.metadata.name, f"{one.metadata.namespace}_{one.metadata.name}"}:
            return one
    return None


def _ignores(target: Target) -> bool:
    """Whether Argo CD has the object and was told to leave the floor alone; then a later sync does."""
    name = argo_application(target.scaler.metadata)
    if name is None or not target.seen.could_read(APPLICATIONS):
        return False
    found = _application(target, name)
    return found is not None and _leaves_alone(found, target)


def _leaves_alone(application: Application, target: Target) -> bool:
    is_ignored = any(_means(one, target) for one in application.spec.ignore_differences)
    return is_ignored and RESPECTS in application.spec.sync_policy.sync_options


def _means(one: Ignored, target: Target) -> bool:
    metadata, kind = target.scaler.metadata, target.observed.kind
    is_it = (
        one.group in {"", "*", GROUPS[kind]}
        and one.kind in {"", "*", kind}
        and one.name in {"", metadata.name}
        and one.namespace in {"", metadata.namespace}
    )
    is_floor = (
        pointer(kind) in one.json_pointers
        or any(f".spec.{FIELDS[kind].minimum}" in path for path in one.jq_path_expressions)
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
