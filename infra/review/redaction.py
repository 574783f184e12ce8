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
    (apiVersion | kind | type | context | enableServerSideApply
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
_SECRETIVE = re.compile(r"(volumes.*\.(csi|projected)|(exec|httpHeaders)\b)")
_FLAG = re.compile(r"\.args\[--(?P<name>[a-z0-9-]+)\]$")
_MODEL_DIR = re.compile(r"\.args\[positional\]$")


def shown(change: FieldChange) -> tuple[str, str]:
    """Both values as text, masked where the field is not known to be harmless."""
    may = _may_show(change.path)
    return _text(change.before, may=may), _text(change.after, may=may)


def _may_show(path: str) -> bool:
    if _SECRETIVE.search(path):
        return False
    if flag := _FLAG.search(path):
        return any(flag["name"] in dialect.shown_flags for dialect in DIALECTS.values())
    return bool(_MODEL_DIR.search(path) or _SHOWN.fullmatch(path))


def _text(value: Any, *, may: bool) -> str:
    if value is ABSENT:
        return "absent"
    if not may:
        return MASK
    return value if isinstance(value, str) else repr(value)
