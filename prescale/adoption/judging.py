"""Whether an object can be adopted, and what a person should know of it. Pure: a function of what was asked and seen.

What is refused would be wrong from the first run on; what is found is mended by a person before the next event; what
is noted needs nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from prescale.adoption import marks
from prescale.adoption.look import Key, Look, Scaler
from prescale.claims import KEPT_FOR_S
from prescale.preflight.checks import owners
from prescale.preflight.kinds.workload import Deployment
from prescale.preflight.seen import argo_application
from stacks import ownership
from stacks.adopted import Adopted
from stacks.spec import Replicas


@dataclass(frozen=True)
class Asked:
    """Who wants what adopted: an object, for a service of a stack, with the `replicas` of platform.yaml."""

    stack: str
    service: str
    adopted: Adopted
    replicas: Replicas
    by: str

    @property
    def key(self) -> Key:
        return self.adopted.kind, self.adopted.name

    @property
    def field(self) -> str:
        return f"services.{self.service}.adopted"


@dataclass(frozen=True)
class Verdict:
    """`patch` is None where it is refused, or adopted so already."""

    patch: dict[str, Any] | None = None
    refused: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def judge(asked: Asked, look: Look) -> Verdict:
    """What would be done to the object as it was seen."""
    it = look.scalers.get(asked.key)
    if it is None:
        return Verdict(refused=(_absent(asked, look),))
    refused = (*_whose(asked, it, look), *_second(asked, it, look), *_baseline(asked, it), *_pods(asked, it, look))
    if refused:
        return Verdict(refused=refused)
    given = {"stack": asked.stack, "service": asked.service, "by": asked.by}
    patch = marks.put_on(it.observed, dict(it.labels), baseline=asked.replicas.min, **given)
    findings = (*_ceiling(asked, it), *_not_in_force(it), *_made_by(it), *_applied_by(it))
    return Verdict(
        patch, findings=findings, notes=(*_floor_now(asked, it, is_new=patch is not None), *_unseen(it, look))
    )


def _absent(asked: Asked, look: Look) -> str:
    kind, name = asked.key
    near = get_close_matches(name, [other for of, other in look.scalers if of == kind])
    hint = f" Near it: {', '.join(near)}." if near else ""
    fix = f"Correct {asked.field} in platform.yaml, or cluster.context."
    return f"there is no {kind} {name} in {look.where}.{hint} {fix}"


def _whose(asked: Asked, it: Scaler, look: Look) -> Iterator[str]:
    """It is KEDA's, another stack's, Pulumi's, or adopted for another service."""
    if it.of is not None:
        owner = look.scalers.get(("ScaledObject", it.of))
        is_ours = owner is not None and owner.labels.get(ownership.STACK_LABEL) == asked.stack
        fix = f"Adopt that one: {asked.field}: {{kind: ScaledObject, name: {it.of}, ...}}"
        fix = f"That one is in stack {asked.stack} already" if is_ours else fix
        yield f"{it} is made by KEDA from ScaledObject {it.of}, which rewrites it. {fix}."
        return
    stack, service = it.labels.get(ownership.STACK_LABEL), it.labels.get(ownership.SERVICE_LABEL)
    if stack is None:
        return
    if stack != asked.stack:
        yield f"{it} is stack {stack}'s. Let it go there first: `warmline prescale adopt --undo`."
    elif not it.observed.is_adopted:
        yield f"{it} is in stack {stack} already: Pulumi made it. Take `adopted` out of services.{asked.service}."
    elif service != asked.service:
        fix = "Let it go first: `warmline prescale adopt --undo`."
        yield f"{it} is adopted for service {service}. {fix}"


def _second(asked: Asked, it: Scaler, look: Look) -> Iterator[str]:
    """A second object for the service, or for the workload: each would undo what the other does."""
    if it.of is not None:
        return
    mine = {ownership.STACK_LABEL: asked.stack, ownership.SERVICE_LABEL: asked.service}
    for key, other in look.scalers.items():
        if key == asked.key or other.of is not None:  # KEDA's HPAs belong to their ScaledObjects
            continue
        if mine.items() <= other.labels.items():
            fix = "`pulumi up` removes what it built; `warmline prescale adopt --undo` lets go of what was adopted."
            yield f"{other} holds the floor of service {asked.service} already. {fix}"
        if other.scales == it.scales:
            kind, name = it.scales
            yield f"{other} scales {kind} {name} as well: each undoes what the other does. Delete one of the two."


