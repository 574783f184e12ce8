"""What several topics bend a sound cluster by."""

from __future__ import annotations

from typing import Any

from tests.core.preflight.cases import both, setting
from tests.core.preflight.world import World

CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"
ZONE = "topology.kubernetes.io/zone"


def spread(**changes: Any) -> Any:
    """The zones' constraint, as `zones: 3` of the service would have it."""

    def bend(bent: World) -> None:
        one = bent.template["topologySpreadConstraints"][0]
        one |= {"whenUnsatisfiable": "DoNotSchedule", "minDomains": 3, **changes}

    return bend


def zones(*names: str) -> Any:
    """Nodes in turn in these zones."""

    def bend(bent: World) -> None:
        for number, node in enumerate(bent.nodes):
            node["metadata"]["labels"][ZONE] = names[number % len(names)]

    return bend


def mounts(claim: str) -> Any:
    volume = {"name": "weights", "persistentVolumeClaim": {"claimName": claim}}
    return lambda bent: bent.template["volumes"].__setitem__(0, volume)


def claims(*modes: str, zone: str | None = None, storage: str = "") -> Any:
    """A claim, bound to a volume in `zone`; with a storage class it is not bound yet."""

    def bend(bent: World) -> None:
        for kind in (CLAIMS, VOLUMES):
            bent.objects[kind] = []
        name = "" if storage else "pv-1"
        claim_spec = {"accessModes": list(modes), "storageClassName": storage, "volumeName": name}
        bent.add(CLAIMS, "weights", spec=claim_spec, status={"phase": "Pending" if storage else "Bound"})
        required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]}
        bent.add(VOLUMES, "pv-1", spec={"nodeAffinity": {"required": required}} if zone else {})

    return both(mounts("weights"), bend)


def deployment(**status: Any) -> Any:
    return setting(lambda bent: bent.deployment["status"], **status)


def engine(**fields: Any) -> Any:
    return setting(lambda bent: bent.engine, **fields)


def template(**fields: Any) -> Any:
    return setting(lambda bent: bent.template, **fields)
