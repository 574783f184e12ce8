"""What each way of running the pre-scaler may do in a cluster, and nothing more: what Roles are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

READ_ALL = ("list",)


@dataclass(frozen=True)
class Permission:
    """`verbs` on one resource of an API group, in the stack's namespace; `everywhere`: by a ClusterRole."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    everywhere: bool = False


CAPABILITIES: Mapping[str, tuple[Permission, ...]] = {
    "preflight": (
        Permission("keda.sh", "scaledobjects", READ_ALL),
        Permission("keda.sh", "triggerauthentications", READ_ALL),
        Permission("apps", "deployments", READ_ALL),
        Permission("apps", "daemonsets", READ_ALL),
        Permission("autoscaling", "horizontalpodautoscalers", READ_ALL),
        Permission("policy", "poddisruptionbudgets", READ_ALL),
        Permission("", "resourcequotas", READ_ALL),
        Permission("", "limitranges", READ_ALL),
        Permission("", "persistentvolumeclaims", READ_ALL),
        # Whoever holds a GPU of the pool holds it, in whichever namespace.
        Permission("", "pods", READ_ALL, everywhere=True),
        Permission("", "nodes", READ_ALL, everywhere=True),
        Permission("", "persistentvolumes", READ_ALL, everywhere=True),
        Permission("storage.k8s.io", "storageclasses", READ_ALL, everywhere=True),
        Permission("scheduling.k8s.io", "priorityclasses", READ_ALL, everywhere=True),
        Permission("apiregistration.k8s.io", "apiservices", READ_ALL, everywhere=True),
        Permission("admissionregistration.k8s.io", "validatingwebhookconfigurations", READ_ALL, everywhere=True),
        Permission("keda.sh", "clustertriggerauthentications", READ_ALL, everywhere=True),
        Permission("argoproj.io", "applications", READ_ALL, everywhere=True),
    ),
}
"""By capability. No Secret is in any of them."""