def _baseline(asked: Asked, it: Scaler) -> Iterator[str]:
    baseline, ceiling = asked.replicas.min, it.observed.max_replicas
    if baseline > ceiling:
        field = it.observed.fields.maximum
        fix = f"Lower services.{asked.service}.replicas.min, or raise {field} where {it} is made."
        yield f"the baseline of {baseline} is above its {field} of {ceiling}. {fix}"


def _pods(asked: Asked, it: Scaler, look: Look) -> Iterator[str]:
    """The labels that Ready pods are counted by mean its Deployment's pods, and no others."""
    deployment = _deployment(it, look)
    if deployment is None or it.of is not None:
        return
    selected = deployment.spec.selector.match_labels
    given, field = asked.adopted.pod_labels, f"{asked.field}.pod_labels"
    template = deployment.spec.template.metadata.labels
    if selected.items() <= given.items() <= template.items():
        return
    right = ", ".join(f"{key}: {value}" for key, value in sorted((selected or template).items()))
    yield f"{field} does not mean the pods of Deployment {it.scales[1]}. Write {{{right}}}."


def _deployment(it: Scaler, look: Look) -> Deployment | None:
    kind, name = it.scales
    return look.deployments.get(name) if kind == "Deployment" and look.deployments is not None else None


def _ceiling(asked: Asked, it: Scaler) -> Iterator[str]:
    ours, live, field = asked.replicas.max, it.observed.max_replicas, it.observed.fields.maximum
    if live < ours:
        fix = f"Raise it where {it} is made, or lower services.{asked.service}.replicas.max."
        yield f"its {field} is {live}, platform.yaml says {ours}: sync would refuse what plan allows. {fix}"


def _not_in_force(it: Scaler) -> Iterator[str]:
    observed = it.observed
    if observed.paused:
        yield f"KEDA is paused ({observed.paused}): no floor is in force. Remove the annotation before an event."
    if observed.scale_out_paused:
        lacks = "load above the floor gets no replicas"
        yield f"scaling out is paused ({observed.scale_out_paused}): {lacks}. Remove the annotation before an event."
    if observed.idle_replicas is not None:
        yield f"idleReplicaCount {observed.idle_replicas} undercuts the floor while no load comes. Remove it."
    if observed.kind == "HorizontalPodAutoscaler" and observed.is_at_zero:
        yield f"its target has 0 replicas, so {it} rests and no floor is in force. Scale the target to 1."


def _made_by(it: Scaler) -> Iterator[str]:
    for owner in it.typed.metadata.owner_references:
        fix = f"Set the floor there, or have that controller leave {it.observed.fields.minimum} alone."
        yield f"{it} is made by {owner.kind} {owner.name}, whose controller may write it anew. {fix}"


def _applied_by(it: Scaler) -> Iterator[str]:
    """Who applies the floor from a repository, as preflight finds it."""
    metadata, kind = it.typed.metadata, it.observed.kind
    found = [*(one for _, one in owners.applied_by_tools(metadata, kind)), *owners.applied_last(metadata, kind)]
    for one in found:
        yield f"{one.what}: {one.got}, expected {one.expected}. {one.fix}"
    name = argo_application(metadata)
    if name and not found and owners.is_argos(metadata):
        yield f"Argo CD's Application {name} heals what differs from its repository. {owners.ignore_it(kind)}"


def _floor_now(asked: Asked, it: Scaler, *, is_new: bool) -> Iterator[str]:
    if not is_new:
        return
    live, baseline, field = it.observed.live, asked.replicas.min, it.observed.fields.minimum
    run = f"`warmline prescale sync -s {asked.stack}`"
    if live > baseline:
        kept = f"counts as a person's: it is kept for {KEPT_FOR_S // 3600} h from the next {run} on, then {baseline}"
        yield f"its {field} of {live} is above the baseline and {kept}"
    elif live < baseline:
        yield f"its {field} of {live} is below the baseline: the next {run} raises it to {baseline}"
    else:
        yield f"the next {run} makes its floor true"


def _unseen(it: Scaler, look: Look) -> Iterator[str]:
    metadata = it.typed.metadata
    if owners.is_argos(metadata) and argo_application(metadata) is None:
        fix = owners.ignore_it(it.observed.kind)
        yield f"it has a mark of Argo CD's and no Application's name: see that none heals it. {fix}"
    kind, name = it.scales
    if kind != "Deployment":
        yield f"it scales {kind} {name}: whether pod_labels mean its pods was not checked, Deployments are"
    elif look.deployments is None:
        yield "Deployments are not shown to this user: whether pod_labels mean its pods was not checked"
    elif name not in look.deployments:
        yield f"there is no Deployment {name} yet: whether pod_labels mean its pods was not checked"
