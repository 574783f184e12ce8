"""The language host, asked as Pulumi's engine asks it, without an engine."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

from sandbox.places import REPOSITORY

_PATIENCE_S = 20


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
