"""How an engine's replicas are spread over zones and hosts: as a wish, or as what the scheduler must keep to.

A number of replicas that survives a zone holds only while no zone has more than its share, so it is the constraint
here, in the engines' Deployment, that makes it true.

Source: Kubernetes 1.34, core/v1 TopologySpreadConstraint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from stacks.node_contract import ZONE_LABEL

HOST_LABEL = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Spread:
    """One constraint, without its `labelSelector`, which is the Deployment's own. `min_domains` None: a wish.

    `minDomains` counts a zone without a node as one with 0 replicas, so that the first node of the last zone is waited
    for. Each version spreads for itself (`pod-template-hash`), or a rollout ends lopsided. Only nodes that the pod may
    run on count. Nothing moves what already runs: a scale-down may leave zones uneven.
    """

    topology_key: str
    min_domains: int | None = None
    max_skew: ClassVar[int] = 1
    match_label_keys: ClassVar[tuple[str, ...]] = ("pod-template-hash",)
    node_taints_policy: ClassVar[str] = "Honor"

    @property
    def when_unsatisfiable(self) -> Literal["DoNotSchedule", "ScheduleAnyway"]:
        return "ScheduleAnyway" if self.min_domains is None else "DoNotSchedule"

    def manifest(self) -> dict[str, Any]:
        """As in `PodSpec.topologySpreadConstraints[]`."""
        least = {} if self.min_domains is None else {"minDomains": self.min_domains}
        return {
            "maxSkew": self.max_skew,
            **least,
            "topologyKey": self.topology_key,
            "whenUnsatisfiable": self.when_unsatisfiable,
            "matchLabelKeys": list(self.match_label_keys),
            "nodeTaintsPolicy": self.node_taints_policy,
        }


def over_zones(zones: int | None) -> Spread:
    """Within one of each other over so many zones; None: as far as there is room."""
    return Spread(ZONE_LABEL, zones)


def over_hosts() -> Spread:
    """As far as there is room."""
    return Spread(HOST_LABEL)
