"""What each look at a cluster and each order may do there, and nothing more. A runner's own is in `stacks.runner`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

READ_ALL = ("list",)


@dataclass(frozen=True)
class Permission:
    """`verbs` on one resource of an API group, in the stack's namespace; `everywhere`: by a ClusterRole.

    `of`: on the one object that keeps the stack's orders, or its starts, and on no other
    (`stacks.ownership.orders_name`, `starts_name`).
    """

    group: str
    resource: str
    verbs: tuple[str, ...]
    everywhere: bool = False
    of: Literal["any", "orders", "starts"] = "any"


CAPABILITIES: Mapping[str, tuple[Permission, ...]] = {
    "status": (
        Permission("keda.sh", "scaledobjects", READ_ALL),
        Permission("autoscaling", "horizontalpodautoscalers", READ_ALL),
        Permission("", "configmaps", ("get",), of="orders"),
        # What its pods tell of their starts is kept; who may not write it gets a note.
        Permission("", "configmaps", ("get", "patch"), of="starts"),
        Permission("", "configmaps", ("create",)),
        Permission("", "pods", READ_ALL),
        # A POST through the API server's proxy asks each pod for one token; `--pods-via direct` does without.
        Permission("", "pods/proxy", ("create",)),
    ),
    # now, hold, cancel, release. Who may not patch ScaledObjects may order all the same: the next run does it.
    "orders": (
        Permission("keda.sh", "scaledobjects", ("get", "list", "patch")),
        Permission("autoscaling", "horizontalpodautoscalers", READ_ALL),
        Permission("", "configmaps", ("get", "patch", "delete"), of="orders"),
        # No rule can name what is not there yet.
        Permission("", "configmaps", ("create",)),
    ),
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
