"""Bring a container's image onto the node, as its pull policy says."""

from __future__ import annotations

import time

from lightkube.models.core_v1 import Container

from sandbox.kubelet.container import image_key, is_engine_image
from sandbox.kubelet.world import PodWorld

_CHECK_S = 0.1
"""`imagePullPolicy: Always` with the image there: the registry is asked, nothing is copied."""


async def image_present(container: Container, world: PodWorld) -> bool:
    """Wait until the image is there; False if the policy forbids the pull that it needs."""
    image = container.image or ""
    key, disk, settings = image_key(image), world.disk, world.settings
    policy = container.imagePullPolicy or "IfNotPresent"
    if disk.has_image(key) and policy != "Always":
        world.record("Normal", "Pulled", f'Container image "{image}" already present on machine')
        return True
    if policy == "Never" and not disk.has_image(key):
        world.record("Warning", "ErrImageNeverPull", f'Container image "{image}" is not present with pull policy Never')
        return False
    is_engine = is_engine_image(image, settings.engine_images)
    pull_s = world.times.image_pull_s if is_engine else settings.small_image_pull_s
    world.record("Normal", "Pulling", f'Pulling image "{image}"')
    begun_s = time.monotonic()
    await disk.pull(key, _CHECK_S if disk.has_image(key) else settings.jittered(pull_s, world.node_name, image))
    world.record("Normal", "Pulled", f'Successfully pulled image "{image}" in {time.monotonic() - begun_s:.3f}s')
    return True
