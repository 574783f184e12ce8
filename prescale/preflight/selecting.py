"""Which labels a selector means, which nodes a pod may run on, and which taints it bears. As the API server has it.

Source: Kubernetes 1.34, component-helpers/scheduling/corev1 and apimachinery/pkg/labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prescale.preflight.kinds.meta import LabelSelector, Requirement
from prescale.preflight.kinds.node import Node, Taint
from prescale.preflight.kinds.pod import NodeSelector, NodeTerm, PodSpec, Toleration

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
"""What the controller manager puts on a cordoned node, sooner or later."""


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """An absent selector selects nothing, an empty one everything."""
    if selector is None:
        return False
    return selector.match_labels.items() <= labels.items() and all(
        meets(one, labels) for one in selector.match_expressions
    )


def meets(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Whether the labels are as one expression asks. A label that is absent is in no list, and not unequal to none."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(requirement, value)
    return False


def _compares(requirement: Requirement, value: str | None) -> bool:
    try:
        have, bound = int(value or ""), int(requirement.values[0])
    except (ValueError, IndexError):
        return False
    return have > bound if requirement.operator == "Gt" else have < bound


def may_be_on(spec: PodSpec, node: Node) -> bool:
    """By the template's nodeSelector and required node affinity."""
    required = spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    return spec.node_selector.items() <= node.metadata.labels.items() and is_of(required, node)


def is_of(selector: NodeSelector | None, node: Node) -> bool:
    """No selector means every node, one without terms none."""
    return selector is None or any(_term_means(term, node) for term in selector.node_selector_terms)


def _term_means(term: NodeTerm, node: Node) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    return all(meets(one, node.metadata.labels) for one in term.match_expressions) and all(
        meets(one, {"metadata.name": node.name}) for one in term.match_fields
    )


def kept_off_by(spec: PodSpec, node: Node) -> Taint | None:
    """The first taint that keeps new pods away and is not tolerated; a cordon counts as one."""
    taints = (*node.spec.taints, UNSCHEDULABLE) if node.spec.unschedulable else node.spec.taints
    return next((taint for taint in taints if _bars(taint, spec.tolerations)), None)


def _bars(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return taint.effect in {"NoSchedule", "NoExecute"} and not any(_tolerates(one, taint) for one in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.value == taint.value
