"""Labels of every object, and those that select pods. Selectors never change: Kubernetes would replace the object."""

from __future__ import annotations

from stacks.ownership import SERVICE_LABEL, STACK_LABEL
from stacks.spec import Service

OWNER_ANNOTATION = "warmline.dev/owner"
COST_CENTER_ANNOTATION = "warmline.dev/cost-center"


def stack_labels(stack: str) -> dict[str, str]:
    """What every object of a stack carries: only objects so labelled are ever touched."""
    return {
        "app.kubernetes.io/part-of": "warmline",
        "app.kubernetes.io/managed-by": "pulumi",
        STACK_LABEL: stack,
    }


def service_labels(stack: str, name: str) -> dict[str, str]:
    """What every object of one service carries."""
    return {"app.kubernetes.io/name": name} | stack_labels(stack) | {SERVICE_LABEL: name}


def pod_selector(stack: str, name: str) -> dict[str, str]:
    """The labels that make a pod one of the service's engines."""
    return {"app.kubernetes.io/name": name, STACK_LABEL: stack}


def accounting_annotations(service: Service) -> dict[str, str]:
    """Who answers for the service and who pays: free text, so annotations and not labels."""
    paid = {COST_CENTER_ANNOTATION: service.cost_center} if service.cost_center else {}
    return {OWNER_ANNOTATION: service.owner} | paid
