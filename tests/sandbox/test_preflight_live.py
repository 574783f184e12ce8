"""`warmline prescale preflight` on what `pulumi up` made of stack local: clean, and not once something is bent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from lightkube import Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.core_v1 import ResourceQuotaSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Node, Pod, ResourceQuota
from lightkube.types import PatchType
from whenever import Instant

from sandbox import for_stack, lifecycle
from sandbox.control_plane.kubeconfigs import client as client_for
from sandbox.layout import free_ports
from sandbox.places import REPOSITORY
from sandbox.sale.commands import Commands
from sandbox.sale.demo import environment_of, pulumi_up
from sandbox.sale.rehearsal import rehearse
from stacks import ownership
from stacks.loader import load_calendar_spec, load_stack
from tests.sandbox.waiting import eventually

pytestmark = pytest.mark.sandbox

ScaledObject = create_namespaced_resource("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects")
FACTOR = 60
NAME, SPACE = "support-bot", "serving"


@dataclass
class Stage:
    """A sandbox with the rehearsed stack built on it, and its sale a day ahead."""

    commands: Commands
    api: Client

    def preflight(self) -> dict[str, Any]:
        ran = self.commands.warmline("prescale", "preflight", "-s", "local", "--strict", "-o", "json")
        assert ran.exit_code in {0, 1}, ran.stdout + ran.stderr
        data: dict[str, Any] = json.loads(ran.stdout)
        assert ran.exit_code == (1 if data["findings"] or data["not_checked"] else 0)
        return data

    def is_clean(self) -> bool:
        data = self.preflight()
        return not data["findings"] and not data["not_checked"]

    def found(self) -> set[tuple[str, str]]:
        return {(one["check"], one["what"]) for one in self.preflight()["findings"]}

    def annotate(self, value: str | None) -> None:
        patch = {"metadata": {"annotations": {ownership.PAUSED: value}}}
        self.api.patch(ScaledObject, NAME, patch, namespace=SPACE, patch_type=PatchType.MERGE)

    def cordon(self, name: str, *, on: bool) -> None:
        self.api.patch(Node, name, {"spec": {"unschedulable": on or None}}, patch_type=PatchType.MERGE)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("stack")
    directory = folder / "sandbox"
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    rehearsal = rehearse(load_stack("local"), load_calendar_spec("local"), folder / "stacks", FACTOR, url)
    try:
        layout = for_stack.up("local", rehearsal.platform, print, directory, time_scale=FACTOR)
        commands = Commands(REPOSITORY, environment_of(rehearsal, directory))
        commands.must("pulumi up", pulumi_up(commands))
        rehearsal.schedule(Instant.now().add(hours=24), Instant.now().add(hours=28))
        made = Stage(commands, client_for(layout.kubeconfig))
        # Until both replicas are Ready, KEDA has read the metric, and the image is on all nodes.
        eventually(made.is_clean)
        yield made
    finally:
        lifecycle.down(print, directory)


def test_what_pulumi_up_made_is_clean(stage: Stage) -> None:
    data = stage.preflight()
    assert (data["findings"], data["not_checked"]) == ([], [])
    (moment,) = data["moments"]
    assert (moment["events"], moment["floors"]) == (["diwali-sale"], {NAME: 7})


def test_a_quota_that_is_too_small(stage: Stage) -> None:
    spec = ResourceQuotaSpec(hard={"requests.nvidia.com/gpu": "6"})
    stage.api.create(ResourceQuota(metadata=ObjectMeta(name="team", namespace=SPACE), spec=spec))
    try:
        # Until the controller has counted what is there.
        eventually(lambda: any("of which 2 are used" in one["got"] for one in stage.preflight()["findings"]))
        (found,) = stage.preflight()["findings"]
        assert (found["check"], found["what"]) == ("quota", "ResourceQuota team")
        assert found["got"] == "requests.nvidia.com/gpu: 6, of which 2 are used"
    finally:
        stage.api.delete(ResourceQuota, "team", namespace=SPACE)
    eventually(stage.is_clean)


def test_a_pause(stage: Stage) -> None:
    stage.annotate("true")
    try:
        paused = {("scaled-object", "annotations of the ScaledObject")}
        eventually(lambda: stage.found() == paused)
    finally:
        stage.annotate(None)
    eventually(stage.is_clean)


def test_cordoned_nodes(stage: Stage) -> None:
    """First one under a replica; then all but six that are free or ours."""
    pods = stage.api.list(Pod, namespace=SPACE, labels={ownership.SERVICE_LABEL: NAME})
    ours = {pod.spec.nodeName for pod in pods if pod.spec and pod.spec.nodeName}
    others = sorted({node.metadata.name for node in stage.api.list(Node) if node.metadata} - ours)  # type: ignore[type-var]
    (one, *_) = sorted(str(name) for name in ours)
    stage.cordon(one, on=True)
    assert stage.found() == {("nodes", f"cordoned nodes {one}")}
    stage.cordon(one, on=False)
    closed = [str(name) for name in others[: len(others) - 4]]
    for name in closed:
        stage.cordon(name, on=True)
    try:
        (found,) = stage.preflight()["findings"]
        assert (found["check"], found["service"]) == ("nodes", NAME)
        assert found["got"].startswith("room for 6 of 7 replicas")
        assert f"{len(closed)} x cordoned" in found["got"]
    finally:
        for name in closed:
            stage.cordon(name, on=False)
    eventually(stage.is_clean)
