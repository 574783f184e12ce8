"""Several stacks in one run: none is kept from it by another, and the exit code is the worst."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from cli.main import warmline
from cli.prescale.in_turn import worst
from prescale import sync as syncing
from prescale.api import cluster as clustering
from stacks import ownership
from stacks.reach import OutOfReach
from tests.cli.stack_folder import copied_stacks, edit
from tests.core.api_double import ApiDouble
from tests.core.cluster_double import scaled_object
from tests.core.test_warmth import pod

NAMES = ("local", "second", "third")


@pytest.fixture
def stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three stacks, each in a context of its own, their sale on since long ago."""
    root = copied_stacks(tmp_path)
    edit(root / "local" / "events.yaml", "2027-10-29 20:00", "2020-10-29 20:00")
    edit(root / "local" / "events.yaml", "2027-10-30 00:30", "2190-10-30 00:30")
    for name in NAMES[1:]:
        shutil.copytree(root / "local", root / name)
        edit(root / name / "platform.yaml", "context: warmline-sandbox", f"context: {name}")
    edit(root / "local" / "platform.yaml", "context: warmline-sandbox", "context: local")
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))
    monkeypatch.delenv("WARMLINE_STACK", raising=False)
    return root


@pytest.fixture
def clusters(stacks: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, ApiDouble]:
    """A cluster for each context, where seven pods are Ready; one taken out of the mapping is out of reach."""
    doubles = {name: ApiDouble(scaled_object(stack=name)) for name in NAMES}
    for name, double in doubles.items():
        double.pods = [pod(f"p{n}") for n in range(7)]
        for each in double.pods:
            each["metadata"]["labels"][ownership.STACK_LABEL] = name

    def of(context: str, namespace: str) -> clustering.Cluster:
        if context not in doubles:
            raise OutOfReach(f"https://{context}:6443", "no route to host", "Is it up?")
        return doubles[context].cluster()

    monkeypatch.setattr(clustering.Cluster, "of", of)
    monkeypatch.setattr(syncing, "IN_FORCE_WITHIN_S", 0.02)
    return doubles


def run(*arguments: str, names: tuple[str, ...] = NAMES) -> Result:
    chosen = itertools.chain.from_iterable(("-s", name) for name in names)
    result = CliRunner().invoke(warmline, ["prescale", *arguments, *chosen])
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_each_has_its_run_and_its_heading(clusters: dict[str, ApiDouble]) -> None:
    result = run("sync")
    assert result.exit_code == 0
    assert [double.minimum() for double in clusters.values()] == [7, 7, 7]
    lines = result.stdout.splitlines()
    assert [line for line in lines if line.startswith("Stack ")] == [f"Stack {name}" for name in NAMES]
    assert sum(line.startswith("support-bot: minReplicaCount 2 -> 7") for line in lines) == 3


def test_one_twice_has_one_run_and_no_heading(clusters: dict[str, ApiDouble]) -> None:
    result = run("sync", names=("local", "local"))
    assert result.stdout.startswith("support-bot: ")
    assert len(clusters["local"].patches) == 1


def test_the_variable_may_name_several(clusters: dict[str, ApiDouble], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARMLINE_STACK", "local third")
    assert run("sync", names=()).exit_code == 0
    assert [double.minimum() for double in clusters.values()] == [7, 2, 7]


def test_bad_input_and_an_unreachable_cluster_keep_no_other_from_its_run(
    clusters: dict[str, ApiDouble], stacks: Path
) -> None:
    edit(stacks / "local" / "events.yaml", "Asia/Kolkata", "IST")
    del clusters["second"]
    result = run("sync")
    assert result.exit_code == 2
    assert clusters["third"].minimum() == 7
    assert clusters["local"].requests == []
    said = result.stderr.splitlines()
    assert said[0].startswith(f"{stacks}/local/events.yaml:2: timezone: got IST"), "an editor finds the place"
    assert said[1].startswith("second: https://second:6443: out of reach: no route to host.")
    assert len(said) == 2


def test_as_data_each_has_its_entry(clusters: dict[str, ApiDouble]) -> None:
    del clusters["second"]
    result = run("sync", "-o", "json")
    assert result.exit_code == 3
    entries = json.loads(result.stdout)["runs"]
    assert [entry["stack"] for entry in entries] == list(NAMES)
    assert entries[1] == {
        "stack": "second",
        "errors": ["https://second:6443: out of reach: no route to host. Nothing was changed. Is it up?"],
    }
    (alone,) = (json.loads(run("sync", "-o", "json", names=(name,)).stdout) for name in ("third",))
    assert set(entries[2]) == set(alone), "an entry has the shape of the only one"


def test_status_of_several(clusters: dict[str, ApiDouble]) -> None:
    del clusters["third"]
    result = run("status")
    assert result.exit_code == 3, "out of reach is worse than not warm"
    assert result.stdout.count("support-bot: NOT warm") == 2
    assert [entry["stack"] for entry in yaml.safe_load(run("status", "-o", "yaml").stdout)["runs"]] == list(NAMES)


def test_a_finding_of_one_is_the_exit_code_of_all(clusters: dict[str, ApiDouble]) -> None:
    clusters["second"].keda_works = False
    assert run("sync").exit_code == 1


@given(st.lists(st.sampled_from([0, 1, 2, 3])))
def test_the_worst_is_one_of_them_whatever_their_order(codes: list[int]) -> None:
    found = worst(codes)
    assert found in {*codes, 0}
    assert found == worst(reversed(codes))
    assert (found == 0) == (set(codes) <= {0})
    assert worst([*codes, 2]) == 2
    assert worst([found, 1]) in {found, 1}
