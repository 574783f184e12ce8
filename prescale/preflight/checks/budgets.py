"""PodDisruptionBudgets: one for each service, which lets nodes be drained and never more than it says at once.

Source: Kubernetes 1.34, pkg/registry/core/pod/storage/eviction.go and policy/v1.
"""

from __future__ import annotations

from collections.abc import Iterator

from prescale.preflight.finding import Found
from prescale.preflight.kinds.policy import DisruptionBudget
from prescale.preflight.scene import Scene, Target, share, with_deployment
from prescale.preflight.seen import BUDGETS
from prescale.preflight.selecting import selects
from stacks import ownership

USE_ONE = "Use maxUnavailable: 1 in its place."


def _of(target: Target) -> list[DisruptionBudget]:
    labels = target.deployment.spec.template.metadata.labels
    return [one for one in target.seen.of(BUDGETS) if selects(one.spec.selector, labels)]


def one_budget(target: Target) -> Iterator[Found]:
    """None lets a drain take every replica; with two the eviction of a pod fails, and no node is ever drained."""
    names = sorted(one.metadata.name for one in _of(target))
    if len(names) != 1:
        yield Found(
            what="PodDisruptionBudgets that mean its pods",
            got=", ".join(names) or "none",
            expected="one",
            fix="Keep one of them: with two no pod can be evicted."
            if names
            else f"{_makes_one(target)}: without one a drain takes all replicas at once.",
        )


def _makes_one(target: Target) -> str:
    if not target.observed.is_adopted:
        return f"Run `pulumi up -s {target.stack}`"
    return "Add one with maxUnavailable: 1 where its Deployment is made"


def drains_are_possible(target: Target) -> Iterator[Found]:
    """At the floor, and again at the baseline that it falls back to."""
    counts = sorted({target.observed.live, target.service.replicas.min, target.floor} - {0})
    for budget in _of(target):
        least, most = budget.spec.min_available, budget.spec.max_unavailable
        stuck = [count for count in counts if least is not None and share(least, count) >= count]
        if stuck:
            yield Found(
                what=f"PodDisruptionBudget {budget.metadata.name}",
                got=f"minAvailable {least} at {' and '.join(map(str, stuck))} replicas",
                expected="fewer than there are replicas, or no node can be drained",
                fix=USE_ONE,
            )
        if most is not None and share(most, 100) == 0:
            yield Found(
                what=f"PodDisruptionBudget {budget.metadata.name}",
                got=f"maxUnavailable {most}",
                expected="at least 1, or no node can be drained",
                fix=USE_ONE,
            )


def budgets_mean_something(scene: Scene) -> Iterator[Found]:
    """One of the stack's own that selects no service's pods protects nothing."""
    templates = [target.deployment.spec.template.metadata.labels for target in with_deployment(scene)]
    if scene.absent or len(templates) < len(scene.targets):
        return  # it may mean pods that are not there yet
    for budget in scene.seen.of(BUDGETS):
        is_own = budget.metadata.labels.get(ownership.STACK_LABEL) == scene.stack
        if is_own and not any(selects(budget.spec.selector, labels) for labels in templates):
            yield Found(
                what=f"PodDisruptionBudget {budget.metadata.name}",
                got="a selector that means no pod of the stack's services",
                expected="the labels of one service's pods",
                fix="Correct its selector, or remove it.",
            )
