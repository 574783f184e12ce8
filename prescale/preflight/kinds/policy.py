"""What a namespace allows and asks: quotas, ranges, budgets, claims; and Argo CD's word on what it puts back.

Source: Kubernetes 1.34, core/v1 and policy/v1; Argo CD 3.2, pkg/apis/application/v1alpha1.
"""

from __future__ import annotations

from fractions import Fraction

import msgspec

from prescale.preflight.kinds.meta import Amounts, CountOrPercent, LabelSelector, Meta, Shape


class ScopeRequirement(Shape, frozen=True):
    scope_name: str
    operator: str
    values: tuple[str, ...] = ()


class ScopeSelector(Shape, frozen=True):
    match_expressions: tuple[ScopeRequirement, ...] = ()


class QuotaSpec(Shape, frozen=True):
    hard: Amounts = msgspec.field(default_factory=dict)
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector = ScopeSelector()


class QuotaStatus(Shape, frozen=True):
    used: Amounts = msgspec.field(default_factory=dict)


class ResourceQuota(Shape, frozen=True):
    metadata: Meta
    spec: QuotaSpec = QuotaSpec()
    status: QuotaStatus = QuotaStatus()


class Range(Shape, frozen=True):
    """`type`: Container, Pod or PersistentVolumeClaim."""

    type: str
    max: Amounts = msgspec.field(default_factory=dict)
    min: Amounts = msgspec.field(default_factory=dict)
    default: Amounts = msgspec.field(default_factory=dict)
    default_request: Amounts = msgspec.field(default_factory=dict)
    max_limit_request_ratio: dict[str, Fraction] = msgspec.field(default_factory=dict)


class LimitRangeSpec(Shape, frozen=True):
    limits: tuple[Range, ...] = ()


class LimitRange(Shape, frozen=True):
    metadata: Meta
    spec: LimitRangeSpec = LimitRangeSpec()


class BudgetSpec(Shape, frozen=True):
    min_available: CountOrPercent | None = None
    max_unavailable: CountOrPercent | None = None
    selector: LabelSelector | None = None


class DisruptionBudget(Shape, frozen=True):
    metadata: Meta
    spec: BudgetSpec = BudgetSpec()


class ClaimSpec(Shape, frozen=True):
    access_modes: tuple[str, ...] = ()
    storage_class_name: str = ""
    volume_name: str = ""


class ClaimStatus(Shape, frozen=True):
    phase: str = ""


class Claim(Shape, frozen=True):
    metadata: Meta
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class Ignored(Shape, frozen=True):
    """One entry of `ignoreDifferences`. An empty group or kind, and `*`, mean any."""

    group: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    json_pointers: tuple[str, ...] = ()
    jq_path_expressions: tuple[str, ...] = ()
    managed_fields_managers: tuple[str, ...] = ()


class SyncPolicy(Shape, frozen=True):
    sync_options: tuple[str, ...] = ()


class ApplicationSpec(Shape, frozen=True):
    ignore_differences: tuple[Ignored, ...] = ()
    sync_policy: SyncPolicy = SyncPolicy()


class Application(Shape, frozen=True):
    metadata: Meta
    spec: ApplicationSpec = ApplicationSpec()
