"""Labels and annotations of ours on cluster objects, and who writes which field.

Pulumi owns `maxReplicaCount` and the baseline annotation. `warmline prescale` owns `minReplicaCount` and the floor
annotation. Neither writes what the other owns; every writer is known by its field manager. On what others made,
`warmline prescale adopt` writes labels and baseline in Pulumi's place.
"""

from __future__ import annotations

import hashlib
import re

PREFIX = "warmline.dev/"
STACK_LABEL = PREFIX + "stack"
SERVICE_LABEL = PREFIX + "service"
# Decimal integer text: the `minReplicaCount` that holds while no event does. Pulumi writes it.
BASELINE_ANNOTATION = PREFIX + "baseline"
# Compact JSON of `prescale.record.Record`. `warmline prescale` writes it, and removes it at the baseline.
FLOOR_ANNOTATION = PREFIX + "floor"
# Who adopted it, for people; and the mark that it was adopted and not built.
ADOPTED_ANNOTATION = PREFIX + "adopted-by"
FIELD_MANAGER = "warmline-prescale"

# Source: KEDA 2.21 apis/keda/v1alpha1/scaledobject_types.go
FORCE_ACTIVATION = "autoscaling.keda.sh/force-activation"
PAUSED = "autoscaling.keda.sh/paused"
PAUSED_REPLICAS = "autoscaling.keda.sh/paused-replicas"
PAUSED_SCALE_OUT = "autoscaling.keda.sh/paused-scale-out"
# On the HPA that KEDA makes, beside the ScaledObject's own labels and annotations.
SCALED_OBJECT_LABEL = "scaledobject.keda.sh/name"

# A stack may be called what no object may be. Source: Kubernetes 1.34, DNS-1123 subdomain.
_OBJECT_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def orders_name(stack: str) -> str:
    """The ConfigMap, beside the stack's ScaledObjects, that keeps what `warmline prescale now` and its like ordered."""
    return _beside("orders", stack)


def starts_name(stack: str) -> str:
    """The ConfigMap that keeps how long the starts of the stack's replicas took."""
    return _beside("starts", stack)


def _beside(what: str, stack: str) -> str:
    if _OBJECT_NAME.fullmatch(stack):
        return f"warmline-{what}-{stack}"
    # Two names that differ only in what is left out are two stacks; a dot first keeps them from any name above.
    plain = re.sub(r"[^a-z0-9]+", "-", stack.lower()).strip("-")
    return f"warmline-{what}.{plain}-{hashlib.sha256(stack.encode()).hexdigest()[:8]}"
