"""That there is something to scale: a ScaledObject, and the Deployment it names."""

from __future__ import annotations

from collections.abc import Iterator

from prescale import absence
from prescale.preflight.finding import Found, Unsure
from prescale.preflight.scene import NoTarget, Scene, Target


def is_built(scene: Scene) -> Iterator[Found]:
    """A service of the platform without a ScaledObject can be raised by nobody."""
    for name in scene.absent:
        said = absence.not_among_the_others if scene.targets else absence.nothing_of
        text, _, fix = said(scene.stack, scene.where).rpartition(". ")
        yield Found(what="ScaledObject", got=text, expected="one", fix=fix, service=name)


def has_deployment(target: Target) -> Iterator[Found | Unsure]:
    """The ScaledObject's target; of other kinds than a Deployment the pods are not looked at."""
    ref = target.scaled_object.spec.scale_target_ref
    if ref.kind not in {"", "Deployment"}:
        yield Unsure(f"it scales a {ref.kind}: pods, nodes and quotas are reckoned for Deployments only")
        return
    try:
        target.deployment  # noqa: B018 - whether there is one
    except NoTarget:
        yield Found(
            what=f"Deployment {ref.name}",
            got="nothing",
            expected="what the ScaledObject scales",
            fix=f"Run `pulumi up -s {target.stack}`, or correct scaleTargetRef.",
        )
