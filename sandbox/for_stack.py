"""A sandbox for one stack: its node pools as fake nodes, its pods lived by the kubelet double, a balancer in front."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from sandbox import lifecycle
from sandbox.control_plane.nodes import Node
from sandbox.faults import SandboxError
from sandbox.for_pulumi import home
from sandbox.layout import Layout, free_ports, is_free
from sandbox.places import CONTEXT, REPOSITORY, sandbox_directory
from stacks.faults import Fault, InputError
from stacks.folders import PLATFORM_FILE, shown, stacks_root
from stacks.node_contract import GPU_RESOURCE, ZONE_LABEL, node_facts
from stacks.spec import Platform

Report = Callable[[str], None]

KUBELET, BALANCER = "kubelet-double", "balancer"
UNPULLED_IMAGE_S = 138
"""Source: a default containerd pull of a 10.76 GB vLLM image took 2 min 18 s (karpenter-blueprints, PR 32)."""


def up(stack: str, platform: Platform, report: Report, directory: Path | None = None, *, time_scale: int = 1) -> Layout:
    """Bring up everything that the stack's `pulumi up` needs.

    Args:
        time_scale: what the physical times that are no part of the stack (an image pull) are divided by.

    Raises:
        InputError: a stack that means another cluster, Prometheus or Pulumi backend than this machine's.
        SandboxError: as `lifecycle.up`; or the port of the stack's Prometheus is another program's.
    """
    place = directory or sandbox_directory()
    port = _own_port(platform)
    if (faults := list(_means_another(stack, platform))) or port is None:
        raise InputError(faults)
    if not lifecycle.status(place) and not is_free(port):
        raise SandboxError(
            f"prometheus.url: port {port} is in use by another program. "
            "End it, or set another port in the stack's platform.yaml."
        )
    layout = lifecycle.up(list(nodes_of(platform)), report, place, prometheus_port=port, stack=stack)
    running = {status.name for status in lifecycle.status(place) if status.is_running}
    layout.work.mkdir(exist_ok=True)
    environment = {"KUBECONFIG": str(layout.kubeconfig), "PYTHONPATH": str(REPOSITORY)}
    if KUBELET not in running:
        settings = layout.work / "kubelet.json"
        settings.write_text(json.dumps(kubelet_settings(platform, time_scale), indent=1))
        argv = [sys.executable, "-m", "sandbox.kubelet", "--dir", str(layout.work / "kubelet")]
        lifecycle.extra(KUBELET, [*argv, "--settings", str(settings)], environment, place)
        report(f"  {KUBELET} lives the pods of {len(list(nodes_of(platform)))} nodes")
    if BALANCER not in running:
        port, admin = free_ports(2)
        argv = [sys.executable, "-m", "sandbox.balancer", "--dir", str(layout.work / "balancer")]
        argv += ["--port", str(port), "--admin-port", str(admin)]
        health = f"http://127.0.0.1:{admin}/ready"
        lifecycle.extra(BALANCER, argv, environment, place, ports=(port, admin), health=health)
        report(f"  {BALANCER} (Envoy) stands in for the cloud's, at {balancer_url(place)}")
    return layout


def environment(directory: Path | None = None) -> dict[str, str]:
    """What a shell needs, PATH apart."""
    return {
        **lifecycle.environment(directory),
        "WARMLINE_BALANCER_URL": balancer_url(directory),
        # The API server refuses to proxy to loopback, where the sandbox's pods are.
        "WARMLINE_PODS_VIA": "direct",
    }


def balancer_url(directory: Path | None = None) -> str:
    """Where clients send requests, by Host header `<service>.<namespace>`."""
    for status in lifecycle.status(directory):
        if status.name == BALANCER:
            return f"http://127.0.0.1:{status.port}"
    raise SandboxError("no balancer in this sandbox. Run `warmline sandbox up`.")


def nodes_of(platform: Platform) -> Iterator[Node]:
    """Every node the pools may have; the instance types take turns."""
    zones = "abcdefghijkl"[: max(3, *(service.zones or 0 for service in platform.services.values()))]
    for name, pool in platform.node_pools.items():
        for number in range(pool.max_nodes):
            facts = node_facts(name, pool, pool.instance_types[number % len(pool.instance_types)])
            yield Node(
                name=f"{name}-{number:02d}",
                labels={**facts.labels, "type": "kwok", ZONE_LABEL: f"sandbox-{zones[number % len(zones)]}"},
                taints=tuple((taint.key, taint.value, taint.effect) for taint in facts.taints),
                gpus=int(facts.capacity[GPU_RESOURCE]),
                cpu=facts.capacity.get("cpu", "32"),
                memory=facts.capacity.get("memory", "256Gi"),
            )


def kubelet_settings(platform: Platform, time_scale: int) -> dict[str, object]:
    """The kubelet double's physics: how long weights and engine take is what the stack's spec says of each service."""
    services = {
        name: {"weights_s": service.cold_start.weights_s, "engine_start_s": service.cold_start.engine_start_s}
        for name, service in platform.services.items()
    }
    return {"times": {"image_pull_s": UNPULLED_IMAGE_S / time_scale}, "services": services}


def _means_another(stack: str, platform: Platform) -> Iterator[Fault]:
    file = shown(stacks_root() / stack / PLATFORM_FILE)
    own = "Only a stack whose cluster is this machine can have a sandbox: use one of its own for it, as `local` is."
    if platform.cluster.context != CONTEXT:
        yield Fault(file, 0, "cluster.context", platform.cluster.context or "nothing", CONTEXT, own)
    if _own_port(platform) is None:
        yield Fault(file, 0, "prometheus.url", platform.prometheus.url, "http://127.0.0.1:PORT", own)
    if home.is_of_another_backend(stack):
        got, expected = "a secrets provider of another Pulumi backend", "none: the sandbox has a passphrase"
        yield Fault(shown(home.stack_file(stack)), 0, "secretsprovider", got, expected, own)


def _own_port(platform: Platform) -> int | None:
    """Prometheus' port, where its address is this machine's."""
    with suppress(ValueError):  # what is no address, or no port's number
        url = urlsplit(platform.prometheus.url)
        if url.hostname in {"127.0.0.1", "localhost"}:
            return url.port
    return None
