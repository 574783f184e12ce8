"""Images: pinned, pulled, and already on the pool's nodes. Secrets are never read, so what they hold is not known."""

from __future__ import annotations

from collections.abc import Iterator

from prescale.preflight.finding import Found, Unsure
from prescale.preflight.kinds.pod import Pod
from prescale.preflight.kinds.workload import DaemonSet
from prescale.preflight.scene import Target
from prescale.preflight.seen import DAEMON_SETS, NODES
from prescale.preflight.selecting import may_be_on

STUCK = {
    "ErrImagePull": "See that the registry has the digest, and that the node may pull it.",
    "ImagePullBackOff": "See that the registry has the digest, and that the node may pull it.",
    "InvalidImageName": "Correct the image's name.",
    "ErrImageNeverPull": "The image is not on the node, and imagePullPolicy forbids to pull it.",
    "CreateContainerConfigError": "A ConfigMap, a Secret or a user that the container names is missing.",
    "CreateContainerError": "Look at the pod's events: the node could not make the container.",
    "RunContainerError": "Look at the pod's events: the node could not start the container.",
    "CrashLoopBackOff": "Look at the container's last log: it ends as soon as it starts.",
}
"""Why a container waits that will not start by itself, and what to do."""


def by_digest(target: Target) -> Iterator[Found]:
    """A tag may name another image on the day of the event than it does today."""
    for container in target.template.all_containers:
        if "@sha256:" not in container.image:
            yield Found(
                what=f"image of container {container.name}",
                got=container.image or "nothing",
                expected="an image by digest (repository@sha256:...)",
                fix="Name the digest: new pods pull whatever the tag means by then.",
            )


def stuck(target: Target) -> Iterator[Found]:
    """Pods that are there and will not start."""
    seen: dict[tuple[str, str], list[str]] = {}
    said: dict[tuple[str, str], str] = {}
    for pod in target.staying:
        for name, reason, message in _waits(pod):
            seen.setdefault((name, reason), []).append(pod.metadata.name)
            said.setdefault((name, reason), message)
    for (name, reason), pods in seen.items():
        yield Found(
            what=f"container {name} of {len(pods)} pods ({', '.join(sorted(pods)[:3])})",
            got=f"{reason}: {said[name, reason]}" if said[name, reason] else reason,
            expected="a container that starts",
            fix=STUCK[reason],
        )


def _waits(pod: Pod) -> Iterator[tuple[str, str, str]]:
    for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        waiting = status.state.waiting
        if waiting is not None and waiting.reason in STUCK:
            yield status.name, waiting.reason, waiting.message


def pull_secrets(target: Target) -> Iterator[Unsure]:
    """A secret that is named is believed once a pod has pulled the very image."""
    names = [one.name for one in target.template.image_pull_secrets]
    wanted = {container.image for container in target.template.containers}
    if names and not any(_has_pulled(pod, wanted) for pod in target.pods):
        yield Unsure(
            f"no pod has pulled its image yet, and Secrets are never read: see that {', '.join(names)} is there"
        )


def _has_pulled(pod: Pod, images: set[str]) -> bool:
    is_same = {container.image for container in pod.spec.containers} >= images
    return is_same and all(status.image_id for status in pod.status.container_statuses)


def pre_pulled(target: Target) -> Iterator[Found]:
    """Where the plan counts no time for a pull, a DaemonSet has to hold the image on every node of the pool."""
    if target.service.cold_start.image_s:
        return
    for container in target.template.containers:
        holders = [one for one in target.seen.of(DAEMON_SETS) if _holds(one, container.image)]
        if not holders:
            yield Found(
                what=f"image of container {container.name}",
                got="no DaemonSet that holds it on the nodes, and cold_start.image_s is 0",
                expected="it on every node before the raise, or the time to pull it in the plan",
                fix="Set cold_start.image_s."
                if target.service.adopted
                else f"{target.builder_runs}, or set cold_start.image_s.",
            )
            continue
        best = max(holders, key=lambda one: one.status.number_ready)
        yield from _not_everywhere(target, best)


def _pull_it(target: Target) -> str:
    return "Have one made" if target.service.adopted else target.builder_runs


def _holds(daemon_set: DaemonSet, image: str) -> bool:
    return image in {container.image for container in daemon_set.spec.template.spec.all_containers}


def _not_everywhere(target: Target, holder: DaemonSet) -> Iterator[Found]:
    status, name = holder.status, f"DaemonSet {holder.metadata.name}"
    of_pool = [node for node in target.seen.of(NODES) if may_be_on(target.template, node) and node.is_ready]
    ready = min(status.number_ready, status.updated_number_scheduled)
    if ready < status.desired_number_scheduled:
        yield Found(
            what=name,
            got=f"{ready} of {status.desired_number_scheduled} Ready with the image",
            expected="all",
            fix="Look at its pods: on the other nodes the raise begins with a pull.",
        )
    if status.desired_number_scheduled < len(of_pool):
        yield Found(
            what=name,
            got=f"{status.desired_number_scheduled} nodes",
            expected=f"the {len(of_pool)} Ready nodes of the pool",
            fix="See that it tolerates their taints and has their labels in its affinity.",
        )
