"""What of a changed value may be shown in a pull request. Pure.

By field, not by Pulumi's secret mark alone: people put secrets where no mark is. What is not known to be harmless is
masked, the old value like the new one; that it changed is always said.
"""

from __future__ import annotations

import re
from typing import Any

from infra.dialects.table import DIALECTS
from infra.review.fields import ABSENT, FieldChange

MASK = "(masked)"

_SHOWN = re.compile(
    r"""
    (apiVersion | kind | type | context | clusterIdentifier | enableServerSideApply
    | metadata\.(name | namespace | labels\..+)
    | (metadata | spec\.template\.metadata)\.annotations\.(warmline\.dev/(?!floor).+ | pulumi\.com/skipAwait)
    | spec\.template\.metadata\.labels\..+
    | spec\.(replicas | strategy | updateStrategy | selector | progressDeadlineSeconds | revisionHistoryLimit
            | clusterIP | ports | maxUnavailable | unhealthyPodEvictionPolicy
            | minReplicaCount | maxReplicaCount | idleReplicaCount | pollingInterval | cooldownPeriod
            | fallback | advanced | scaleTargetRef)(\W.*)?
    | spec\.triggers\[[^]]+\]\.(type | name | metricType | metadata\.(query | threshold | ignoreNullValues))
    | spec\.template\.spec\.(terminationGracePeriodSeconds | affinity | tolerations | topologySpreadConstraints
            | serviceAccountName | automountServiceAccountToken | enableServiceLinks | securityContext
            | volumes)(\W.*)?
    | spec\.template\.spec\.(initContainers | containers)\[[^]]+\]\.(image | name | ports | resources | lifecycle
            | startupProbe | readinessProbe | livenessProbe | securityContext | volumeMounts)(\W.*)?
    | spec\.template\.spec\.(initContainers | containers)\[[^]]+\]\.env\[[^]]+\]\.name
    | options\..+
    )""",
    re.VERBOSE,
)
_SETTINGS = re.compile(
    r"""
    (namespace | production | cluster\.context | weights_loader\.image | runner\.(image | every_min | webhook_secret)
    | timezone | ready_margin_s | headroom_pct | (events | calendars | node_pools)(\W.*)?
    | services\.[^.]+
    | services\.[^.]+\.(owner | node_pool | gpus_per_replica | zones | longest_stream_s | cost_center)
    | services\.[^.]+\.(model | slo | capacity | replicas | usual_load | cold_start | scale_down | rollout
            | adopted)(\W.*)?
    | services\.[^.]+\.engine\.(kind | version | image | max_num_seqs)
    )""",
    re.VERBOSE,
)
_SETTING_FLAG = re.compile(r"services\.[^.]+\.engine\.args\.(?P<name>.+)")

_SECRETIVE = re.compile(r"(volumes.*\.(csi|projected)|(exec|httpHeaders)\b)")
_FLAG = re.compile(r"\.args\[--(?P<name>[a-z0-9-]+)\]$")
_MODEL_DIR = re.compile(r"\.args\[positional\]$")


def shown(change: FieldChange) -> tuple[str, str]:
    """Both values as text, masked where the field is not known to be harmless."""
    may = _may_show(change.path)
    return _text(change.before, may=may), _text(change.after, may=may)


def shown_setting(change: FieldChange) -> tuple[str, str]:
    """As `shown`, of a setting of the stack's files."""
    flag = _SETTING_FLAG.fullmatch(change.path)
    may = _is_shown_flag(flag["name"]) if flag else bool(_SETTINGS.fullmatch(change.path))
    return _written(change.before, may=may), _written(change.after, may=may)


def _written(value: Any, *, may: bool) -> str:
    """As YAML has it."""
    if value is ABSENT or not may:
        return _text(value, may=may)
    if isinstance(value, list):
        return ", ".join(_written(item, may=may) for item in value)
    return str(value).lower() if isinstance(value, bool) else "null" if value is None else str(value)


def _may_show(path: str) -> bool:
    if _SECRETIVE.search(path):
        return False
    if flag := _FLAG.search(path):
        return _is_shown_flag(flag["name"])
    return bool(_MODEL_DIR.search(path) or _SHOWN.fullmatch(path))


def _is_shown_flag(name: str) -> bool:
    return any(name in dialect.shown_flags for dialect in DIALECTS.values())


def _text(value: Any, *, may: bool) -> str:
    if value is ABSENT:
        return "absent"
    if not may:
        return MASK
    return value if isinstance(value, str) else repr(value)
