"""`warmline sandbox` through its door, without a control plane: what it says when there is none, and exit codes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.main import warmline
from sandbox.faults import SandboxError
from sandbox.lifecycle import ComponentStatus
from tests.cli.stack_folder import copied_stacks, edit

ETCD = ComponentStatus(
    "etcd", 4711, 2379, is_running=True, is_healthy=True, since="2027-01-01T00:00:00Z", log="/x/etcd.log"
)


@pytest.fixture(autouse=True)
def _no_sandbox(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARMLINE_SANDBOX_DIR", str(tmp_path / "none"))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(warmline, ["sandbox", *arguments])


def test_status_without_a_sandbox_is_a_finding_that_says_so() -> None:
    ran = run("status")
    assert (ran.exit_code, ran.stdout) == (1, "the sandbox is not up\n")
    assert run("status", "-o", "json").stdout == "[]\n"


def test_env_without_a_sandbox_prints_nothing_a_shell_would_evaluate() -> None:
    ran = run("env")
    assert (ran.exit_code, ran.stdout) == (3, "")
    assert "warmline sandbox up" in ran.stderr


def test_down_without_a_sandbox_is_done() -> None:
    ran = run("down")
    assert ran.exit_code == 0
    assert "not up" in ran.stderr


class TestDownTellsTheShell:
    """It may have run `env`: then its PATH has the folder that goes."""

    @pytest.fixture
    def folder(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
        def stop(_: object) -> bool:
            shutil.rmtree(folder)
            return True

        folder = tmp_path / "none" / "bin"
        folder.mkdir(parents=True)
        monkeypatch.setattr("sandbox.lifecycle.down", stop)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return folder

    def test_which_programs_it_may_have_hashed(self, folder: Path) -> None:
        for name in ("kubectl", "pulumi", "etcd"):
            (folder / name).touch()
        said = run("down").stderr
        assert "this shell may remember where kubectl and pulumi were: `hash -r` makes it look anew" in said
        assert "KUBECONFIG, PULUMI_* and WARMLINE_* of this shell still mean the sandbox" in said

    def test_not_of_programs_that_were_the_users_own(self, folder: Path) -> None:
        said = run("down").stderr
        assert "hash -r" not in said
        assert "still mean the sandbox" in said

    def test_not_where_the_shell_never_meant_the_sandbox(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "pulumi").touch()
        monkeypatch.setenv("PATH", "/usr/bin")
        assert run("down").stderr == ""


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_a_shell_forgets_where_programs_were_when_env_sets_its_path(tmp_path: Path, shell: str) -> None:
    """So `env` need not say `hash -r`."""
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tool").write_text(f"#!/bin/sh\necho {name}\n")
        (tmp_path / name / "tool").chmod(0o755)
    script = f"PATH={tmp_path}/before:$PATH; tool; eval 'export PATH={tmp_path}/after:\"$PATH\"'; tool"
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["before", "after"]


@pytest.mark.parametrize(("healthy", "exit_code"), [(True, 0), (False, 1)])
def test_status_tells_each_part(monkeypatch: pytest.MonkeyPatch, healthy: bool, exit_code: int) -> None:
    part = ComponentStatus("etcd", 4711, 2379, is_running=True, is_healthy=healthy, since=ETCD.since, log=ETCD.log)
    monkeypatch.setattr("sandbox.lifecycle.status", lambda: [part])
    ran = run("status", "-o", "json")
    assert ran.exit_code == exit_code
    assert json.loads(ran.stdout)[0] | {"log": ""} == {
        "name": "etcd",
        "pid": 4711,
        "port": 2379,
        "is_running": True,
        "is_healthy": healthy,
        "since": "2027-01-01T00:00:00Z",
        "log": "",
    }
    table = run("status")
    assert ("healthy" if healthy else "not well") in table.stdout


def stack_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, **changes: str) -> None:
    root = copied_stacks(tmp_path)
    (root / "local").rename(root / name)
    for before, after in changes.items():
        edit(root / name / "platform.yaml", {"context": "context: warmline-sandbox", "url": URL}[before], after)
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))


URL = "http://127.0.0.1:9090"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"url": "http://prometheus.monitoring:9090"}, ["prometheus.url: got http://prometheus.monitoring:9090"]),
        ({"url": "http://127.0.0.1:99999"}, ["prometheus.url: got http://127.0.0.1:99999"]),
        ({"context": "context: dev-eks"}, ["cluster.context: got dev-eks, expected warmline-sandbox"]),
        (
            {"context": "{}", "url": "http://10.0.0.1"},
            ["cluster.context: got nothing, expected warmline-sandbox", "prometheus.url: got http://10.0.0.1"],
        ),
    ],
)
def test_up_of_a_stack_that_means_another_cluster_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changes: dict[str, str], told: list[str]
) -> None:
    monkeypatch.setattr("sandbox.lifecycle.up", None)
    stack_of(tmp_path, monkeypatch, "far", **changes)
    ran = run("up", "-s", "far")
    assert ran.exit_code == 2
    lines = ran.stderr.splitlines()
    assert len(lines) == len(told)
    assert all(f"platform.yaml: {piece}" in line for piece, line in zip(told, lines, strict=True))


def test_up_of_a_stack_whose_secrets_are_anothers_leaves_its_file_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`pulumi stack init` would write our passphrase's salt over the provider's key."""
    monkeypatch.setattr("sandbox.lifecycle.up", None)
    stack_of(tmp_path, monkeypatch, "mine")
    monkeypatch.setattr("sandbox.for_pulumi.home.REPOSITORY", tmp_path)
    (tmp_path / "stacks" / "Pulumi.mine.yaml").write_text("secretsprovider: awskms://alias/x\nencryptedkey: abc\n")
    ran = run("up", "-s", "mine")
    assert ran.exit_code == 2
    assert "Pulumi.mine.yaml: secretsprovider: got a secrets provider of another Pulumi backend" in ran.stderr


