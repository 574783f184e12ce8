"""Kubeconfigs as people have them: what is used, what is refused with its place, and nothing ignored in silence."""

from __future__ import annotations

import os
import re
import select
import shutil
import socket
import ssl
import sys
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prescale.api import exec_plugin, kubeconfig
from prescale.api.cluster import Cluster
from prescale.api.kubeconfig import choose
from stacks.faults import InputError
from stacks.reach import OutOfReach

SECRET = "s3cr3t"
V1 = "client.authentication.k8s.io/v1"

Write = Callable[..., Path]


def content(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:1", **(cluster or {})}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "users": [{"name": "u", "user": {"token": SECRET} if user is None else user}],
    }


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a kubeconfig and make it the one that counts."""

    def written(text: str | None = None, **parts: Any) -> Path:
        file = tmp_path / "config"
        file.write_text(yaml.safe_dump(content(**parts)) if text is None else text)
        monkeypatch.setenv("KUBECONFIG", str(file))
        return file

    return written


def fault(context: str | None = None) -> str:
    with pytest.raises(InputError) as raised:
        choose(context)
    (found,) = raised.value.faults
    assert SECRET not in str(found)
    return str(found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ":1: got an empty file, expected a kubeconfig: a mapping with clusters, contexts and users. Correct"),
        ("# none\n", ":1: got an empty file"),
        ("- a\n", ":1: got a list, expected a kubeconfig"),
        ("hello\n", ":1: got a single value, expected a kubeconfig"),
        ("a: b\n", ":1: got a mapping without contexts, expected a kubeconfig"),
        ("{", "expected one valid YAML document"),
        ("[" * 3000, "got brackets in brackets"),
        (
            "contexts: []\n",
            "current-context: got nothing, expected a list of contexts, each with its name. Set cluster",
        ),
        ("contexts: 5\ncurrent-context: x\n", ":1: contexts: got no context 'x', expected a list of contexts"),
        (
            "current-context: x\ncontexts: [{name: y, context: {}}]\n",
            ":2: contexts: got no context 'x', expected one of the contexts: y. Run `kubectl config use-context NAME`.",
        ),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: y, user: u}}]\nusers: [{name: u, user: {}}]\n",
            ":2: contexts[0].context.cluster: got no cluster 'y', expected a list of clusters, each with its name.",
        ),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: y}}]\nclusters: [{name: y, cluster: {}}]\n",
            ":2: contexts[0].context: got nothing, expected a list of users",
        ),
    ],
)
def test_no_kubeconfig_of_anything(write: Write, text: str, said: str) -> None:
    file = write(text)
    told = fault().replace("contexts[0].context.user", "contexts[0].context")
    assert told.startswith(str(file))
    assert said in told


def test_a_context_that_the_platform_names_and_no_file_has(write: Write) -> None:
    file = write()
    assert fault("prod") == (
        f"{file}:5: contexts: got no context 'prod', expected one of the contexts: c. Correct cluster.context in "
        'platform.yaml, or set KUBECONFIG to the file that has it (in the sandbox: eval "$(warmline sandbox env)").'
    )


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"cluster": {"proxy-url": "ftp://p:1"}}, "clusters[0].cluster.proxy-url: got another address"),
        ({"cluster": {"proxy-url": f"me:{SECRET}@p"}}, "clusters[0].cluster.proxy-url: got another address"),
        ({"cluster": {"server": 5}}, "clusters[0].cluster.server: got int, expected str"),
        ({"cluster": {"certificate-authority": "ca.pem"}}, "certificate-authority: got no file ca.pem"),
        ({"cluster": {"certificate-authority": "x" * 5000}}, "certificate-authority: got no file xxx"),
        (
            {"cluster": {"certificate-authority-data": "abcde"}},
            "certificate-authority-data: got text that is no base64",
        ),
        ({"user": {"token": SECRET, "as": "root"}}, "users[0].user.as: got a field that is not supported"),
        ({"user": {"token": SECRET, "as-groups": ["a"]}}, "users[0].user.as-groups: got a field that is not supported"),
        ({"user": {"auth-provider": {"name": "gcp"}}}, "users[0].user.auth-provider: got a field that is not"),
        ({"user": {"tokenFile": "none"}}, "users[0].user.tokenFile: got no file none"),
        ({"user": {"token": [SECRET]}}, "users[0].user.token: got array, expected str | null"),
        (
            {"user": {"exec": {"command": "x", "apiVersion": "v9"}}},
            "users[0].user.exec.apiVersion: got v9, expected one",
        ),
        ({"user": {"exec": {"apiVersion": V1}}}, "users[0].user.exec: got Object missing required field `command`"),
        (
            {"user": {"exec": {"command": "x", "apiVersion": V1, "interactiveMode": "Always"}}},
            "users[0].user.exec.interactiveMode: got Always, expected Never or IfAvailable",
        ),
        (
            {"user": {"exec": {"command": "x", "apiVersion": V1, "provideClusterInfo": True}}},
            "users[0].user.exec.provideClusterInfo: got a field that is not supported",
        ),
    ],
)
def test_what_is_not_honoured_is_refused_with_its_place(write: Write, parts: dict[str, Any], said: str) -> None:
    write(**parts)
    assert said in fault()


@pytest.mark.parametrize(
    "parts",
    [
        {"user": {"token": SECRET, "as": "", "auth-provider": None}},
        {"user": {"token": SECRET, "as-groups": []}},
        {"user": {"exec": {"command": "x", "apiVersion": V1, "provideClusterInfo": False, "interactiveMode": "Never"}}},
        {"user": {}, "cluster": {"proxy-url": "", "tls-server-name": "", "certificate-authority": ""}},
    ],
)
def test_a_field_that_asks_for_nothing_is_no_fault(write: Write, parts: dict[str, Any]) -> None:
    write(**parts)
    assert choose(None).context_name == "c"


def test_every_fault_at_once(write: Write) -> None:
    write(cluster={"proxy-url": "x"}, user={"as": "root", "as-uid": "1"})
    with pytest.raises(InputError) as raised:
        choose(None)
    assert len(raised.value.faults) == 3


def test_files_are_found_from_the_kubeconfigs_folder(write: Write, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(SECRET)
    write(user={"tokenFile": "token"})
    user = choose(None).user
    assert user
    assert user.token_file == str(tmp_path / "token")


def test_a_home_that_nobody_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "~nobody-of-that-name/config")
    with pytest.raises(OutOfReach, match="no such kubeconfig"):
        choose(None)


class TestSeveralFiles:
    @pytest.fixture
    def files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
        files = []
        for name in ("one", "two"):
            data = content({"server": f"https://{name}"})
            data["contexts"][0]["name"] = name
            files.append(tmp_path / name)
            files[-1].write_text(yaml.safe_dump(data))
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, files)))
        return files

    def test_the_context_in_any_of_them(self, files: list[Path]) -> None:
        assert choose("two").cluster.server == "https://two"
        with pytest.raises(InputError) as raised:
            choose("three")
        assert [fault.file for fault in raised.value.faults] == [*map(str, files)]

    def test_what_a_context_names_may_be_in_another_file(
        self, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As `kubectl config view --flatten` has it; paths count from the folder of the file that they are in."""
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "ca").write_text("pem")
        made = content(
            {"server": "https://three", "certificate-authority": "ca"},
            {"exec": {"command": "./plugin", "apiVersion": V1}},
        )
        alone = {
            "contexts": [{"name": "three", "context": {"cluster": "k3", "user": "u3"}}],
            "current-context": "three",
        }
        made["clusters"][0]["name"], made["users"][0]["name"] = "k3", "u3"
        files[0].write_text(yaml.safe_dump(alone))
        files[1].unlink()
        files[1] = elsewhere / "config"
        files[1].write_text(yaml.safe_dump({**made, "contexts": [], "current-context": None}))
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, files)))
        for config in (choose(None), choose("three")):
            assert (config.cluster.server, config.cluster.certificate_auth) == ("https://three", str(elsewhere / "ca"))
            assert config.abs_file("./plugin") == elsewhere / "plugin"
        files.reverse()
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, files)))
        assert choose(None).cluster.server == "https://three"

    def test_one_that_is_broken_or_a_folder_hides_no_other(self, files: list[Path]) -> None:
        files[0].write_text("[")
        assert choose("two").cluster.server == "https://two"
        files[0].unlink()
        files[0].mkdir()
        assert choose("two").cluster.server == "https://two"

    def test_a_context_that_was_found_and_cannot_be_used_is_not_looked_for_elsewhere(self, files: list[Path]) -> None:
        first = content(user={"as": "root"})
        first["contexts"][0]["name"] = "two"
        files[0].write_text(yaml.safe_dump(first))
        assert "users[0].user.as" in fault("two")


