"""Labels and annotations of ours on cluster objects, and who writes which field.

Pulumi owns `maxReplicaCount` and the baseline annotation. `warmline prescale` owns `minReplicaCount` and the floor
annotation. Neither writes what the other owns; every writer is known by its field manager.
"""

from __future__ import annotations

PREFIX = "warmline.dev/"
STACK_LABEL = PREFIX + "stack"
SERVICE_LABEL = PREFIX + "service"
# Decimal integer text: the `minReplicaCount` that holds while no event does. Pulumi writes it.
BASELINE_ANNOTATION = PREFIX + "baseline"
# Compact JSON of `prescale.record.Record`. `warmline prescale` writes it, and removes it at the baseline.
FLOOR_ANNOTATION = PREFIX + "floor"
FIELD_MANAGER = "warmline-prescale"

# Source: KEDA 2.21 apis/keda/v1alpha1/scaledobject_types.go
FORCE_ACTIVATION = "autoscaling.keda.sh/force-activation"
PAUSED = "autoscaling.keda.sh/paused"
PAUSED_REPLICAS = "autoscaling.keda.sh/paused-replicas"
PAUSED_SCALE_OUT = "autoscaling.keda.sh/paused-scale-out"
