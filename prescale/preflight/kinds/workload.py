"""What makes pods, and what says how many.

Source: Kubernetes 1.34, apps/v1 and autoscaling/v2; KEDA 2.21, apis/keda/v1alpha1.
"""

from __future__ import annotations

import msgspec

from prescale.preflight.kinds.meta import Condition, CountOrPercent, LabelSelector, Meta, Shape
from prescale.preflight.kinds.pod import PodTemplate


class RollingUpdate(Shape, frozen=True):
    max_surge: CountOrPercent = "25%"
    max_unavailable: CountOrPercent = "25%"


class Strategy(Shape, frozen=True):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdate = RollingUpdate()


class DeploymentSpec(Shape, frozen=True):
    template: PodTemplate
    selector: LabelSelector
    paused: bool = False
    strategy: Strategy = Strategy()
    progress_deadline_seconds: int = 600
    replicas: int | None = None


class DeploymentStatus(Shape, frozen=True):
    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    conditions: tuple[Condition, ...] = ()


class Deployment(Shape, frozen=True):
    metadata: Meta
    spec: DeploymentSpec
    status: DeploymentStatus = DeploymentStatus()


class DaemonSetSpec(Shape, frozen=True):
    template: PodTemplate


class DaemonSetStatus(Shape, frozen=True):
    desired_number_scheduled: int = 0
    number_ready: int = 0
    updated_number_scheduled: int = 0


class DaemonSet(Shape, frozen=True):
    metadata: Meta
    spec: DaemonSetSpec
    status: DaemonSetStatus = DaemonSetStatus()


class TargetRef(Shape, frozen=True):
    name: str
    kind: str = ""
    api_version: str = ""


class Rules(Shape, frozen=True):
    """Of an HPA's behaviour. An absent policy is `Max`."""

    select_policy: str = "Max"


class Behavior(Shape, frozen=True):
    scale_up: Rules = Rules()
    scale_down: Rules = Rules()


class AutoscalerSpec(Shape, frozen=True):
    scale_target_ref: TargetRef
    max_replicas: int
    min_replicas: int = 1
    behavior: Behavior = Behavior()


class AutoscalerStatus(Shape, frozen=True):
    conditions: tuple[Condition, ...] = ()


class Autoscaler(Shape, frozen=True):
    metadata: Meta
    spec: AutoscalerSpec
    status: AutoscalerStatus = AutoscalerStatus()


class AuthenticationRef(Shape, frozen=True):
    name: str
    kind: str = "TriggerAuthentication"


class Trigger(Shape, frozen=True):
    type: str
    name: str = ""
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    metric_type: str = "AverageValue"
    authentication_ref: AuthenticationRef | None = None


class Fallback(Shape, frozen=True):
    failure_threshold: int
    replicas: int
    behavior: str = "static"


class ScalingModifiers(Shape, frozen=True):
    formula: str = ""
    target: str = ""


class HpaConfig(Shape, frozen=True):
    name: str = ""
    behavior: Behavior = Behavior()


class Advanced(Shape, frozen=True):
    horizontal_pod_autoscaler_config: HpaConfig = HpaConfig()
    scaling_modifiers: ScalingModifiers = ScalingModifiers()


class ScaledObjectSpec(Shape, frozen=True):
    scale_target_ref: TargetRef
    triggers: tuple[Trigger, ...] = ()
    fallback: Fallback | None = None
    advanced: Advanced = Advanced()


class MetricHealth(Shape, frozen=True):
    number_of_failures: int = 0
    status: str = ""


class ScaledObjectStatus(Shape, frozen=True):
    conditions: tuple[Condition, ...] = ()
    health: dict[str, MetricHealth] = msgspec.field(default_factory=dict)


class ScaledObject(Shape, frozen=True):
    metadata: Meta
    spec: ScaledObjectSpec
    status: ScaledObjectStatus = ScaledObjectStatus()


class TriggerAuthentication(Shape, frozen=True):
    """Only that it is there: what secrets it names is its own business."""

    metadata: Meta
