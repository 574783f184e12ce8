"""Claims of the pods: that they are there, that more than one replica may mount them, and in which zones they are."""

from __future__ import annotations

from collections.abc import Iterator

from prescale.preflight.finding import Found
from prescale.preflight.kinds.pod import NodeSelector
from prescale.preflight.kinds.policy import Claim
from prescale.preflight.scene import Target
from prescale.preflight.seen import CLAIMS, STORAGE, VOLUMES
from stacks.node_contract import ZONE_LABEL

SHARED = {"ReadWriteMany", "ReadOnlyMany"}


def _claims(target: Target) -> dict[str, Claim | None]:
    """Every claim that the template names; None where it is not there."""
    names = [one.persistent_volume_claim.claim_name for one in target.template.volumes if one.persistent_volume_claim]
    if not names:
        return {}
    there = {claim.metadata.name: claim for claim in target.seen.of(CLAIMS)}
    return {name: there.get(name) for name in names}


def confinement(target: Target) -> Iterator[NodeSelector]:
    """Where the volumes that are bound can be reached from."""
    for claim in _claims(target).values():
        if claim is None or not claim.spec.volume_name:
            continue
        for volume in target.seen.of(VOLUMES):
            if volume.metadata.name == claim.spec.volume_name and volume.spec.node_affinity.required:
                yield volume.spec.node_affinity.required


def missing_claims(target: Target) -> Iterator[Found]:
    for name, claim in _claims(target).items():
        if claim is None:
            yield Found(
                what=f"PersistentVolumeClaim {name}",
                got="nothing",
                expected="the claim that the pods mount",
                fix="Create it, or take it out of the template: pods wait for it.",
            )
        elif claim.status.phase == "Lost":
            yield Found(
                what=f"PersistentVolumeClaim {name}",
                got="Lost",
                expected="Bound",
                fix="Its volume is gone: make the claim and its data anew.",
            )


def unshared_claims(target: Target) -> Iterator[Found]:
    """A claim that one node alone may mount holds all replicas on that node."""
    for name, claim in _claims(target).items():
        if claim is None or target.floor < 2 or SHARED & set(claim.spec.access_modes):
            continue
        holders = "one pod" if claim.spec.access_modes == ("ReadWriteOncePod",) else "the pods of one node"
        yield Found(
            what=f"PersistentVolumeClaim {name}",
            got=f"{', '.join(claim.spec.access_modes)}: {holders}",
            expected=f"ReadWriteMany or ReadOnlyMany for {target.floor} replicas",
            fix="Use a shared file system, a snapshot for each replica, or the node's own disk.",
        )


def zones_of_claims(target: Target) -> Iterator[Found]:
    """Replicas that must be spread over zones, and a volume that is in fewer."""
    spreads = [
        one.min_domains
        for one in target.template.topology_spread_constraints
        if one.binds and one.topology_key == ZONE_LABEL
    ]
    for selector in confinement(target):
        zones = {
            zone
            for term in selector.node_selector_terms
            for one in term.match_expressions
            if one.key == ZONE_LABEL and one.operator == "In"
            for zone in one.values
        }
        if zones and spreads and max(spreads) > len(zones):
            yield Found(
                what="zones of its volumes",
                got=", ".join(sorted(zones)),
                expected=f"at least {max(spreads)} zones, over which the replicas must be spread",
                fix="Use a volume that every zone reaches, or one claim for each zone.",
            )


def storage_classes(target: Target) -> Iterator[Found]:
    """Claims that are not bound yet: their class is there, and waits for the pod before it chooses a zone."""
    wanted: dict[str, str] = {}
    for name, claim in _claims(target).items():
        if claim is not None and not claim.spec.volume_name:
            wanted[name] = claim.spec.storage_class_name
    for volume in target.template.volumes:
        if volume.ephemeral and volume.ephemeral.volume_claim_template.spec.storage_class_name:
            wanted[volume.name] = volume.ephemeral.volume_claim_template.spec.storage_class_name
    for name, kind in wanted.items():
        found = next((one for one in target.seen.of(STORAGE) if one.metadata.name == kind), None)
        if found is None:
            yield Found(
                what=f"StorageClass of claim {name}",
                got=f"no class {kind!r}",
                expected="a StorageClass that is there",
                fix="Create it, or name another: the claim is never bound.",
            )
        elif found.volume_binding_mode == "Immediate":
            yield Found(
                what=f"StorageClass {kind} of claim {name}",
                got="volumeBindingMode Immediate: a zone is chosen before the pod's node is",
                expected="WaitForFirstConsumer",
                fix="Use a class that waits, or the volume may lie in a zone without a free GPU.",
            )
