"""How etcd, the programs of Kubernetes, and kwok are started.

Source: the flags of etcd 3.6, Kubernetes 1.34 and kwok 0.8.
"""

from __future__ import annotations

from pathlib import Path

from sandbox.control_plane.component import Component
from sandbox.layout import HOST, Layout, Settings


def etcd(layout: Layout, settings: Settings) -> Component:
    ring, client, peer = layout.keyring, settings.ports["etcd"], settings.ports["etcd-peer"]
    health = settings.ports["etcd-health"]
    # Client certificates keep other users of this machine from reading the sandbox's Secrets.
    tls = [f"--{kind}{flag}" for kind in ("", "peer-") for flag in _etcd_tls(ring.ca, ring.certificate, ring.key)]
    argv = (
        "--name=warmline",
        f"--data-dir={layout.etcd}",
        f"--listen-client-urls=https://{HOST}:{client}",
        f"--advertise-client-urls=https://{HOST}:{client}",
        f"--listen-peer-urls=https://{HOST}:{peer}",
        f"--initial-advertise-peer-urls=https://{HOST}:{peer}",
        f"--initial-cluster=warmline=https://{HOST}:{peer}",
        f"--listen-metrics-urls=http://{HOST}:{health}",
        "--unsafe-no-fsync",  # a sandbox starts empty each time; nothing to lose
        "--log-level=warn",
        *tls,
    )
    return Component("etcd", argv, (client, peer, health), f"http://{HOST}:{health}/health")


def _etcd_tls(ca: Path, certificate: Path, key: Path) -> tuple[str, ...]:
    return f"trusted-ca-file={ca}", f"cert-file={certificate}", f"key-file={key}", "client-cert-auth=true"


def apiserver(layout: Layout, settings: Settings) -> Component:
    ring, port = layout.keyring, settings.ports["kube-apiserver"]
    argv = (
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        f"--advertise-address={HOST}",
        "--endpoint-reconciler-type=none",  # endpoints refuse loopback addresses
        f"--etcd-servers=https://{HOST}:{settings.ports['etcd']}",
        f"--etcd-cafile={ring.ca}",
        f"--etcd-certfile={ring.certificate}",
        f"--etcd-keyfile={ring.key}",
        f"--tls-cert-file={ring.certificate}",
        f"--tls-private-key-file={ring.key}",
        f"--client-ca-file={ring.ca}",
        f"--token-auth-file={ring.tokens}",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={ring.service_accounts[0]}",
        f"--service-account-signing-key-file={ring.service_accounts[1]}",
        f"--requestheader-client-ca-file={ring.front_proxy_ca}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={ring.front_proxy[0]}",
        f"--proxy-client-key-file={ring.front_proxy[1]}",
        "--allow-privileged=true",
        "--profiling=false",
    )
    return Component("kube-apiserver", argv, (port,), f"https://{HOST}:{port}/readyz")


def _controller(name: str, layout: Layout, settings: Settings, *own: str) -> Component:
    kubeconfig, ring, port = layout.kubeconfig_of(name), layout.keyring, settings.ports[name]
    argv = (
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        f"--tls-cert-file={ring.certificate}",
        f"--tls-private-key-file={ring.key}",
        "--leader-elect=false",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--profiling=false",
        *own,
    )
    return Component(name, argv, (port,), f"https://{HOST}:{port}/healthz")


def controller_manager(layout: Layout, settings: Settings) -> Component:
    return _controller(
        "kube-controller-manager",
        layout,
        settings,
        "--horizontal-pod-autoscaler-sync-period=5s",
        "--use-service-account-credentials=true",  # so RBAC holds for each controller as on a real cluster
        f"--service-account-private-key-file={layout.keyring.service_accounts[1]}",
        f"--root-ca-file={layout.keyring.ca}",
    )


def scheduler(layout: Layout, settings: Settings) -> Component:
    return _controller("kube-scheduler", layout, settings)


def kwok(layout: Layout, settings: Settings) -> Component:
    port = settings.ports["kwok"]
    argv = (
        f"--kubeconfig={layout.kubeconfig_of('kwok')}",
        f"--config={Path(__file__).parent / 'kwok-stages.yaml'}",
        "--manage-all-nodes=true",
        f"--node-ip={HOST}",
        # Without leases the node lifecycle controller marks every pod not Ready after 50 s, and nothing brings it back.
        "--node-lease-duration-seconds=40",
        f"--server-address={HOST}:{port}",
    )
    return Component("kwok", argv, (port,), f"http://{HOST}:{port}/healthz")
