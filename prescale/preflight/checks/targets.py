"""That there is something to scale: what holds the floor, and the Deployment it names."""

from __future__ import annotations

from collections.abc import Iterator

from prescale import absence
from prescale.preflight.finding import Found, Unsure
from prescale.preflight.scene import NoTarget, Scene, Target


def is_built(scene: Scene) -> Iterator[Found]:
    """A service of the platform whose floor no object holds can be raised by nobody."""
    for name in scene.absent:
        adopted = scene.adopted.get(name)
        are_others, has_keda = bool(scene.targets), scene.has_keda
        said = absence.of(scene.stack, scene.where, adopted, are_others=are_others, has_keda=has_keda)
        text, _, fix = said.rpartition(". ")
        yield Found(what=adopted.kind if adopted else "ScaledObject", got=text, expected="one", fix=fix, service=name)


def has_deployment(target: Target) -> Iterator[Found | Unsure]:
    """What is scaled; of other kinds than a Deployment the pods are not looked at."""
    ref = target.ref
    if ref.kind not in {"", "Deployment"}:
        yield Unsure(f"it scales a {ref.kind}: pods, nodes and quotas are reckoned for Deployments only")
        return
    try:
        target.deployment  # noqa: B018 - whether there is one
    except NoTarget:
        yield Found(
            what=f"Deployment {ref.name}",
            got="nothing",
            expected=f"what the {target.observed.fields.short} scales",
            fix=f"{target.builder_runs}, or correct scaleTargetRef.",
        )
