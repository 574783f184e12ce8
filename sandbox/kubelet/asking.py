"""Ask a pod's port what a probe or a preStop handler asks it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from lightkube.models.core_v1 import Container, HTTPGetAction, Probe

from sandbox.kubelet.container import port_of

_USER_AGENT = "kube-probe/1.34 (kubelet double)"


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """Whether the probe succeeded and, if not, why."""

    is_success: bool
    message: str = ""


async def ask(probe: Probe, container: Container, pod_ip: str, timeout_s: float) -> ProbeAnswer:
    """One probe, really asked; exec and grpc are answered with a failure that says so."""
    try:
        async with asyncio.timeout(timeout_s):
            if probe.httpGet is not None:
                return await http_get(probe.httpGet, container, pod_ip)
            if probe.tcpSocket is not None:
                port = port_of(container, probe.tcpSocket.port)
                _, writer = await asyncio.open_connection(probe.tcpSocket.host or pod_ip, port)
                writer.close()
                return ProbeAnswer(is_success=True)
    except TimeoutError:
        return ProbeAnswer(is_success=False, message=f"no answer within {timeout_s:g} s")
    except (OSError, ValueError) as failure:
        return ProbeAnswer(is_success=False, message=str(failure))
    return ProbeAnswer(is_success=False, message="the kubelet double carries out httpGet and tcpSocket probes only")


async def http_get(action: HTTPGetAction, container: Container, pod_ip: str) -> ProbeAnswer:
    """GET as the kubelet does: 200 to 399 is a success."""
    port, path = port_of(container, action.port), action.path or "/"
    if port is None:
        return ProbeAnswer(is_success=False, message=f"the container has no port named {action.port!r}")
    if (action.scheme or "HTTP") != "HTTP":
        return ProbeAnswer(is_success=False, message=f"scheme {action.scheme}: the kubelet double speaks HTTP only")
    host = action.host or pod_ip
    reader, writer = await asyncio.open_connection(host, port)
    try:
        extra = "".join(f"{item.name}: {item.value}\r\n" for item in action.httpHeaders or [])
        head = f"GET {path} HTTP/1.1\r\nhost: {host}:{port}\r\nuser-agent: {_USER_AGENT}\r\n{extra}"
        writer.write(f"{head}connection: close\r\n\r\n".encode())
        words = (await reader.readline()).split(b" ", 2)
        status = int(words[1]) if len(words) > 1 else 0
    finally:
        writer.close()
    if 200 <= status < 400:
        return ProbeAnswer(is_success=True)
    return ProbeAnswer(is_success=False, message=f"HTTP probe failed with statuscode: {status}")
