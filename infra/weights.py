"""Weights and compile cache on the node's own disk: paths, volumes, and the init container that fills it.

See docs/adr/0002-weights-on-local-disk.md for why hostPath. It does not remove old revisions.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from pulumi_kubernetes.core.v1 import (
    CapabilitiesArgs,
    ContainerArgs,
    EnvVarArgs,
    HostPathVolumeSourceArgs,
    ResourceRequirementsArgs,
    SeccompProfileArgs,
    SecurityContextArgs,
    VolumeArgs,
    VolumeMountArgs,
)

from infra.dialects.dialect import SCRATCH_DIR
from stacks.node_contract import weights_folder
from stacks.spec import NodePool, Service

WEIGHTS_DIR = "/weights"
CACHE_DIR = "/compile-cache"


# - The engine is not root, so root hands it a folder for its cache, this service's alone.
# - One pod of a node fetches, the others wait. Without flock they fetch side by side, which costs bandwidth and no
#   more: the AWS CLI renames each file into place when it is whole.
# - The rename at the end is the completion mark: a folder of that name is whole or is not there.
FETCH = """\
set -eu
umask 022
mkdir -p "$CACHE" && chmod 0777 "$CACHE"
[ -d "$TARGET" ] && { echo "weights: $TARGET is complete"; exit 0; }
mkdir -p "$TARGET.partial"
exec 9>"$TARGET.lock"
if command -v flock >/dev/null; then flock 9; fi
[ -d "$TARGET" ] && { echo "weights: another pod completed $TARGET"; exit 0; }
aws s3 sync --no-progress --only-show-errors "$SOURCE" "$TARGET.partial"
[ -n "$(ls -A "$TARGET.partial")" ] || { echo "weights: nothing at $SOURCE" >&2; exit 1; }
mv -T "$TARGET.partial" "$TARGET" 2>/dev/null || [ -d "$TARGET" ]
echo "weights: $TARGET is complete"
"""


@dataclass(frozen=True)
class DiskPaths:
    """Where one service's files are: folders on the node, and the model's folder as the container sees it."""

    node_weights: str
    node_cache: str
    model_dir: str
    cache_dir: str


def disk_paths(service: Service, pool: NodePool) -> DiskPaths:
    """Weights are shared by all who serve the same ones; the compile cache belongs to one engine configuration."""
    weights = f"{pool.local_disk_path}/weights/{service.model.name}"
    cache = f"{pool.local_disk_path}/compile-cache/{service.model.name}"
    return DiskPaths(
        weights, cache, f"{WEIGHTS_DIR}/{weights_folder(service.model)}", f"{CACHE_DIR}/{_engine_key(service)}"
    )


def _engine_key(service: Service) -> str:
    # Graphs compiled by one engine version or shape are noise to another.
    engine = service.engine
    shape = [engine.image, str(service.gpus_per_replica), service.model.source, service.model.revision]
    return f"{engine.kind}-{engine.version}-{_short_hash('|'.join(shape))}"


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def volumes(paths: DiskPaths) -> list[VolumeArgs]:
    """Folders of the node's disk, made where they are missing."""
    return [
        VolumeArgs(
            name="weights", host_path=HostPathVolumeSourceArgs(path=paths.node_weights, type="DirectoryOrCreate")
        ),
        VolumeArgs(
            name="compile-cache", host_path=HostPathVolumeSourceArgs(path=paths.node_cache, type="DirectoryOrCreate")
        ),
    ]


def loader(service: Service, paths: DiskPaths, image: str) -> ContainerArgs:
    """Init container `weights`. It is root, without any capability, because hostPath folders are root's."""
    env = {"SOURCE": service.model.source, "TARGET": paths.model_dir, "CACHE": paths.cache_dir, "HOME": SCRATCH_DIR}
    return ContainerArgs(
        name="weights",
        image=image,
        command=["/bin/sh", "-c", FETCH],
        env=[EnvVarArgs(name=name, value=value) for name, value in env.items()],
        resources=ResourceRequirementsArgs(requests={"cpu": "1", "memory": "1Gi"}),
        security_context=SecurityContextArgs(
            run_as_user=0,
            run_as_non_root=False,
            allow_privilege_escalation=False,
            read_only_root_filesystem=True,
            capabilities=CapabilitiesArgs(drop=["ALL"]),
            seccomp_profile=SeccompProfileArgs(type="RuntimeDefault"),
        ),
        volume_mounts=[
            VolumeMountArgs(name="weights", mount_path=WEIGHTS_DIR),
            VolumeMountArgs(name="compile-cache", mount_path=CACHE_DIR),
            VolumeMountArgs(name="tmp", mount_path=SCRATCH_DIR),
        ],
    )
