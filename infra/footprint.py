"""How much a rendered stack may take: floor, ceiling and GPUs of each service, read from its objects alone.

From the objects and not from the spec, so that a render made by other code (an older revision) is read the same way.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stacks.node_contract import GPU_RESOURCE


@dataclass(frozen=True)
class Footprint:
    """One service. `gpus` are one replica's; `surge` are the replicas a rollout adds beside the running ones."""

    baseline: int
    ceiling: int
    gpus: int
    surge: int

    @property
    def gpus_at_baseline(self) -> int:
        return self.baseline * self.gpus

    @property
    def gpus_at_ceiling(self) -> int:
        return self.ceiling * self.gpus


def footprints(manifests: Iterable[dict[str, Any]]) -> dict[str, Footprint]:
    """Of every ScaledObject with the Deployment it scales, as `namespace/name`, sorted."""
    objects = {
        (manifest["kind"], manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]): manifest
        for manifest in manifests
    }
    found: dict[str, Footprint] = {}
    for (kind, namespace, name), manifest in sorted(objects.items()):
        if kind != "ScaledObject":
            continue
        spec = manifest["spec"]
        target = objects.get(("Deployment", namespace, spec["scaleTargetRef"]["name"]))
        if target is not None:
            found[f"{namespace}/{name}"] = Footprint(
                baseline=spec.get("minReplicaCount", 0),
                ceiling=spec.get("maxReplicaCount", 100),
                gpus=pod_gpus(target["spec"]["template"]["spec"]),
                surge=surge(target),
            )
    return found


def pod_gpus(pod: dict[str, Any]) -> int:
    """GPUs that one pod holds."""
    limits = (container.get("resources", {}).get("limits", {}) for container in pod["containers"])
    return sum(int(limit.get(GPU_RESOURCE, 0)) for limit in limits)


def surge(deployment: dict[str, Any]) -> int:
    """Replicas a rollout may add; a percentage, which Warmline never writes, counts as none."""
    value = deployment["spec"].get("strategy", {}).get("rollingUpdate", {}).get("maxSurge", 0)
    return value if isinstance(value, int) else 0
