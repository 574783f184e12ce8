"""Pods, and the templates they are made from.

Source: Kubernetes 1.34, core/v1.
"""

from __future__ import annotations

import msgspec

from prescale.preflight.kinds.meta import Amounts, Condition, LabelSelector, Meta, Requirement, Shape


class Resources(Shape, frozen=True):
    requests: Amounts = msgspec.field(default_factory=dict)
    limits: Amounts = msgspec.field(default_factory=dict)


class Probe(Shape, frozen=True):
    initial_delay_seconds: int = 0
    period_seconds: int = 10
    failure_threshold: int = 3

    @property
    def budget_s(self) -> int:
        """Seconds until it has failed for good, when it never succeeds."""
        return self.initial_delay_seconds + self.period_seconds * self.failure_threshold


class Sleep(Shape, frozen=True):
    seconds: int


class Exec(Shape, frozen=True):
    command: tuple[str, ...] = ()


class Hook(Shape, frozen=True):
    sleep: Sleep | None = None
    exec: Exec | None = None


class Lifecycle(Shape, frozen=True):
    pre_stop: Hook | None = None


class Container(Shape, frozen=True):
    """`restart_policy` Always makes a sidecar of an init container."""

    name: str
    image: str = ""
    resources: Resources = Resources()
    startup_probe: Probe | None = None
    liveness_probe: Probe | None = None
    lifecycle: Lifecycle = Lifecycle()
    restart_policy: str = ""


class NodeTerm(Shape, frozen=True):
    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(Shape, frozen=True):
    """Terms are alternatives; what one term says must all be so."""

    node_selector_terms: tuple[NodeTerm, ...] = ()


class PodTerm(Shape, frozen=True):
    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()


class RequiredNodeAffinity(Shape, frozen=True):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class RequiredPodAffinity(Shape, frozen=True):
    required_during_scheduling_ignored_during_execution: tuple[PodTerm, ...] = ()


class Affinity(Shape, frozen=True):
    node_affinity: RequiredNodeAffinity = RequiredNodeAffinity()
    pod_affinity: RequiredPodAffinity = RequiredPodAffinity()
    pod_anti_affinity: RequiredPodAffinity = RequiredPodAffinity()


class Toleration(Shape, frozen=True):
    """An empty key with `Exists` tolerates every taint, an empty effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class SpreadConstraint(Shape, frozen=True):
    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    min_domains: int = 1
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"

    @property
    def binds(self) -> bool:
        return self.when_unsatisfiable == "DoNotSchedule"


class ClaimSource(Shape, frozen=True):
    claim_name: str


class ClaimTemplateSpec(Shape, frozen=True):
    access_modes: tuple[str, ...] = ()
    storage_class_name: str | None = None


class ClaimTemplate(Shape, frozen=True):
    spec: ClaimTemplateSpec


class Ephemeral(Shape, frozen=True):
    volume_claim_template: ClaimTemplate


class Volume(Shape, frozen=True):
    name: str
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Ephemeral | None = None


class Named(Shape, frozen=True):
    name: str = ""


class PodSpec(Shape, frozen=True):
    """`resources` are those of the pod as a whole, where it says them."""

    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    resources: Resources = Resources()
    overhead: Amounts = msgspec.field(default_factory=dict)
    node_name: str = ""
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    affinity: Affinity = Affinity()
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[SpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()
    priority_class_name: str = ""
    priority: int = 0
    preemption_policy: str = "PreemptLowerPriority"
    image_pull_secrets: tuple[Named, ...] = ()
    termination_grace_period_seconds: int = 30
    active_deadline_seconds: int | None = None

    @property
    def all_containers(self) -> tuple[Container, ...]:
        return (*self.init_containers, *self.containers)


class Waiting(Shape, frozen=True):
    reason: str = ""
    message: str = ""


class ContainerState(Shape, frozen=True):
    waiting: Waiting | None = None


class ContainerStatus(Shape, frozen=True):
    name: str
    image_id: str = msgspec.field(default="", name="imageID")
    state: ContainerState = ContainerState()


class PodStatus(Shape, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Shape, frozen=True):
    metadata: Meta
    spec: PodSpec
    status: PodStatus = PodStatus()

    @property
    def is_over(self) -> bool:
        return self.status.phase in {"Succeeded", "Failed"}

    @property
    def is_leaving(self) -> bool:
        return self.metadata.deletion_timestamp is not None


class PodTemplate(Shape, frozen=True):
    spec: PodSpec
    metadata: Meta = Meta()
