"""Who may take whose place when GPUs are short.

Source: Kubernetes 1.34, scheduling/v1 PriorityClass; kube-scheduler, DefaultPreemption.
"""

from __future__ import annotations

from collections.abc import Iterator

from prescale.preflight.admitted import requests
from prescale.preflight.finding import Found
from prescale.preflight.kinds.node import Node
from prescale.preflight.kinds.pod import Pod
from prescale.preflight.scene import Scene, Target, with_deployment
from prescale.preflight.seen import NODES, PODS, PRIORITIES
from prescale.preflight.selecting import kept_off_by, may_be_on
from stacks.node_contract import GPU_RESOURCE


def priority_of(target: Target) -> tuple[int, bool]:
    """(priority, whether it takes the place of lower ones), as admission will have it.

    A class that is not there, or could not be read, counts as none.
    """
    name = target.template.priority_class_name
    classes = target.seen.as_far_as_shown(PRIORITIES)
    for one in classes:
        if one.metadata.name == name or (not name and one.global_default):
            return one.value, one.preemption_policy != "Never"
    return 0, True


def class_is_there(target: Target) -> Iterator[Found]:
    """A template that names a class nobody made is refused at every pod."""
    name = target.template.priority_class_name
    if name and all(one.metadata.name != name for one in target.seen.of(PRIORITIES)):
        yield Found(
            what=f"PriorityClass {name}",
            got="nothing",
            expected="the class that the template names",
            fix="Create it, or take priorityClassName out of the template: every new pod is refused.",
        )


def taken_by_others(scene: Scene) -> Iterator[Found]:
    """Pods with GPUs on a pool that are not ours and stand above: when GPUs are short, ours are the ones to go."""
    targets = list(with_deployment(scene))
    ours = {(pod.metadata.namespace, pod.metadata.name) for target in targets for pod in target.pods}
    others = [
        pod
        for pod in scene.seen.of(PODS)
        if requests(pod.spec).get(GPU_RESOURCE)
        and pod.spec.preemption_policy != "Never"
        and (pod.metadata.namespace, pod.metadata.name) not in ours
    ]
    for target in targets:
        own, _ = priority_of(target)
        nodes = [node for node in scene.seen.of(NODES) if node.pool == target.service.node_pool]
        above = sorted(
            f"{pod.metadata.namespace}/{pod.metadata.name} ({pod.spec.priority})"
            for pod in others
            if pod.spec.priority > own and any(_can_have(pod, node) for node in nodes)
        )
        if above:
            more = f" and {len(above) - 3} more" if len(above) > 3 else ""
            yield Found(
                what=f"priority of its pods on pool {target.service.node_pool}",
                got=f"{own}, below that of {', '.join(above[:3])}{more}",
                expected="none with GPUs of the pool above it",
                fix="Give it a PriorityClass that is as high, or the others nodes of their own.",
                service=target.name,
            )


def _can_have(pod: Pod, node: Node) -> bool:
    if pod.spec.node_name:
        return pod.spec.node_name == node.name
    return may_be_on(pod.spec, node) and kept_off_by(pod.spec, node) is None
