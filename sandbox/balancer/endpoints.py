"""Which addresses stand behind a Service. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lightkube.models.core_v1 import ServicePort
from lightkube.resources.core_v1 import Pod, Service


@dataclass(frozen=True, order=True, slots=True)
class Endpoint:
    """One address of a pod."""

    address: str
    port: int


@dataclass(frozen=True, slots=True)
class ServiceEndpoints:
    """A Service as the balancer sees it; `host` is what requests name it by."""

    namespace: str
    name: str
    endpoints: tuple[Endpoint, ...]

    @property
    def host(self) -> str:
        """`<service>.<namespace>`."""
        return f"{self.name}.{self.namespace}"


def is_routable(pod: Pod) -> bool:
    """Ready, with an address, and not being deleted."""
    if pod.metadata is None or pod.status is None or pod.metadata.deletionTimestamp is not None:
        return False
    ready = any(item.type == "Ready" and item.status == "True" for item in pod.status.conditions or [])
    return ready and bool(pod.status.podIP)


def endpoints_of(service: Service, pods: Iterable[Pod]) -> ServiceEndpoints | None:
    """Endpoints of a Service; None if it selects no pods itself (ExternalName, hand-written endpoints)."""
    if service.metadata is None or service.spec is None or not service.spec.selector or not service.spec.ports:
        return None
    namespace, wanted, port = service.metadata.namespace, service.spec.selector.items(), service.spec.ports[0]
    found = []
    for pod in pods:
        if pod.metadata is None or pod.metadata.namespace != namespace or not is_routable(pod):
            continue
        number = target_port(port, pod)
        if wanted <= (pod.metadata.labels or {}).items() and number and pod.status and pod.status.podIP:
            found.append(Endpoint(pod.status.podIP, number))
    return ServiceEndpoints(str(namespace), str(service.metadata.name), tuple(sorted(found)))


def target_port(port: ServicePort, pod: Pod) -> int | None:
    """The pod's port that a Service port points to; None if it names a port the pod does not have."""
    target = port.targetPort if port.targetPort is not None else port.port
    if isinstance(target, int):
        return target
    if target.isdecimal():
        return int(target)
    for container in pod.spec.containers if pod.spec else []:
        for candidate in container.ports or []:
            if candidate.name == target:
                return candidate.containerPort
    return None
