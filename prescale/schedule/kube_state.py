"""What kube-state-metrics tells of one service, as PromQL: the floor in force, and how many replicas are Ready.

Source: kube-state-metrics 2, metrics of Deployments and HPAs.
"""

from __future__ import annotations

from stacks.loader import Stack
from stacks.scaler import Kind
from stacks.spec import Service


def raised(stack: Stack, name: str, service: Service) -> str:
    """The HPA's minimum where it is above the baseline. At a baseline of 0 KEDA's HPA has 1."""
    metric = f"kube_horizontalpodautoscaler_spec_min_replicas{{{_hpa(stack, name, service)}}}"
    return f"{metric} > {max(service.replicas.min, 1)}"


def ready(stack: Stack, name: str, service: Service) -> str:
    """Ready replicas of the service's Deployment; what others called theirs is known to their HPA."""
    space = stack.platform.namespace
    if service.adopted is None:
        return f'kube_deployment_status_replicas_ready{{namespace="{space}",deployment="{name}"}}'
    info = f'kube_horizontalpodautoscaler_info{{{_hpa(stack, name, service)},scaletargetref_kind="Deployment"}}'
    target = (
        f'max by (namespace, deployment) (label_replace({info}, "deployment", "$1", "scaletargetref_name", "(.*)"))'
    )
    ready_of_all = f'kube_deployment_status_replicas_ready{{namespace="{space}"}}'
    return f"sum by (namespace) ({ready_of_all} * on (namespace, deployment) {target})"


def held_by(name: str, service: Service) -> tuple[Kind, str]:
    """Kind and name of the object that holds the service's floor."""
    return (service.adopted.kind, service.adopted.name) if service.adopted else ("ScaledObject", name)


def _hpa(stack: Stack, name: str, service: Service) -> str:
    """The labels of the service's HPA: KEDA's, by the name that it gives one, or the one that was adopted."""
    kind, held = held_by(name, service)
    hpa = held if kind == "HorizontalPodAutoscaler" else f"keda-hpa-{held}"
    return f'namespace="{stack.platform.namespace}",horizontalpodautoscaler="{hpa}"'
