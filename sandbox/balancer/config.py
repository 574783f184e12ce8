"""Envoy's files: one bootstrap from a template, and three that change while it runs, replaced atomically."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from sandbox.balancer.endpoints import ServiceEndpoints

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
_TYPES = "type.googleapis.com/envoy.config"
_MANY = 65_536


@dataclass(frozen=True, slots=True)
class BalancerPorts:
    """Loopback ports of one balancer."""

    requests: int
    admin: int


def bootstrap_text(ports: BalancerPorts, directory: Path, stream_idle_timeout_s: int = 300) -> str:
    """Envoy's bootstrap."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 -- YAML, not HTML; every value is ours
        keep_trailing_newline=True,
    )
    return environment.get_template("sandbox-envoy.yaml.j2").render(
        port=ports.requests,
        admin_port=ports.admin,
        directory=directory,
        stream_idle_timeout_s=stream_idle_timeout_s,
    )


def cluster_resource(service: ServiceEndpoints, directory: Path) -> dict[str, Any]:
    """A cluster whose endpoints come from their own file; all of them are looked at for the least loaded."""
    least_request = {
        "@type": "type.googleapis.com/envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest",
        "selection_method": "FULL_SCAN",
    }
    source = {"path_config_source": {"path": str(directory / endpoints_file(service))}, "resource_api_version": "V3"}
    # Envoy's own limits (1,024 each) would refuse requests that a larger balancer takes.
    limits = {"max_connections": _MANY, "max_pending_requests": _MANY, "max_requests": _MANY}
    policy = {"typed_extension_config": {"name": "least_request", "typed_config": least_request}}
    return {
        "@type": f"{_TYPES}.cluster.v3.Cluster",
        "name": service.host,
        "type": "EDS",
        "eds_cluster_config": {"eds_config": source},
        "connect_timeout": "1s",
        "circuit_breakers": {"thresholds": [limits]},
        "load_balancing_policy": {"policies": [policy]},
    }


def endpoints_file(service: ServiceEndpoints) -> str:
    """Name of the file with a service's endpoints."""
    return f"endpoints-{service.host}.json"


def endpoints_resource(service: ServiceEndpoints) -> dict[str, Any]:
    """Where the service's requests go now."""
    hosts = [
        {"endpoint": {"address": {"socket_address": {"address": item.address, "port_value": item.port}}}}
        for item in service.endpoints
    ]
    return {
        "@type": f"{_TYPES}.endpoint.v3.ClusterLoadAssignment",
        "cluster_name": service.host,
        "endpoints": [{"lb_endpoints": hosts}],
    }


def routes_resource(services: Sequence[ServiceEndpoints]) -> dict[str, Any]:
    """Routes by Host header `<service>.<namespace>`, else by path `/<namespace>/<service>/...`."""
    forever = {"timeout": "0s"}
    hosts: list[dict[str, Any]] = [
        {
            "name": service.host,
            "domains": [service.host, f"{service.host}:*"],
            "routes": [{"match": {"prefix": "/"}, "route": {"cluster": service.host, **forever}}],
        }
        for service in services
    ]
    by_path = [
        {
            "match": {"prefix": f"/{service.namespace}/{service.name}/"},
            "route": {"cluster": service.host, "prefix_rewrite": "/", **forever},
        }
        for service in services
    ]
    if len(services) == 1:
        by_path.append({"match": {"prefix": "/"}, "route": {"cluster": services[0].host, **forever}})
    hosts.append({"name": "by-path", "domains": ["*"], "routes": by_path})
    return {"@type": f"{_TYPES}.route.v3.RouteConfiguration", "name": "routes", "virtual_hosts": hosts}


def write_files(services: Sequence[ServiceEndpoints], directory: Path) -> None:
    """Write what changed; endpoints first, so that no cluster is known before its endpoints are."""
    ordered = sorted(services, key=lambda item: item.host)
    for service in ordered:
        _replace(directory / endpoints_file(service), [endpoints_resource(service)])
    _replace(directory / "clusters.json", [cluster_resource(service, directory) for service in ordered])
    _replace(directory / "routes.json", [routes_resource(ordered)])


def _replace(path: Path, resources: Iterable[dict[str, Any]]) -> None:
    text = json.dumps({"resources": list(resources)}, indent=1)
    if path.exists() and path.read_text() == text:
        return
    # Envoy watches for a rename: a file written in place could be read half.
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(path)