MUTATIONS = st.lists(
    st.tuples(
        st.integers(0, 300), st.integers(0, 8), st.text(st.sampled_from(" \n:{}[]-'\"#&*!|>%@`~019.aZ\t"), max_size=6)
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(MUTATIONS)
def test_a_mutated_kubeconfig_is_used_or_refused(write: Write, mutations: list[tuple[int, int, str]]) -> None:
    text = yaml.safe_dump(content({"proxy-url": "http://p:1", "insecure-skip-tls-verify": True}))
    for place, length, new in mutations:
        text = text[:place] + new + text[place + length :]
    write(text)
    with suppress(InputError, OutOfReach):
        Cluster.of(None, "serving")


# --- credential plugins ---


def plugin(tmp_path: Path, body: str, **more: Any) -> dict[str, Any]:
    script = tmp_path / "sign-in"
    script.write_text(f"#!{sys.executable}\nimport json, os, subprocess, sys\n{body}\n")
    script.chmod(0o700)
    return {"exec": {"apiVersion": V1, "command": str(script), "args": ["--password", SECRET], **more}}


def test_a_token_from_a_plugin(write: Write, tmp_path: Path) -> None:
    """It is told that nobody is there to answer, and the kubeconfig's own variables reach it."""
    body = 'info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])["spec"]\n'
    body += 'print(json.dumps({"status": {"token": f"{info} {os.environ[chr(65)]} {sys.argv[1]}"}}))'
    write(user=plugin(tmp_path, body, env=[{"name": "A", "value": "b"}]))
    user = exec_plugin.signed_in(choose(None)).user
    assert user
    assert user.token == "{'interactive': False} b --password"


def test_a_certificate_from_a_plugin(write: Write, tmp_path: Path) -> None:
    write(user=plugin(tmp_path, 'print(json.dumps({"status": {"clientCertificateData": "c", "clientKeyData": "k"}}))'))
    user = exec_plugin.signed_in(choose(None)).user
    assert user
    assert (user.client_cert_data, user.client_key_data) == (b64encode(b"c").decode(), b64encode(b"k").decode())


@pytest.mark.parametrize("command", ["./sign-in", "sign-in"])
def test_a_path_counts_from_the_kubeconfigs_folder_and_a_name_from_path(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    user = plugin(tmp_path, 'print(\'{"status": {"token": "t"}}\')', command=command)
    if command == "sign-in":
        folder = tmp_path / "bin"
        folder.mkdir()
        shutil.move(tmp_path / "sign-in", folder)
        monkeypatch.setenv("PATH", str(folder))
    write(user=user)
    signed = exec_plugin.signed_in(choose(None)).user
    assert signed
    assert signed.token == "t"


@pytest.mark.parametrize("body", ["sleep 600", "sleep 600 &"], ids=["it hangs", "a child of it holds its output"])
def test_a_plugin_that_hangs_is_ended_and_named(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.setattr(exec_plugin, "WITHIN_S", 2.0)
    # As long as somebody of it lives, the pipe has a writer.
    os.mkfifo(tmp_path / "alive")
    alive = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    script = tmp_path / "sign-in"
    script.write_text(f"#!/bin/sh\nexec 3>{tmp_path}/alive\necho x >&3\necho open https://login >&2\n{body}\n")
    script.chmod(0o700)
    write(user={"exec": {"apiVersion": V1, "command": str(script), "args": ["--password", SECRET]}})
    with pytest.raises(OutOfReach) as raised:
        Cluster.of(None, "serving")
    said = str(raised.value)
    assert said.startswith("https://127.0.0.1:1: out of reach: the kubeconfig's credential plugin ")
    assert f"{script} gave no answer within 2 s: open https://login. Nothing was changed." in said
    assert SECRET not in said
    assert os.read(alive, 9) == b"x\n"
    assert select.select([alive], [], [], 30)[0]
    assert os.read(alive, 9) == b""
    os.close(alive)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("sys.exit('session expired')", "ended with 1: session expired."),
        ("", "printed no ExecCredential with a token or a certificate."),
        ("print('[]')", "printed no ExecCredential"),
        ("print('{\"status\": {}}')", "printed no ExecCredential"),
        ('print(\'{"status": {"token": 5}}\')', "printed no ExecCredential"),
        ("sys.stdout.buffer.write(bytes([255]))", "printed no ExecCredential"),
    ],
)
def test_a_plugin_that_fails_is_named(write: Write, tmp_path: Path, body: str, said: str) -> None:
    write(user=plugin(tmp_path, body))
    with pytest.raises(OutOfReach, match=re.escape(f"plugin {tmp_path / 'sign-in'} {said}")):
        Cluster.of(None, "serving")


def test_a_plugin_that_is_not_there(write: Write) -> None:
    write(user={"exec": {"apiVersion": V1, "command": "no-such-plugin", "installHint": "apt install it"}})
    with pytest.raises(OutOfReach, match=r"no-such-plugin cannot be started \(no such file.*\): apt install it"):
        Cluster.of(None, "serving")


# --- proxy-url and tls-server-name ---


class Api(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"items": []}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def named_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Address and CA of an API server whose certificate is for `kube.internal` alone."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "kube.internal")]), datetime.now(UTC)
    alternative = x509.SubjectAlternativeName([x509.DNSName("kube.internal")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate = made.add_extension(alternative, critical=False).sign(key, hashes.SHA256())
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    plain = serialization.NoEncryption()
    file.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain) + pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"https://127.0.0.1:{server.server_port}", b64encode(pem).decode()
    server.shutdown()
    server.server_close()


def test_the_name_that_the_certificate_is_for(write: Write, named_api: tuple[str, str]) -> None:
    address, ca = named_api
    entry = {"server": address, "certificate-authority-data": ca}
    write(cluster={**entry, "tls-server-name": "kube.internal"})
    cluster = Cluster.of(None, "serving")
    assert cluster.scaled_objects("local") == []
    assert cluster.http(5).get("/api").json() == {"items": []}
    for other in ({}, {"tls-server-name": "kube.example"}):
        write(cluster={**entry, **other})
        cluster = Cluster.of(None, "serving")
        cluster.wire._sleep = lambda _: None
        with pytest.raises(OutOfReach, match=r"CERTIFICATE_VERIFY_FAILED.+ Correct the certificates of the kubeconfig"):
            cluster.scaled_objects("local")


def test_a_token_that_cannot_be_sent_is_not_printed(write: Write, named_api: tuple[str, str]) -> None:
    address, ca = named_api
    trusted = {"server": address, "certificate-authority-data": ca, "tls-server-name": "kube.internal"}
    write(cluster=trusted, user={"token": f"{SECRET}\nrest"})
    with pytest.raises(OutOfReach) as raised:
        Cluster.of(None, "serving").scaled_objects("local")
    assert "a character in them that cannot be sent. Nothing was changed. Correct the token" in str(raised.value)
    assert SECRET not in str(raised.value)


def _as_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named_api: tuple[str, str]) -> Path:
    """A pod's account, and nothing else: no kubeconfig, no home."""
    (tmp_path / "ca.crt").write_bytes(b64decode(named_api[1]))
    (tmp_path / "token").write_text(SECRET)
    (tmp_path / "namespace").write_text("serving")
    monkeypatch.setattr(kubeconfig, "ACCOUNT", tmp_path / "token")
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    host, _, port = named_api[0].removeprefix("https://").partition(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    return tmp_path


def test_the_pods_own_account(account: Path, named_api: tuple[str, str]) -> None:
    config = choose("whatever platform.yaml says")
    assert (config.cluster.server, config.cluster.certificate_auth) == (named_api[0], str(account / "ca.crt"))


def test_a_pods_account_without_its_environment_is_named(account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As cron in a container starts its commands."""
    for name in ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name)
    with pytest.raises(OutOfReach, match="does not say KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT"):
        choose(None)


@pytest.mark.parametrize(
    "spoil", [Path.unlink, lambda file: file.write_bytes(b"\xff"), _as_folder], ids=["gone", "bytes", "folder"]
)
def test_a_pods_account_that_is_not_whole_is_named(account: Path, spoil: Callable[[Path], Any]) -> None:
    spoil(account / "namespace")
    with pytest.raises(OutOfReach, match="Mount the account's token whole"):
        choose(None)


def test_a_certificate_that_is_none_is_named_as_that(write: Write) -> None:
    write(cluster={"certificate-authority-data": b64encode(b"none").decode()})
    with pytest.raises(OutOfReach, match="Correct the certificates of the kubeconfig"):
        Cluster.of(None, "serving")


def test_the_kubeconfigs_proxy_is_used_before_the_environments(
    write: Write, named_api: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy that tunnels once, to an address nobody else knows the way to."""
    address, ca = named_api
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_tunnel, args=(listener, httpx2.URL(address).port, asked), daemon=True).start()
        entry = {"server": "https://kube.internal:6443", "certificate-authority-data": ca}
        write(cluster={**entry, "proxy-url": f"http://127.0.0.1:{listener.getsockname()[1]}"})
        monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
        assert Cluster.of(None, "serving").scaled_objects("local") == []
    assert asked[0].startswith(b"CONNECT kube.internal:6443 ")


def _tunnel(listener: socket.socket, port: int, asked: list[bytes]) -> None:
    client, _ = listener.accept()
    asked.append(client.recv(65536))
    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    server = socket.create_connection(("127.0.0.1", port))

    def pump(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)

    threading.Thread(target=pump, args=(server, client), daemon=True).start()
    pump(client, server)
