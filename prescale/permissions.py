"""What each look at a cluster and each order may do there, and nothing more. A runner's own is in `stacks.runner`."""

from __future__ import annotations

from collections.abc import Mapping

from stacks.runner import Rule

READ_ALL = ("list",)

CAPABILITIES: Mapping[str, tuple[Rule, ...]] = {
    "status": (
        Rule("keda.sh", "scaledobjects", READ_ALL),
        Rule("autoscaling", "horizontalpodautoscalers", READ_ALL),
        Rule("", "configmaps", ("get",), of="orders"),
        # What its pods tell of their starts is kept; who may not write it gets a note.
        Rule("", "configmaps", ("get", "patch"), of="starts"),
        Rule("", "configmaps", ("create",)),
        Rule("", "pods", READ_ALL),
        # A POST through the API server's proxy asks each pod for one token; `--pods-via direct` does without.
        Rule("", "pods/proxy", ("create",)),
    ),
    # now, hold, cancel, release. Who may not patch ScaledObjects may order all the same: the next run does it.
    "orders": (
        Rule("keda.sh", "scaledobjects", ("get", "list", "patch")),
        Rule("autoscaling", "horizontalpodautoscalers", READ_ALL),
        Rule("", "configmaps", ("get", "patch", "delete"), of="orders"),
        # By when it is Ready; who may not read it is told by platform.yaml.
        Rule("", "configmaps", ("get",), of="starts"),
        # No rule can name what is not there yet.
        Rule("", "configmaps", ("create",)),
    ),
    # What a runner or an order may then write is in its own rules; this is for the one who takes and lets go.
    "adopt": (
        Rule("keda.sh", "scaledobjects", ("get", "list", "patch")),
        Rule("autoscaling", "horizontalpodautoscalers", ("get", "list", "patch")),
        Rule("apps", "deployments", READ_ALL),
        Rule("", "configmaps", ("get",), of="orders"),
    ),
    "preflight": (
        Rule("", "configmaps", ("get",), of="orders"),
        Rule("keda.sh", "scaledobjects", READ_ALL),
        Rule("keda.sh", "triggerauthentications", READ_ALL),
        Rule("apps", "deployments", READ_ALL),
        Rule("apps", "daemonsets", READ_ALL),
        Rule("autoscaling", "horizontalpodautoscalers", READ_ALL),
        Rule("policy", "poddisruptionbudgets", READ_ALL),
        Rule("", "resourcequotas", READ_ALL),
        Rule("", "limitranges", READ_ALL),
        Rule("", "persistentvolumeclaims", READ_ALL),
        # Whoever holds a GPU of the pool holds it, in whichever namespace.
        Rule("", "pods", READ_ALL, everywhere=True),
        Rule("", "nodes", READ_ALL, everywhere=True),
        Rule("", "persistentvolumes", READ_ALL, everywhere=True),
        Rule("storage.k8s.io", "storageclasses", READ_ALL, everywhere=True),
        Rule("scheduling.k8s.io", "priorityclasses", READ_ALL, everywhere=True),
        Rule("apiregistration.k8s.io", "apiservices", READ_ALL, everywhere=True),
        Rule("admissionregistration.k8s.io", "validatingwebhookconfigurations", READ_ALL, everywhere=True),
        Rule("keda.sh", "clustertriggerauthentications", READ_ALL, everywhere=True),
        Rule("argoproj.io", "applications", READ_ALL, everywhere=True),
    ),
}
"""By capability. No Secret is in any of them."""
