"""What the sandbox remembers of its processes, whom it stops, and what it tells a shell. No Kubernetes is started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox import lifecycle
from sandbox.control_plane import prometheus
from sandbox.directory import begin
from sandbox.faults import SandboxError
from sandbox.layout import HOST, Layout, Settings, free_ports, new_settings, read_settings, write_settings
from sandbox.processes.process import MARK, await_mark, end, is_marked, is_running, marked, reap, start_ticks
from sandbox.processes.record import ProcessRecord
from tests.sandbox.waiting import PATIENCE_S

SLEEP = ("/bin/sleep", "300")


@pytest.fixture
def layout(tmp_path: Path) -> Iterator[Layout]:
    """A sandbox that was started as far as its settings go."""
    layout = Layout(tmp_path / "sandbox")
    layout.directory.mkdir()
    write_settings(layout, new_settings(prometheus_port=9090, scrape_interval_s=1))
    yield layout
    lifecycle.down(lambda line: None, layout.directory)


def record_of(layout: Layout) -> ProcessRecord:
    return ProcessRecord(layout.directory, settings_of(layout).mark)


def settings_of(layout: Layout) -> Settings:
    settings = read_settings(layout)
    assert settings is not None
    return settings


def test_a_started_process_is_recorded_and_stopped(layout: Layout) -> None:
    process = lifecycle.extra("sleeper", SLEEP, directory=layout.directory)
    (known,) = lifecycle.status(layout.directory)
    assert (known.name, known.pid, known.is_running, known.is_healthy) == ("sleeper", process.pid, True, True)
    assert lifecycle.down(print, layout.directory)
    assert start_ticks(process.pid) is None
    assert lifecycle.status(layout.directory) == []


def test_status_and_down_work_after_a_part_was_killed(layout: Layout) -> None:
    first = lifecycle.extra("first", SLEEP, directory=layout.directory)
    second = lifecycle.extra("second", SLEEP, directory=layout.directory)
    os.kill(first.pid, signal.SIGKILL)
    wait_until_gone(first.pid)
    found = {part.name: part.is_running for part in lifecycle.status(layout.directory)}
    assert found == {"first": False, "second": True}
    lines: list[str] = []
    assert lifecycle.down(lines.append, layout.directory)
    assert "no longer running: first" in lines[0]
    assert start_ticks(second.pid) is None


def test_a_process_that_was_given_the_number_later_is_left_alone(layout: Layout) -> None:
    stranger = subprocess.Popen(SLEEP)
    try:
        process = lifecycle.extra("sleeper", SLEEP, directory=layout.directory)
        ticks = start_ticks(stranger.pid)
        assert ticks is not None
        # Started at another moment than the record says: another process.
        assert not is_running(replace(process, pid=stranger.pid, start_ticks=ticks + 1))
        # The same numbers, but from before a reboot.
        assert not is_running(replace(process, pid=stranger.pid, start_ticks=ticks, boot_id="before"))
        assert end(replace(process, pid=stranger.pid, start_ticks=ticks + 1), patience_s=1) is False
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_down_ends_what_a_killed_parent_left_behind(layout: Layout) -> None:
    body = f"import subprocess, time; subprocess.Popen({SLEEP!r}, start_new_session=True); time.sleep(300)"
    parent = lifecycle.extra("parent", (sys.executable, "-c", body), directory=layout.directory)
    mark = settings_of(layout).mark
    until = time.monotonic() + PATIENCE_S
    while len(marked(mark)) < 2:
        assert time.monotonic() < until
        time.sleep(0.02)
    os.kill(parent.pid, signal.SIGKILL)
    wait_until_gone(parent.pid)
    (orphan,) = marked(mark)
    lifecycle.down(lambda line: None, layout.directory)
    assert start_ticks(orphan) is None
    assert marked(mark) == []


def test_a_temporary_sandbox_goes_with_what_a_play_started_however_that_ends(layout: Layout) -> None:
    """A play has no record of its load generator until it has started it."""
    with pytest.raises(KeyboardInterrupt), lifecycle.temporary(print, layout.directory):  # noqa: PT012
        environment = {**os.environ, **lifecycle.mark(layout.directory)}
        pid = os.posix_spawn(SLEEP[0], SLEEP, environment, setsid=True)
        await_mark(pid, settings_of(layout).mark)
        raise KeyboardInterrupt
    assert start_ticks(pid) is None
    assert not layout.settings.exists()


def test_a_process_that_ignores_sigterm_is_killed(layout: Layout) -> None:
    record = record_of(layout)
    body = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(300)"
    )
    process = record.start("deaf", (sys.executable, "-c", body))
    until = time.monotonic() + PATIENCE_S
    while "deaf" not in Path(process.log).read_text():
        assert time.monotonic() < until
        time.sleep(0.02)
    assert end(process, patience_s=0.2)
    assert not is_running(process)


def test_names_are_unique_while_they_run(layout: Layout) -> None:
    process = lifecycle.extra("sleeper", SLEEP, directory=layout.directory)
    with pytest.raises(SandboxError, match=f"already runs in this sandbox \\(pid {process.pid}\\)"):
        lifecycle.extra("sleeper", SLEEP, directory=layout.directory)
    lifecycle.stop("sleeper", layout.directory)
    lifecycle.extra("sleeper", SLEEP, directory=layout.directory)


def test_a_program_that_is_not_there_is_said_so(layout: Layout) -> None:
    with pytest.raises(SandboxError, match="cannot be started: /no/such/program: No such file"):
        lifecycle.extra("nothing", ("/no/such/program",), directory=layout.directory)


def test_a_process_that_never_gets_well_shows_its_log(layout: Layout) -> None:
    argv = ("/bin/sh", "-c", "echo port is taken; exit 3")
    health = f"http://{HOST}:{free_ports(1)[0]}/"
    with pytest.raises(SandboxError, match="port is taken"):
        lifecycle.extra("short", argv, directory=layout.directory, health=health, ready_s=5)


def test_down_deletes_only_what_the_sandbox_made(layout: Layout) -> None:
    theirs = layout.directory / "thesis.txt"
    theirs.write_text("years of work")
    layout.etcd.mkdir()
    lifecycle.down(lambda line: None, layout.directory)
    assert theirs.exists()
    assert not layout.etcd.exists()
    assert not layout.settings.exists()


def test_a_directory_of_somebody_else_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("bin/tool", "work/thesis.txt", "logs/mine.log"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("precious")
    (tmp_path / "settings.json").write_text('{"editor": "vi"}')
    before = sorted(tmp_path.rglob("*"))
    assert lifecycle.down(print, tmp_path) is False
    monkeypatch.setattr(lifecycle, "ensure", lambda *_: None)
    with pytest.raises(SandboxError, match=r"holds settings.json, bin, work, which no sandbox made"):
        lifecycle.up([], print, tmp_path, with_pulumi=False)
    assert [path for path in sorted(tmp_path.rglob("*")) if path.name != "lock"] == before


def test_another_stacks_sandbox_is_left_as_it_is(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    lifecycle.extra("sleeper", SLEEP, directory=layout.directory)
    monkeypatch.setattr(lifecycle, "ensure", lambda *_: {})
    with pytest.raises(SandboxError, match=r"is stack local's. Run `warmline sandbox down` first, or name another"):
        lifecycle.up([], print, layout.directory, with_pulumi=False, stack="dev")
    assert [part.is_running for part in lifecycle.status(layout.directory)] == [True]


def test_what_a_crash_left_is_cleared_away_and_never_through_a_link(layout: Layout, tmp_path: Path) -> None:
    lifecycle.down(print, layout.directory)
    begin(layout, print)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").touch()
    layout.etcd.symlink_to(elsewhere)
    layout.settings.write_text('{"mark": "cut sh')
    lifecycle.down(print, layout.directory)
    assert not layout.etcd.is_symlink()
    assert (elsewhere / "file").exists()
    assert not layout.settings.exists()


def test_down_where_nothing_ever_was(tmp_path: Path) -> None:
    lines: list[str] = []
    assert lifecycle.down(lines.append, tmp_path / "none") is False
    assert lines == ["the sandbox is not up"]
    assert not (tmp_path / "none").exists()


def test_a_record_that_was_cut_short_does_not_keep_down_from_working(layout: Layout) -> None:
    process = lifecycle.extra("sleeper", SLEEP, directory=layout.directory)
    (layout.directory / "processes.json").write_text('[{"name": "sl')
    lifecycle.down(lambda line: None, layout.directory)
    assert start_ticks(process.pid) is None


def test_a_started_process_is_awaited_until_it_carries_the_mark() -> None:
    """A spawned process is there before its environment is: `down` in that moment would have left it running."""
    for _ in range(40):
        pid = os.posix_spawn(SLEEP[0], SLEEP, {**os.environ, MARK: "any"})
        try:
            await_mark(pid, "any")
            assert is_marked(pid, "any")
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_a_process_that_is_gone_is_not_waited_for() -> None:
    ended = subprocess.Popen(["/bin/true"])
    ended.wait()
    await_mark(ended.pid, "any")


def test_what_a_shell_is_told(layout: Layout) -> None:
    variables = lifecycle.environment(layout.directory)
    assert variables["KUBECONFIG"] == str(layout.directory / "kubeconfig" / "admin")
    assert variables["PULUMI_BACKEND_URL"].startswith(f"file://{layout.directory}")
    assert variables["PULUMI_SKIP_UPDATE_CHECK"] == "1"
    assert variables["WARMLINE_PROMETHEUS_URL"] == prometheus.url(settings_of(layout))
    # With the mark in their shell, everything a user starts from it would be ended by `down`.
    assert MARK not in variables
    assert settings_of(layout).mark not in " ".join(variables.values())


def test_without_a_sandbox_a_shell_is_told_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="Run `warmline sandbox up` first"):
        lifecycle.environment(tmp_path)


def test_the_directory_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARMLINE_SANDBOX_DIR", str(tmp_path / "own"))
    assert lifecycle.bin_directory() == tmp_path / "own" / "bin"
    monkeypatch.delenv("WARMLINE_SANDBOX_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert lifecycle.bin_directory() == tmp_path / "state" / "warmline" / "sandbox" / "bin"


def test_ports_are_free_and_all_different() -> None:
    ports = new_settings(prometheus_port=free_ports(1)[0], scrape_interval_s=1).ports
    assert len(set(ports.values())) == len(ports)


def wait_until_gone(pid: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while start_ticks(pid) is not None:
        assert time.monotonic() < until
        reap(pid)
        time.sleep(0.01)
