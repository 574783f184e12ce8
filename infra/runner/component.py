"""The runner as a Pulumi component: the same objects that `warmline prescale schedule cronjob` prints."""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi import ResourceOptions
from pulumi_kubernetes.batch.v1 import CronJob
from pulumi_kubernetes.core.v1 import ConfigMap, ServiceAccount
from pulumi_kubernetes.rbac.v1 import Role, RoleBinding

from infra.runner.manifests import RunnerSite, manifests

TYPE = "warmline:prescale:PrescaleRunner"

_MAKERS: dict[str, Any] = {
    "ServiceAccount": ServiceAccount,
    "Role": Role,
    "RoleBinding": RoleBinding,
    "ConfigMap": ConfigMap,
    "CronJob": CronJob,
}


class PrescaleRunner(pulumi.ComponentResource):
    """CronJob, account, Roles and files of one stack's runner.

    It makes no namespace and no Secret, and does not run: the first run is the schedule's next. What a run remembers in
    its ConfigMaps is the run's, so Pulumi sends no data there.

    Args:
        name: what the CronJob is called.
    """

    def __init__(
        self,
        name: str,
        site: RunnerSite,
        namespace: pulumi.Input[str],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(TYPE, name, None, opts)
        for manifest in manifests(site):
            content = {key: value for key, value in manifest.items() if key not in {"apiVersion", "kind"}}
            # An output, so that all of it waits for the namespace.
            content["metadata"] = {**content["metadata"], "namespace": namespace}
            kind = manifest["kind"]
            part = manifest["metadata"]["name"].removeprefix(site.name).removeprefix("-")
            own_name = "-".join([name, *([part] if part else []), kind.lower()])
            _MAKERS[kind](own_name, **_snake(content), opts=ResourceOptions(parent=self))
        self.register_outputs({})


def _snake(content: dict[str, Any]) -> dict[str, Any]:
    """A resource's own arguments are Python's; what is inside of them is passed on as it is."""
    return {_ARGUMENTS.get(key, key): value for key, value in content.items()}


_ARGUMENTS = {"roleRef": "role_ref", "automountServiceAccountToken": "automount_service_account_token"}