def test_up_hands_on_whose_sandbox_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def up(*_: object, stack: str, **__: object) -> None:
        raise SandboxError(f"it would be {stack}'s")

    monkeypatch.setattr("sandbox.lifecycle.up", up)
    monkeypatch.setattr("sandbox.for_stack.is_free", lambda _: True)
    stack_of(tmp_path, monkeypatch, "dev")
    ran = run("up", "-s", "dev")
    assert (ran.exit_code, ran.stderr) == (3, "it would be dev's\n")


@pytest.mark.parametrize(("met", "exit_code"), [(True, 0), (False, 1)])
def test_a_demo_that_missed_an_expectation_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, met: bool, exit_code: int
) -> None:
    monkeypatch.setattr("sandbox.sale.demo.demo", lambda *_: met)
    assert run("demo", "--out", str(tmp_path)).exit_code == exit_code


def test_a_demo_that_cannot_be_played_says_why_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bool:
        raise SandboxError("etcd did not become ready.")

    monkeypatch.setattr("sandbox.sale.demo.demo", broken)
    ran = run("demo")
    assert (ran.exit_code, ran.stderr) == (3, "etcd did not become ready.\n")


# Each command that starts or stops processes, and what does its work.
WORK = {
    "up": "sandbox.for_stack.up",
    "down": "sandbox.lifecycle.down",
    "demo": "sandbox.sale.demo.demo",
    "bench-event": "sandbox.sale.comparison.compare",
    "bench-reliability": "sandbox.reliability.bench.measure",
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", WORK)
def test_a_signal_ends_it_even_where_python_drops_the_exception(
    command: str, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Asks:
        def __del__(self) -> None:
            signal.raise_signal(number)

    def work(*_: object, **__: object) -> None:
        Asks()
        time.sleep(20)

    monkeypatch.setattr(WORK[command], work)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where this runs in the background
    try:
        assert run(command).exit_code == 128 + number
    finally:
        signal.signal(signal.SIGINT, before)
