"""The one place a KEDA ScaledObject is built: keys of a custom resource are checked by nothing but this and the schema.

Source: KEDA 2.21 apis/keda/v1alpha1/scaledobject_types.go, pkg/scalers/prometheus_scaler.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from infra import labels
from stacks.field_types import Number
from stacks.ownership import BASELINE_ANNOTATION
from stacks.spec import Service

IGNORED_FIELDS = ["spec.minReplicaCount"]
"""`warmline prescale` owns the floor once the object is there; Pulumi owns everything else, the ceiling too."""

POLLING_S = 5
"""How often KEDA looks whether a service at 0 has to wake; above 0 the HPA asks by itself. One instant query each."""

FALLBACK_FAILURES = 3
"""Failed reads before the fallback holds. One lost scrape is none of its business."""

SCALE_UP_PERIOD_S = 15
"""Source: kube-controller-manager --horizontal-pod-autoscaler-sync-period, default."""


@dataclass(frozen=True)
class ScaledObjectArgs:
    """One service's scaling. `query` gives the requests in flight at all its replicas together."""

    stack: str
    service: Service
    namespace: pulumi.Input[str]
    prometheus_url: str
    query: str


def scaled_object(name: str, args: ScaledObjectArgs, opts: pulumi.ResourceOptions) -> CustomResource:
    """Register the ScaledObject `name` that scales the Deployment `name`."""
    metadata = ObjectMetaArgs(
        name=name,
        namespace=args.namespace,
        labels=labels.service_labels(args.stack, name),
        annotations={BASELINE_ANNOTATION: str(args.service.replicas.min)},
    )
    return CustomResource(
        f"{name}-scaledobject",
        api_version="keda.sh/v1alpha1",
        kind="ScaledObject",
        metadata=metadata,
        spec=_spec(name, args),
        opts=opts,
    )


def _spec(name: str, args: ScaledObjectArgs) -> dict[str, Any]:
    service = args.service
    return {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
        "pollingInterval": POLLING_S,
        # Only from 1 to 0; without it a baseline of 0 would let go after KEDA's 300 s, whatever the window says.
        "cooldownPeriod": service.scale_down.window_s,
        "minReplicaCount": service.replicas.min,
        "maxReplicaCount": service.replicas.max,
        "fallback": {
            "failureThreshold": FALLBACK_FAILURES,
            # Without metrics: what runs now, and not below the baseline. At least 1, for KEDA takes 0 as "no fallback"
            # and would let the last replica of a baseline of 0 go, blind.
            "replicas": max(service.replicas.min, 1),
            "behavior": "currentReplicasIfHigher",
        },
        # restoreToOriginalReplicaCount is left at its false: KEDA drops a false when it writes the object, and every
        # `pulumi refresh` would find a drift. True would scale back in the middle of a sale if this object went.
        "advanced": {"horizontalPodAutoscalerConfig": {"behavior": _behavior(service)}},
        "triggers": [_trigger(args)],
    }


def _behavior(service: Service) -> dict[str, Any]:
    down = service.scale_down
    return {
        # Up at once and as far as the load says: a cold start later is late enough.
        "scaleUp": {
            "stabilizationWindowSeconds": 0,
            "policies": [{"type": "Pods", "value": service.replicas.max, "periodSeconds": SCALE_UP_PERIOD_S}],
        },
        # Down late and in steps: a dip costs the GPUs' price, a mistake costs cold starts at the next wave.
        "scaleDown": {
            "stabilizationWindowSeconds": down.window_s,
            "policies": [{"type": "Pods", "value": down.replicas, "periodSeconds": down.period_s}],
        },
    }


def _trigger(args: ScaledObjectArgs) -> dict[str, Any]:
    return {
        "type": "prometheus",
        "name": "in-flight",
        # The query is a total, so the HPA has to divide by the replicas: `Value` would compare it undivided.
        "metricType": "AverageValue",
        "metadata": {
            "serverAddress": args.prometheus_url,
            "query": args.query,
            "threshold": plain(args.service.capacity.in_flight_per_replica),
            # No data is no zero: with KEDA's default a Prometheus that lost its targets scales to the floor at peak.
            "ignoreNullValues": "false",
        },
    }


def plain(number: Number) -> str:
    """`40`, `37.5`: never `4E+1`, which is what a Decimal may print."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
