"""What a running sandbox is made of on disk and on the wire: its files, its ports, its settings."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from sandbox.faults import SandboxError
from sandbox.places import SETTINGS, write_private

# Every address the sandbox listens on, apart from the pods' doubles: they have a 127.N.0.0/16, loopback as well.
HOST = "127.0.0.1"

# 127.10 and what is beyond the last are left to tests (tests/sandbox/addresses.py) and measurements.
_FIRST_NETWORK, _NETWORKS = 11, 240

_PORTS = (
    "etcd",
    "etcd-peer",
    "etcd-health",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
    "keda-operator",  # its gRPC service, asked by the adapter
    "keda-operator-health",
    "keda-operator-metrics",
    "keda-adapter",
    "keda-adapter-metrics",
    "keda-webhooks",
    "keda-webhooks-health",
    "keda-webhooks-metrics",
    "prometheus",
)


@dataclass(frozen=True)
class Settings:
    """What one sandbox was started with; `settings.json` in its directory.

    mark: random; how its processes are told from all others. ports: by name, see `_PORTS`.
    scrape_interval_s: how often Prometheus asks each pod.
    pod_network: first two bytes of every pod's address; drawn for each sandbox, so that two can be up at once.
    stack: whose nodes and times it has, and which Pulumi knows.
    """

    mark: str
    ports: Mapping[str, int]
    scrape_interval_s: int = 1
    pod_network: str = "127.10"
    stack: str = "local"


@dataclass(frozen=True)
class Keyring:
    """Keys, certificates and tokens in `directory`, each with mode 0600.

    certificate, key: for any server; its names are localhost, 127.0.0.1, and those of Services that lead there.
    """

    directory: Path

    @property
    def ca(self) -> Path:
        return self.directory / "ca.crt"

    @property
    def certificate(self) -> Path:
        return self.directory / "tls.crt"

    @property
    def key(self) -> Path:
        return self.directory / "tls.key"

    @property
    def front_proxy_ca(self) -> Path:
        return self.directory / "front-proxy-ca.crt"

    @property
    def front_proxy(self) -> tuple[Path, Path]:
        return self.directory / "front-proxy-client.crt", self.directory / "front-proxy-client.key"

    @property
    def service_accounts(self) -> tuple[Path, Path]:
        """Public key, private key."""
        return self.directory / "service-accounts.pub", self.directory / "service-accounts.key"

    @property
    def tokens(self) -> Path:
        return self.directory / "tokens.csv"

    def token(self, user: str) -> Path:
        return self.directory / f"{user}.token"


@dataclass(frozen=True)
class Layout:
    """Paths below the sandbox's directory."""

    directory: Path

    @property
    def settings(self) -> Path:
        return self.directory / SETTINGS

    @property
    def keyring(self) -> Keyring:
        return Keyring(self.directory / "pki")

    @property
    def bin(self) -> Path:
        return self.directory / "bin"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's; the one users get."""
        return self.kubeconfig_of("admin")

    def kubeconfig_of(self, user: str) -> Path:
        return self.directory / "kubeconfig" / user

    @property
    def work(self) -> Path:
        """For what further processes of the sandbox want to keep while it is up."""
        return self.directory / "work"

    @property
    def owned(self) -> tuple[Path, ...]:
        """All the sandbox makes, apart from logs: what is deleted when it goes."""
        files = ("kubelet.json", "processes.json", SETTINGS)
        folders = ("balancer", "bin", "etcd", "kubeconfig", "kubelet", "pki", "prometheus", "pulumi", "work")
        names = (*files, *folders)
        return tuple(self.directory / name for name in names)

    @property
    def marker(self) -> Path:
        """Says that a sandbox was begun here, so what bears the names of `owned` is its. It stays with the logs."""
        return self.directory / "logs" / ".warmline-sandbox"

    @property
    def etcd(self) -> Path:
        return self.directory / "etcd"

    @property
    def prometheus(self) -> Path:
        return self.directory / "prometheus"

    @property
    def pulumi_home(self) -> Path:
        return self.directory / "pulumi" / "home"

    @property
    def pulumi_state(self) -> Path:
        return self.directory / "pulumi" / "state"


def read_settings(layout: Layout) -> Settings | None:
    """None when no sandbox was ever started here, or its file is not whole."""
    try:
        return Settings(**json.loads(layout.settings.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def write_settings(layout: Layout, settings: Settings) -> None:
    write_private(layout.settings, json.dumps(asdict(settings), indent=1))


def new_settings(prometheus_port: int, scrape_interval_s: int, stack: str = "local") -> Settings:
    """A fresh mark and ports that are free now. Prometheus gets the asked port when it is free, for stacks name it."""
    ports = dict(zip(_PORTS, free_ports(len(_PORTS)), strict=True))
    if is_free(prometheus_port):
        ports["prometheus"] = prometheus_port
    pod_network = f"127.{_FIRST_NETWORK + secrets.randbelow(_NETWORKS)}"
    return Settings(secrets.token_hex(16), ports, scrape_interval_s, pod_network, stack)


def free_ports(count: int) -> list[int]:
    """`count` different ports nobody listens on at the moment."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind((HOST, 0))
        return [int(one.getsockname()[1]) for one in sockets]
    except OSError as error:
        raise SandboxError(f"no free ports on {HOST}: {error.strerror}.") from None
    finally:
        for one in sockets:
            one.close()


def is_free(port: int) -> bool:
    """Whether a server could listen on the port now."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        try:
            one.bind((HOST, port))
        except OSError:
            return False
        return True
