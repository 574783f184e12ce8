"""How many engines of one service there are: KEDA on requests in flight, between a floor and a ceiling."""

from __future__ import annotations

import pulumi
from pulumi import ResourceOptions

from infra.scaled_object import IGNORED_FIELDS, ScaledObjectArgs, scaled_object

TYPE = "warmline:serving:EngineScaler"


class EngineScaler(pulumi.ComponentResource):
    """ScaledObject of one service. KEDA makes the HPA `keda-hpa-<name>` from it; nobody else may touch that.

    `minReplicaCount` is set once, at creation. From then on `warmline prescale sync` owns it, so a changed baseline
    takes effect at the next sync.

    Args:
        name: the service's name, and the Deployment's it scales.
    """

    def __init__(self, name: str, args: ScaledObjectArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(TYPE, name, None, opts)
        # Its name is fixed: made anew first, it would be the old one, and be deleted as that.
        opts = ResourceOptions(parent=self, ignore_changes=IGNORED_FIELDS, delete_before_replace=True)
        self.scaled_object = scaled_object(name, args, opts)
        self.register_outputs({})
