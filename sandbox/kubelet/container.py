"""What a container is to the double: an engine to start or a process to speak of. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lightkube.models.core_v1 import Container, PodSpec
from lightkube.resources.core_v1 import Pod

_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
GPU_RESOURCE = "nvidia.com/gpu"


def repository_of(image: str) -> str:
    """The image reference without tag and digest."""
    name = image.split("@", 1)[0]
    head, slash, last = name.rpartition("/")
    return head + slash + last.split(":", 1)[0]


def image_key(image: str) -> str:
    """What makes two references the same image on a node's disk: the digest if there is one."""
    return image.split("@", 1)[1] if "@" in image else image


def is_engine_image(image: str, engine_images: Iterable[str]) -> bool:
    """Whether the repository ends like one of the known engines'."""
    repository = f"/{repository_of(image)}"
    return any(repository.endswith(f"/{ending}") for ending in engine_images)


def is_engine(container: Container, engine_images: Iterable[str]) -> bool:
    """Whether the container serves a model: it has an engine's image or flags and does not run some other program."""
    program = (container.command or [""])[0].rsplit("/", 1)[-1]
    runs_engine = program in ("", "vllm") or (
        program.startswith("python") and any("vllm" in word for word in container.command or [])
    )
    has_flags = any(word.split("=", 1)[0] == "--served-model-name" for word in container.args or [])
    return runs_engine and (has_flags or is_engine_image(container.image or "", engine_images))


def gpus_of(container: Container) -> int:
    """GPUs of the container's limits."""
    limits = container.resources.limits if container.resources else None
    return int(str((limits or {}).get(GPU_RESOURCE, 0)))


def environment_of(container: Container, pod: Pod, pod_ip: str, node_name: str) -> dict[str, str]:
    """Variables the double can know: literals and the pod's own fields, none from Secrets and ConfigMaps."""
    metadata = pod.metadata
    fields = {
        "metadata.name": metadata.name if metadata else None,
        "metadata.namespace": metadata.namespace if metadata else None,
        "metadata.uid": metadata.uid if metadata else None,
        "spec.nodeName": node_name,
        "status.podIP": pod_ip,
        "status.hostIP": "127.0.0.1",
    }
    known: dict[str, str] = {}
    for variable in container.env or []:
        source = variable.valueFrom
        if source is None:
            known[variable.name] = expanded(variable.value or "", known)
        elif source.fieldRef and (value := fields.get(source.fieldRef.fieldPath)):
            known[variable.name] = value
    return known


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """`$(NAME)` replaced as the kubelet does; unknown names stay as they are and `$$` is one dollar."""

    def one(found: re.Match[str]) -> str:
        name = found.group(1)
        return "$" if name is None else variables.get(name, found.group(0))

    return _REFERENCE.sub(one, text)


def command_of(container: Container, variables: Mapping[str, str]) -> list[str]:
    """Everything the container runs, without the image's own entrypoint."""
    return [expanded(word, variables) for word in [*(container.command or []), *(container.args or [])]]


def port_of(container: Container, port: int | str | None) -> int | None:
    """A probe's port as a number; None if it names a port the container does not have."""
    if isinstance(port, int) or port is None:
        return port
    if port.isdecimal():
        return int(port)
    return next((item.containerPort for item in container.ports or [] if item.name == port), None)


def outlives_pod(container: Container, spec: PodSpec) -> bool:
    """Whether what the container writes stays on the node: it mounts a hostPath or a claim, not only emptyDirs."""
    lasting = {item.name for item in spec.volumes or [] if item.hostPath or item.persistentVolumeClaim}
    return any(mount.name in lasting and not mount.readOnly for mount in container.volumeMounts or [])


def weights_key(container: Container) -> str:
    """What makes two weight loads the same: the same image, command and variables (they name source and revision)."""
    literal = sorted(f"{item.name}={item.value}" for item in container.env or [] if item.valueFrom is None)
    return " ".join([container.image or "", *(container.command or []), *(container.args or []), *literal])
