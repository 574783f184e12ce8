"""What the programs of the control plane are told: addresses, secrets, nodes. No Kubernetes is started."""

from __future__ import annotations

import stat
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from lightkube import Client

from sandbox.control_plane import certificates, keda, kubeconfigs, prometheus
from sandbox.control_plane.kubernetes import apiserver, controller_manager, etcd, kwok, scheduler
from sandbox.control_plane.nodes import Node, manifest, with_addresses
from sandbox.control_plane.readiness import wait_for_admission
from sandbox.faults import SandboxError
from sandbox.layout import HOST, Layout, Settings, new_settings
from tests.core.api_double import config as api_config


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "sandbox")


@pytest.fixture
def settings() -> Settings:
    return new_settings(prometheus_port=9090, scrape_interval_s=1)


def test_secrets_are_for_their_owner_only(layout: Layout, settings: Settings) -> None:
    ring = certificates.make(layout.keyring.directory)
    kubeconfigs.write_all(layout, settings)
    files = [path for path in layout.directory.rglob("*") if path.is_file()]
    assert len(files) > len(certificates.USERS)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE(ring.directory.stat().st_mode) == 0o700
    names = x509.load_pem_x509_certificate(ring.certificate.read_bytes()).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert "localhost" in names.value.get_values_for_type(x509.DNSName)


def test_everything_listens_on_loopback_and_no_secret_is_in_an_argument(layout: Layout, settings: Settings) -> None:
    ring = certificates.make(layout.keyring.directory)
    tokens = {ring.token(user).read_text() for user in certificates.USERS}
    builders = (etcd, apiserver, controller_manager, scheduler, kwok)
    for build in (*builders, keda.operator, keda.webhooks, keda.adapter, prometheus.component):
        component = build(layout, settings)
        line = " ".join(component.argv)
        assert "0.0.0.0" not in line, component.name
        assert not any(token in line for token in tokens), component.name
        assert component.health.split("://")[1].startswith(f"{HOST}:"), component.name


def test_prometheus_reads_its_token_from_a_file(layout: Layout, settings: Settings) -> None:
    ring = certificates.make(layout.keyring.directory)
    content = prometheus.write_configuration(layout, settings).read_text()
    assert str(ring.token("prometheus")) in content
    assert ring.token("prometheus").read_text() not in content
    assert "scrape_interval: 1s" in content


def test_nodes_get_pod_networks_of_their_own_on_loopback() -> None:
    nodes = [Node("a"), Node("b", pod_cidr="127.10.1.0/24"), Node("c")]
    assert [cidr for _, cidr in with_addresses(nodes, "127.10")] == ["127.10.2.0/24", "127.10.1.0/24", "127.10.3.0/24"]
    with pytest.raises(SandboxError, match="a named twice"):
        with_addresses([Node("a"), Node("a")], "127.10")


def test_a_node_has_what_the_cloud_would_give_it() -> None:
    node = Node("l40s-0", {"team": "x"}, (("nvidia.com/gpu", "present", "NoSchedule"),), gpus=1, cpu="8", memory="64Gi")
    made = manifest(node, "127.10.1.0/24").to_dict()
    assert made["metadata"]["labels"] == {
        "kubernetes.io/hostname": "l40s-0",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "team": "x",
    }
    assert made["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    assert made["status"]["allocatable"]["nvidia.com/gpu"] == "1"
    assert made["status"]["capacity"] == made["status"]["allocatable"]


def test_admission_is_waited_for_until_the_webhook_itself_answers() -> None:
    refused = 'failed calling webhook "vscaledobject.kb.io": connect: connection refused'
    answers = [(500, refused), (500, refused), (403, "denied the request: no target")]
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        code, message = answers.pop(0)
        return httpx2.Response(code, json={"kind": "Status", "code": code, "message": message})

    wait_for_admission(Client(api_config(), dry_run=True, transport=httpx2.MockTransport(answer)))
    assert not answers
    assert {request.url.params["dryRun"] for request in asked} == {"All"}


def test_admission_that_never_answers_is_said() -> None:
    status = {"kind": "Status", "code": 500, "message": "failed calling webhook: connection refused"}
    never = httpx2.MockTransport(lambda _: httpx2.Response(500, json=status))
    with pytest.raises(SandboxError, match=r"not reached after 0 s \(failed calling webhook: connection refused\)"):
        wait_for_admission(Client(api_config(), dry_run=True, transport=never), patience_s=0)
