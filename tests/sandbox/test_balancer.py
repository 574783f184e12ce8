"""The stand-in for the cloud's balancer: who is an endpoint, what Envoy is told, and that it listens to it."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightkube.resources.core_v1 import Pod, Service

from sandbox.balancer.config import (
    BalancerPorts,
    bootstrap_text,
    cluster_resource,
    endpoints_resource,
    routes_resource,
    write_files,
)
from sandbox.balancer.endpoints import Endpoint, ServiceEndpoints, endpoints_of
from sandbox.balancer.process import envoy_path, running_envoy
from sandbox.layout import free_ports
from tests.sandbox.addresses import own_network
from tests.sandbox.waiting import PATIENCE_S


def pod(name: str = "p1", *, ready: str = "True", **metadata: Any) -> Pod:
    return cast(
        "Pod",
        Pod.from_dict(
            {
                "metadata": {"name": name, "namespace": "support", "labels": {"app": "bot"}, **metadata},
                "spec": {
                    "containers": [{"name": "engine", "ports": [{"name": "http", "containerPort": 8000}]}],
                },
                "status": {"podIP": "127.10.1.2", "conditions": [{"type": "Ready", "status": ready}]},
            }
        ),
    )


def service(port: dict[str, Any] | None = None, **spec: Any) -> Service:
    ports = [port or {"port": 80, "targetPort": "http"}]
    fields = {"selector": {"app": "bot"}, "ports": ports, **spec}
    return cast("Service", Service.from_dict({"metadata": {"name": "bot", "namespace": "support"}, "spec": fields}))


def addresses(pods: list[Pod], of: Service | None = None) -> list[Endpoint]:
    found = endpoints_of(of or service(), pods)
    assert found is not None
    return list(found.endpoints)


def test_ready_pods_are_endpoints() -> None:
    assert addresses([pod()]) == [Endpoint("127.10.1.2", 8000)]


@pytest.mark.parametrize(
    "other",
    [
        pod(ready="False"),
        pod(deletionTimestamp="2026-11-29T16:00:00Z"),  # still Ready, and yet no endpoint
        pod(namespace="elsewhere"),
        pod(labels={"app": "other"}),
    ],
)
def test_other_pods_are_not(other: Pod) -> None:
    assert addresses([other]) == []


def test_target_ports() -> None:
    assert addresses([pod()], service({"port": 80, "targetPort": 9000})) == [Endpoint("127.10.1.2", 9000)]
    assert addresses([pod()], service({"port": 8000})) == [Endpoint("127.10.1.2", 8000)]
    assert addresses([pod()], service({"port": 80, "targetPort": "htpp"})) == []


def test_services_without_a_selector_are_not_ours() -> None:
    assert endpoints_of(service(selector=None), [pod()]) is None


NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,20}[a-z0-9]", fullmatch=True)


@given(st.lists(st.tuples(NAMES, NAMES), max_size=4, unique=True))
def test_every_service_has_its_route_and_its_cluster(names: list[tuple[str, str]]) -> None:
    services = [ServiceEndpoints(namespace, name, ()) for namespace, name in names]
    routes = routes_resource(services)
    domains = [domain for host in routes["virtual_hosts"] for domain in host["domains"]]
    assert len(domains) == len(set(domains))
    clusters = {cluster_resource(item, Path("/tmp"))["name"] for item in services}
    routed = {route["route"]["cluster"] for host in routes["virtual_hosts"] for route in host["routes"]}
    assert routed == clusters
    assert {endpoints_resource(item)["cluster_name"] for item in services} == clusters


def test_files_are_replaced_only_when_they_change(tmp_path: Path) -> None:
    bot = ServiceEndpoints("support", "bot", (Endpoint("127.10.1.2", 8000),))
    write_files([bot], tmp_path)
    before = {file: file.stat().st_ino for file in tmp_path.iterdir()}
    write_files([bot], tmp_path)
    assert {file: file.stat().st_ino for file in tmp_path.iterdir()} == before
    write_files([ServiceEndpoints("support", "bot", ())], tmp_path)
    changed = [file.name for file in tmp_path.iterdir() if file.stat().st_ino != before[file]]
    assert changed == ["endpoints-bot.support.json"]


def test_envoy_accepts_the_bootstrap(tmp_path: Path) -> None:
    write_files([ServiceEndpoints("support", "bot", ())], tmp_path)
    file = tmp_path / "envoy.yaml"
    file.write_text(bootstrap_text(BalancerPorts(18200, 18201), tmp_path))
    checked = subprocess.run(
        [envoy_path(), "--mode", "validate", "-c", file],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr


async def ask(port: int, host: str, path: str = "/") -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), body


async def backend(address: str, said: bytes) -> asyncio.Server:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b" % (len(said), said))
        writer.close()

    return await asyncio.start_server(answer, address, 8000)


def test_envoy_follows_the_files(tmp_path: Path) -> None:
    async def play() -> None:
        one, two = await backend(f"{own_network()}.2", b"one"), await backend(f"{own_network()}.3", b"two")
        ports = BalancerPorts(*free_ports(2))
        async with one, two, running_envoy(ports, tmp_path):
            assert (await ask(ports.requests, "a.ns"))[0] == 404
            write_files(
                [
                    ServiceEndpoints("ns", "a", (Endpoint(f"{own_network()}.2", 8000),)),
                    ServiceEndpoints("ns", "b", (Endpoint(f"{own_network()}.3", 8000),)),
                ],
                tmp_path,
            )
            async with asyncio.timeout(PATIENCE_S):
                while (await ask(ports.requests, "b.ns"))[1] != b"two":  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            assert (await ask(ports.requests, "a.ns"))[1] == b"one"
            assert (await ask(ports.requests, "anything", "/ns/b/v1/models"))[1] == b"two"
            write_files([ServiceEndpoints("ns", "a", ())], tmp_path)
            async with asyncio.timeout(PATIENCE_S):
                while (await ask(ports.requests, "a.ns"))[0] != 503:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        resources = json.loads((tmp_path / "clusters.json").read_text())["resources"]
        assert [item["name"] for item in resources] == ["a.ns"]

    asyncio.run(play())
