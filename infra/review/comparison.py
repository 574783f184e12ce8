"""Two renders of one stack compared: what is new, gone, changed, replaced, and what of it is a risk. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from infra.footprint import Footprint, footprints
from infra.review.fields import ABSENT, FieldChange, field_changes
from infra.schemas.check import identity

Object = dict[str, Any]
Effect = Literal["changed", "replaced", "ignored"]

SERVING = {"Namespace", "Deployment", "Service", "PodDisruptionBudget", "ScaledObject"}
"""Kinds whose absence, even for a moment, is felt by requests, or by what keeps them safe."""

PROVIDER = "Provider"
"""What stands for the cluster, and has no kind of its own."""

REPLACED_BY = {
    "*": (r"metadata\.(name|namespace)",),
    "Deployment": (r"spec\.selector\b.*",),
    "DaemonSet": (r"spec\.selector\b.*",),
    "StatefulSet": (r"spec\.(selector|serviceName|podManagementPolicy|revisionHistoryLimit|volumeClaimTemplates)\b.*",),
    "PersistentVolumeClaim": (r"spec\.(accessModes|selector|storageClassName|volumeName)\b.*",),
    "Secret": (r"(data|stringData)\b.*",),
    "ConfigMap": (r"(data|binaryData)\b.*",),
    "Service": (r"spec\.clusterIP",),
    "Job": (r"spec\.template\b.*",),
}
"""Fields whose change makes Pulumi delete the object and create another.

Source: pulumi-kubernetes provider/pkg/provider/diff.go; a prediction, since no provider is asked.
"""


@dataclass(frozen=True)
class Changed:
    """One object that is in both renders."""

    object: str
    fields: tuple[FieldChange, ...]
    replaced_by: tuple[str, ...]
    ignored: tuple[str, ...]

    def effect(self, change: FieldChange) -> Effect:
        """What `pulumi up` makes of the change of one of its fields."""
        if change.path in self.ignored:
            return "ignored"
        return "replaced" if change.path in self.replaced_by else "changed"


@dataclass(frozen=True)
class Comparison:
    """Everything a review says. `footprints` are (before, after) of each service; None where it is not there."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    changed: tuple[Changed, ...] = ()
    footprints: dict[str, tuple[Footprint | None, Footprint | None]] = field(default_factory=dict)
    findings: tuple[str, ...] = ()


def compare(before: list[Object], after: list[Object]) -> Comparison:
    """What becomes of the objects `before` once those `after` are applied. Both as `infra.render` prints them."""
    old, new = _resources(before), _resources(after)
    renamed = tuple(_renamed(old, new))
    moved = {urn for pair in renamed for urn in pair}
    added = tuple(_identity(new[urn]) for urn in sorted(new.keys() - old.keys() - moved))
    removed_urns = sorted(old.keys() - new.keys() - moved)
    changed = tuple(filter(None, (_changed(old[urn], new[urn]) for urn in sorted(old.keys() & new.keys()))))
    sizes = _sizes(before, after)
    findings = [
        *_removal_findings([old[urn] for urn in removed_urns]),
        *_rename_findings([(old[was], new[now]) for was, now in renamed]),
        *_change_findings(changed),
        *_size_findings(sizes),
    ]
    return Comparison(
        added=added,
        removed=tuple(_identity(old[urn]) for urn in removed_urns),
        renamed=tuple((_identity(old[was]), new[now]["name"]) for was, now in renamed),
        changed=changed,
        footprints=sizes,
        findings=tuple(findings),
    )


def _resources(objects: list[Object]) -> dict[str, Object]:
    """By URN, without components: those are names for their children."""
    return {item["urn"]: item for item in objects if item["custom"]}


def _identity(item: Object) -> str:
    return identity(item["inputs"]) if "kind" in item["inputs"] else f"{PROVIDER} {item['name']}"


def _renamed(old: dict[str, Object], new: dict[str, Object]) -> Iterator[tuple[str, str]]:
    """Pairs of URNs that mean one object in the cluster."""
    gone = {(_identity(old[urn]), old[urn]["type"]): urn for urn in sorted(old.keys() - new.keys())}
    for urn in sorted(new.keys() - old.keys()):
        was = gone.get((_identity(new[urn]), new[urn]["type"]))
        if was:
            yield was, urn


def _is_replaced(kind: str, change: FieldChange) -> bool:
    if kind == PROVIDER:  # given or taken away, the name of a cluster is an update
        return change.path == "clusterIdentifier" and ABSENT not in (change.before, change.after)
    rules = (*REPLACED_BY["*"], *REPLACED_BY.get(kind, ()))
    return any(re.fullmatch(rule, change.path) for rule in rules)


def _changed(before: Object, after: Object) -> Changed | None:
    fields = [*field_changes(before["inputs"], after["inputs"])]
    fields += field_changes(before["options"], after["options"], "options")
    if not fields:
        return None
    kind = before["inputs"].get("kind", PROVIDER)
    replaced_by = tuple(change.path for change in fields if _is_replaced(kind, change))
    ignored = set(after["options"].get("ignoreChanges", ()))
    return Changed(
        _identity(before), tuple(fields), replaced_by, tuple(item.path for item in fields if item.path in ignored)
    )


def _removal_findings(gone: list[Object]) -> Iterator[str]:
    for item in gone:
        if item["inputs"].get("kind") in SERVING:
            yield f"{_identity(item)} is removed."


def _rename_findings(pairs: list[tuple[Object, Object]]) -> Iterator[str]:
    for was, now in pairs:
        aliases = now["options"].get("aliases", ())
        if not any(was["urn"] == alias.get("urn") or was["name"] == alias.get("name") for alias in aliases):
            yield (
                f"{_identity(was)} has another URN and no alias: Pulumi applies it under the new one"
                " and then deletes it under the old one."
            )


def _change_findings(changed: tuple[Changed, ...]) -> Iterator[str]:
    for item in changed:
        kind = item.object.split(" ")[0]
        if item.replaced_by and kind in SERVING:
            yield f"{item.object} is replaced (predicted), because of {', '.join(item.replaced_by)}."
        if kind == PROVIDER and item.replaced_by:
            yield f"{item.object} is another cluster's: every object is made anew there, and deleted here (predicted)."
        elif kind == PROVIDER and any(change.path == "context" for change in item.fields):
            yield f"{item.object} changes: the stack may go to another cluster."


def _sizes(before: list[Object], after: list[Object]) -> dict[str, tuple[Footprint | None, Footprint | None]]:
    old = footprints(item["inputs"] for item in before if "kind" in item["inputs"])
    new = footprints(item["inputs"] for item in after if "kind" in item["inputs"])
    return {name: (old.get(name), new.get(name)) for name in sorted(old.keys() | new.keys())}


def _size_findings(sizes: dict[str, tuple[Footprint | None, Footprint | None]]) -> Iterator[str]:
    for name, (was, now) in sizes.items():
        if was is None or now is None:
            continue
        if now.baseline < was.baseline:
            yield f"{name}: baseline lowered from {was.baseline} to {now.baseline}, at the next `prescale sync`."
        if now.ceiling < was.ceiling:
            yield f"{name}: ceiling lowered from {was.ceiling} to {now.ceiling}, at once."
        if now.gpus < was.gpus:
            yield f"{name}: {now.gpus} GPUs a replica instead of {was.gpus}; its capacity was measured with {was.gpus}."
