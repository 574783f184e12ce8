"""The loader's script, run by a real shell with a stand-in for the AWS CLI."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from infra.weights import FETCH, disk_paths
from stacks.spec import Service
from tests.components.specs import platform, service_data

AWS = """#!/bin/sh
echo fetch >> "$LOG"
[ -z "${SLOW:-}" ] || sleep "$SLOW"
for last; do :; done
[ -z "${FAIL:-}" ] || { echo half > "$last/a.safetensors.x1"; exit 1; }
[ -n "${EMPTY:-}" ] || echo weights > "$last/a.safetensors"
"""


@pytest.fixture
def node(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    (tmp_path / "weights").mkdir()
    aws = tmp_path / "bin" / "aws"
    aws.write_text(AWS, encoding="utf-8")
    aws.chmod(0o755)
    return tmp_path


def _start(node: Path, **settings: str) -> subprocess.Popen[str]:
    environment = {
        "PATH": f"{node / 'bin'}:{os.environ['PATH']}",
        "LOG": str(node / "log"),
        "SOURCE": "s3://weights/a",
        "TARGET": str(node / "weights" / "1"),
        "CACHE": str(node / "cache"),
    }
    command = ["/bin/sh", "-c", FETCH]
    return subprocess.Popen(command, env=environment | settings, text=True, stderr=subprocess.PIPE)


def _run(node: Path, **settings: str) -> int:
    process = _start(node, **settings)
    process.communicate(timeout=20)
    return process.returncode


def _fetches(node: Path) -> int:
    return len((node / "log").read_text(encoding="utf-8").splitlines())


def test_fetches_once_and_then_never_again(node: Path) -> None:
    assert _run(node) == 0
    assert _run(node) == 0
    assert _fetches(node) == 1
    assert [path.name for path in (node / "weights" / "1").iterdir()] == ["a.safetensors"]


def test_the_engine_may_write_its_cache_and_not_the_weights(node: Path) -> None:
    assert _run(node) == 0
    assert (node / "cache").stat().st_mode & 0o777 == 0o777
    assert (node / "weights" / "1").stat().st_mode & 0o022 == 0


def test_a_fetch_that_fails_leaves_nothing_that_looks_whole(node: Path) -> None:
    assert _run(node, FAIL="1") != 0
    assert not (node / "weights" / "1").exists()
    assert _run(node) == 0
    assert (node / "weights" / "1" / "a.safetensors").exists()


def test_an_empty_source_is_no_weights(node: Path) -> None:
    assert _run(node, EMPTY="1") != 0
    assert not (node / "weights" / "1").exists()


def test_two_pods_of_one_node_fetch_once(node: Path) -> None:
    both = [_start(node, SLOW="0.5") for _ in range(2)]
    for process in both:
        process.communicate(timeout=20)
        assert process.returncode == 0
    assert _fetches(node) == 1


def test_other_sources_and_engines_have_folders_of_their_own() -> None:
    pool = platform().node_pools["l40s"]
    base = Service.model_validate(service_data())
    model = service_data()["model"]
    engine = service_data()["engine"]
    elsewhere = Service.model_validate(service_data(model=model | {"source": "s3://other/support-8b"}))
    newer = Service.model_validate(service_data(engine=engine | {"version": "0.34.0"}))
    assert disk_paths(base, pool).model_dir != disk_paths(elsewhere, pool).model_dir
    assert disk_paths(base, pool).model_dir == disk_paths(newer, pool).model_dir
    assert disk_paths(base, pool).cache_dir != disk_paths(newer, pool).cache_dir
