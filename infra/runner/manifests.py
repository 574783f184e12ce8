"""Everything that runs the pre-scaler inside the cluster, as Kubernetes reads it. Pure.

The calendar comes in a ConfigMap and not in the image: an event is added by one apply, and the image, pinned by its
digest, stays what it was.

Source: Kubernetes 1.34, CronJob, and Pod Security Standards ("restricted").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.runner.files import StackFiles
from stacks import runner
from stacks.ownership import STACK_LABEL, orders_name, starts_name
from stacks.spec import Platform, Runner

STACKS_DIR = "/stacks"
WEBHOOK_VARIABLE = "WARMLINE_WEBHOOK_URL"
NOBODY = 65532

# Less than the shortest period: a run that hangs is over before the next is due.
SLACK_S = 10
# The API server, KEDA and one slow credential plugin together; a run takes seconds.
LEAST_DEADLINE_S = 50


@dataclass(frozen=True)
class RunnerSite:
    """Whose runner it is, and where. `scaled_objects` and `adopted_hpas` are names of those whose floor it writes."""

    stack: str
    namespace: str
    scaled_objects: tuple[str, ...]
    runner: Runner
    files: StackFiles
    managed_by: str
    adopted_hpas: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return runner.object_name(self.stack)

    @property
    def labels(self) -> dict[str, str]:
        return {
            "app.kubernetes.io/name": runner.PREFIX,
            "app.kubernetes.io/part-of": "warmline",
            "app.kubernetes.io/managed-by": self.managed_by,
            STACK_LABEL: self.stack,
        }

    @property
    def capabilities(self) -> tuple[str, ...]:
        """Those its runs need: without a webhook nothing has to be remembered, without an adopted HPA none written."""
        needless = set() if self.runner.webhook_secret else {"findings"}
        needless |= set() if self.adopted_hpas else {"adopted-hpas"}
        return tuple(name for name in runner.CAPABILITIES if name not in needless)


def runner_site(stack: str, platform: Platform, settings: Runner, files: StackFiles, managed_by: str) -> RunnerSite:
    """The runner of a platform. A ScaledObject that is built is called as its service is."""
    adopted = platform.adopted.values()
    scaled_objects = (*platform.built, *(one.name for one in adopted if one.kind == "ScaledObject"))
    hpas = tuple(one.name for one in adopted if one.kind == "HorizontalPodAutoscaler")
    return RunnerSite(stack, platform.namespace, scaled_objects, settings, files, managed_by, hpas)


def manifests(site: RunnerSite) -> list[dict[str, Any]]:
    """The account, what it may do, the files, and the CronJob, in the order to apply them."""
    made = [_object(site, "v1", "ServiceAccount", site.name, automountServiceAccountToken=False)]
    for capability in site.capabilities:
        made += _allowed(site, capability)
    made.append(_object(site, "v1", "ConfigMap", f"{site.name}-stack", data=dict(site.files.data)))
    # There from the start, so that the account may write these and make none.
    made.append(_object(site, "v1", "ConfigMap", starts_name(site.stack)))
    if site.runner.webhook_secret:
        made.append(_object(site, "v1", "ConfigMap", runner.findings_name(site.stack)))
    return [*made, _object(site, "batch/v1", "CronJob", site.name, spec=_schedule(site))]


def _object(site: RunnerSite, version: str, kind: str, name: str, **content: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": site.namespace, "labels": site.labels}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}


def _allowed(site: RunnerSite, capability: str) -> list[dict[str, Any]]:
    name = f"{site.name}-{capability}"
    names: Mapping[runner.Of, tuple[str, ...]] = {
        "scaled-objects": site.scaled_objects,
        "adopted-hpas": site.adopted_hpas,
        "orders": (orders_name(site.stack),),
        "starts": (starts_name(site.stack),),
        "findings": (runner.findings_name(site.stack),),
    }
    group = "rbac.authorization.k8s.io"
    role = _object(site, f"{group}/v1", "Role", name, rules=runner.rules(capability, names))
    subject = {"kind": "ServiceAccount", "name": site.name, "namespace": site.namespace}
    reference = {"apiGroup": group, "kind": "Role", "name": name}
    return [role, _object(site, f"{group}/v1", "RoleBinding", name, roleRef=reference, subjects=[subject])]


def _schedule(site: RunnerSite) -> dict[str, Any]:
    period_s = site.runner.every_min * 60
    return {
        "schedule": f"*/{site.runner.every_min} * * * *",
        "timeZone": "Etc/UTC",
        # Two at once would do no harm; a queue of late ones would do no good.
        "concurrencyPolicy": "Forbid",
        # A start missed for longer is left to the next; without a bound, a hundred missed ones stop the CronJob.
        "startingDeadlineSeconds": period_s,
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 3,
        "jobTemplate": {
            "metadata": {"labels": site.labels},
            "spec": {
                # The next run is the retry, and it reckons anew.
                "backoffLimit": 0,
                "activeDeadlineSeconds": max(LEAST_DEADLINE_S, period_s - SLACK_S),
                "template": {"metadata": {"labels": site.labels}, "spec": _pod(site)},
            },
        },
    }


def _pod(site: RunnerSite) -> dict[str, Any]:
    items = [{"key": key, "path": path} for key, path in site.files.paths]
    return {
        "serviceAccountName": site.name,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 10,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": NOBODY,
            "runAsGroup": NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(site)],
        "volumes": [{"name": "stack", "configMap": {"name": f"{site.name}-stack", "items": items}}],
    }


def _container(site: RunnerSite) -> dict[str, Any]:
    variables: list[dict[str, Any]] = [{"name": "WARMLINE_STACKS_DIR", "value": STACKS_DIR}]
    if site.runner.webhook_secret:
        key = {"name": site.runner.webhook_secret, "key": "url"}
        variables.append({"name": WEBHOOK_VARIABLE, "valueFrom": {"secretKeyRef": key}})
    return {
        "name": "prescale",
        "image": site.runner.image,
        "command": ["warmline", "prescale", "sync", "--stack", site.stack, "--log-file", "-"],
        "env": variables,
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "stack", "mountPath": f"{STACKS_DIR}/{site.stack}", "readOnly": True}],
    }
