"""The language host, asked as Pulumi's engine asks it, without an engine; and the stack that is made for a sandbox."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

from sandbox.faults import SandboxError
from sandbox.for_pulumi import home
from sandbox.layout import Layout
from sandbox.places import REPOSITORY

_PATIENCE_S = 60


@pytest.fixture
def host() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-P", "-m", "sandbox.for_pulumi.language_host", "127.0.0.1:1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY)
    yield process
    process.kill()
    process.communicate()


def stub_for(host: subprocess.Popen[str]) -> language_pb2_grpc.LanguageRuntimeStub:
    assert host.stdout is not None
    port = int(host.stdout.readline())  # the first line is the port and nothing else
    return language_pb2_grpc.LanguageRuntimeStub(grpc.insecure_channel(f"127.0.0.1:{port}"))


def test_it_answers_what_the_engine_asks_first(host: subprocess.Popen[str]) -> None:
    stub = stub_for(host)
    stub.Handshake(language_pb2.LanguageHandshakeRequest(engine_address="127.0.0.1:2"), timeout=_PATIENCE_S)
    assert stub.GetPluginInfo(Empty(), timeout=_PATIENCE_S).version.startswith("3.")
    about = stub.About(language_pb2.AboutRequest(), timeout=_PATIENCE_S)
    assert about.executable == sys.executable
    packages = stub.GetRequiredPackages(language_pb2.GetRequiredPackagesRequest(), timeout=_PATIENCE_S)
    assert list(packages.packages) == []
    assert list(stub.InstallDependencies(language_pb2.InstallDependenciesRequest(), timeout=_PATIENCE_S)) == []


def test_it_leaves_quietly_when_interrupted(host: subprocess.Popen[str]) -> None:
    stub_for(host)
    host.send_signal(signal.SIGINT)
    output, errors = host.communicate(timeout=_PATIENCE_S)
    assert (host.returncode, output, errors) == (0, "", "")


def test_a_program_that_cannot_run_is_an_answer_and_not_a_crash(host: subprocess.Popen[str]) -> None:
    stub = stub_for(host)
    request = language_pb2.RunRequest(
        project="p",
        stack="s",
        pwd="/",
        monitor_address="127.0.0.1:1",
        info=language_pb2.ProgramInfo(root_directory="/", program_directory="/no/such", entry_point="."),
    )
    answer = stub.Run(request, timeout=_PATIENCE_S * 2)
    assert answer.error or answer.bail
    host.terminate()
    _, errors = host.communicate(timeout=_PATIENCE_S)
    assert "language_program.py" in errors  # it was begun, and failed at the engine that is not there


# --- the stack ---


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the sandbox's own stack, and a `pulumi` that writes down how it was called."""
    root = tmp_path / "project"
    (root / "stacks").mkdir(parents=True)
    (root / "Pulumi.yaml").touch()
    shutil.copy(REPOSITORY / "stacks" / "Pulumi.local.yaml", root / "stacks")
    _pulumi(root, "exit 0")
    monkeypatch.setattr(home, "REPOSITORY", root)
    return root


def _pulumi(project: Path, end: str) -> None:
    pulumi = project / "pulumi"
    pulumi.write_text(f'#!/bin/sh\necho "$@" in "$PWD" of "$PULUMI_BACKEND_URL" >> {project}/called\n{end}\n')
    pulumi.chmod(0o700)


def _prepare(project: Path, stack: str) -> list[str]:
    layout, said = Layout(project / "sandbox"), list[str]()
    layout.bin.mkdir(parents=True)
    home.prepare(layout, {"pulumi": project / "pulumi"}, said.append, stack)
    return said


def test_a_stack_of_any_name_is_made_with_a_file_of_its_own(project: Path) -> None:
    said = _prepare(project, "dev")
    called = (project / "called").read_text()
    assert called.startswith("stack init dev --non-interactive --color never in ")
    assert f"of file://{project}/sandbox/" in called
    assert said == ["  stacks/Pulumi.dev.yaml is new, a copy of stack local's", "  Pulumi's stack dev is ready"]
    made, shipped = (project / "stacks" / f"Pulumi.{name}.yaml" for name in ("dev", "local"))
    assert made.read_text() == shipped.read_text()


def test_a_file_that_is_there_is_left_as_it_is(project: Path) -> None:
    mine = project / "stacks" / "Pulumi.dev.yaml"
    mine.write_text("config: {}\n")
    assert _prepare(project, "dev") == ["  Pulumi's stack dev is ready"]
    assert mine.read_text() == "config: {}\n"


def test_a_file_with_another_passphrases_salt_is_named(project: Path) -> None:
    _pulumi(project, "echo error: incorrect passphrase >&2; exit 1")
    with pytest.raises(SandboxError, match=r"stack init dev .* ended with 1:\nerror: .*\n.*Pulumi.dev.yaml is another"):
        _prepare(project, "dev")


@pytest.mark.parametrize(
    ("text", "is_anothers"),
    [
        (None, False),
        ("encryptionsalt: v1:x\n", False),
        ("config:\n  a:secretsprovider: x\n", False),
        ("secretsprovider: awskms://alias/x\n", True),
        ("config: {}\nsecretsprovider: gcpkms://x\n", True),
        ("secretsprovider: passphrase\nencryptionsalt: v1:x\n", False),
    ],
)
def test_whose_secrets_a_stack_has(project: Path, text: str | None, is_anothers: bool) -> None:
    if text is not None:
        (project / "stacks" / "Pulumi.dev.yaml").write_text(text)
    assert home.is_of_another_backend("dev") is is_anothers
