"""`warmline prescale sync` on a real API server with a real KEDA: what the HPA and the Deployment make of it."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from lightkube import ApiError, Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.autoscaling_v2 import HorizontalPodAutoscaler
from lightkube.resources.core_v1 import Namespace, Pod
from lightkube.types import PatchType
from whenever import Instant

from prescale.sync import IN_FORCE_WITHIN_S
from sandbox import lifecycle
from sandbox.control_plane.kubeconfigs import client as client_for
from sandbox.layout import Layout, free_ports
from stacks import ownership
from tests.cli.stack_folder import copied_stacks
from tests.sandbox.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.sandbox

ScaledObject = create_namespaced_resource("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects")
NAME, HPA, SPACE = "support-bot", "keda-hpa-support-bot", "serving"


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    directory = tmp_path_factory.mktemp("sandbox")
    yield lifecycle.up((), print, directory, prometheus_port=free_ports(1)[0], with_pulumi=False)
    lifecycle.down(print, directory)


@pytest.fixture(scope="module")
def api(layout: Layout) -> Client:
    client = client_for(layout.kubeconfig)
    client.create(Namespace(metadata=ObjectMeta(name=SPACE)))
    return client


class Stage:
    """One service on the cluster, and a calendar whose sale is raised: it begins in a quarter of an hour.

    The local stack's starts take five minutes, so whatever is not Ready yet is no finding before ten minutes have gone.
    """

    def __init__(self, api: Client, stacks: Path, kubeconfig: Path) -> None:
        self.api = api
        self.calendar = stacks / "local" / "events.yaml"
        # pytest-randomly and coverage leave nothing here that a run would read.
        self.environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "WARMLINE_STACKS_DIR": str(stacks)}
        self.event()

    def build(self, minimum: int = 2, maximum: int = 16) -> None:
        """Apply the object as Pulumi does, server-side."""
        trigger = {
            "serverAddress": "http://127.0.0.1:1",
            "query": "none",
            "threshold": "40",
            "ignoreNullValues": "false",
        }
        applied = ScaledObject(
            metadata=ObjectMeta(
                name=NAME,
                namespace=SPACE,
                labels={ownership.STACK_LABEL: "local", ownership.SERVICE_LABEL: NAME},
                annotations={ownership.BASELINE_ANNOTATION: str(minimum)},
            ),
            spec={
                "scaleTargetRef": {"name": NAME},
                "minReplicaCount": minimum,
                "maxReplicaCount": maximum,
                "pollingInterval": 1,
                "triggers": [{"type": "prometheus", "metadata": trigger}],
            },
        )
        self.api.apply(applied, field_manager="pulumi-kubernetes-1", force=True)

    def event(self, *, cancelled: bool = False, rps: str = "26.7", since_min: float = -15) -> None:
        """Write the calendar; the sale began `since_min` minutes ago, or is to begin."""
        start, end = Instant.now().subtract(minutes=since_min), Instant.now().add(hours=2)
        times = [moment.to_tz("UTC").to_plain().round("second").format_iso() for moment in (start, end)]
        self.calendar.write_text(
            f"timezone: UTC\nready_margin_s: 1500\nevents:\n  - name: sale\n"
            f"    start: {times[0]}\n    end: {times[1]}\n"
            f"    cancelled: {str(cancelled).lower()}\n"
            f"    services:\n      support-bot: {{rps: {rps}, request_duration_s: 7.8}}\n"
        )

    def start(self, *options: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-c", "from cli.main import main; main()", "prescale", *options, "-s", "local"]
        return subprocess.Popen(argv, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def sync(self, code: int = 0) -> dict[str, Any]:
        process = self.start("sync", "-o", "json")
        text = process.communicate(timeout=PATIENCE_S)[0]
        assert process.returncode == code, text
        service: dict[str, Any] = json.loads(text)["services"][0]
        return service

    def person(self, minimum: int) -> None:
        patch = {"spec": {"minReplicaCount": minimum}}
        self.api.patch(
            ScaledObject, NAME, patch, namespace=SPACE, patch_type=PatchType.MERGE, field_manager="kubectl-patch"
        )

    def minimum(self) -> int:
        found: int = self.api.get(ScaledObject, NAME, namespace=SPACE)["spec"]["minReplicaCount"]
        return found

    def annotations(self) -> dict[str, str]:
        found: dict[str, str] = self.api.get(ScaledObject, NAME, namespace=SPACE)["metadata"]["annotations"]
        return found

    def in_force(self) -> int | None:
        try:
            hpa = self.api.get(HorizontalPodAutoscaler, HPA, namespace=SPACE)
        except ApiError as error:
            if error.status.code == 404:
                return None
            raise
        return hpa.spec.minReplicas if hpa.spec else None

    def pods(self) -> list[str]:
        return sorted(pod.metadata.name or "" for pod in self.api.list(Pod, namespace=SPACE) if pod.metadata)

    def make_ready(self, count: int, ready: str = "True") -> None:
        """So many pods are Ready, or no longer, as a kubelet would say it."""
        status = {"podIP": "127.0.0.1", "conditions": [{"type": "Ready", "status": ready}]}
        for name in self.pods()[:count]:
            self.api.patch(Pod.Status, name, {"status": status}, namespace=SPACE)

    def replicas(self) -> int:
        spec = self.api.get(Deployment, NAME, namespace=SPACE).spec
        return (spec.replicas if spec else 0) or 0


@pytest.fixture
def stage(api: Client, layout: Layout, tmp_path: Path) -> Iterator[Stage]:
    labels = {"app": NAME}
    container = {"name": "engine", "image": "none"}
    ours = {ownership.STACK_LABEL: "local", ownership.SERVICE_LABEL: NAME}
    pods = {"metadata": {"labels": {**labels, **ours}}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": labels}, "template": pods}
    api.create(cast("Deployment", Deployment.from_dict({"metadata": {"name": NAME, "namespace": SPACE}, "spec": spec})))
    made = Stage(api, copied_stacks(tmp_path), layout.kubeconfig)
    made.build()
    eventually(lambda: made.in_force() == 2)
    yield made
    api.delete(ScaledObject, NAME, namespace=SPACE)
    api.delete(Deployment, NAME, namespace=SPACE)
    # A new kind is collected only from the controller manager's next look at them on, up to 30 s later.
    eventually(lambda: made.in_force() is None and not _is_there(api) and not made.pods())


def _is_there(api: Client) -> bool:
    return any(item["metadata"]["name"] == NAME for item in api.list(ScaledObject, namespace=SPACE))


def test_in_force_on_the_hpa_before_the_run_gives_up_on_it_and_on_the_deployment_after(stage: Stage) -> None:
    service = stage.sync()
    assert (service["was"], service["target"], stage.in_force()) == (2, 7, 7)
    assert 0 <= service["in_force_s"] <= IN_FORCE_WITHIN_S
    eventually(lambda: stage.replicas() == 7)


def late(service: dict[str, Any]) -> str:
    """The one finding: that the sale is late."""
    (finding,) = service["findings"]
    found: str = finding
    assert re.match(r"sale: ready about (\d{4}-\d\d-\d\d )?\d\d:\d\d, \d+ min late for \d\d:\d\d UTC: ", found), found
    return found


def test_one_that_is_on_is_raised_and_said_to_be_late_until_it_is_ready(stage: Stage) -> None:
    """Nothing becomes Ready here by itself: the pods have no node. The test is their kubelet."""
    stage.event(since_min=5.5)
    assert ", 10 min late for " in late(stage.sync(code=1))
    assert (stage.minimum(), stage.in_force()) == (7, 7)
    eventually(lambda: len(stage.pods()) == 7)
    stage.make_ready(6)
    assert "6 of 7 Ready" in late(stage.sync(code=1))
    stage.make_ready(7)
    before = stage.annotations()[ownership.FLOOR_ANNOTATION]
    assert stage.sync()["patch"] is None
    assert json.loads(stage.annotations()[ownership.FLOOR_ANNOTATION]) == {**json.loads(before), "warm": 7}
    stage.make_ready(7, ready="False")
    assert stage.sync()["findings"] == [], "it was in time, or late, once"


def test_the_baseline_needs_no_start(stage: Stage) -> None:
    stage.event(since_min=5, rps="5")
    assert stage.sync()["target"] == 2


def test_let_go_when_it_is_cancelled(stage: Stage) -> None:
    stage.sync()
    stage.event(cancelled=True)
    assert stage.sync()["target"] == 2
    assert ownership.FLOOR_ANNOTATION not in stage.annotations()
    eventually(lambda: stage.in_force() == 2)


def test_twice_is_once(stage: Stage) -> None:
    stage.sync()
    before = stage.api.get(ScaledObject, NAME, namespace=SPACE)["metadata"]["resourceVersion"]
    again = stage.sync()
    assert (again["patch"], again["findings"]) == (None, [])
    assert stage.minimum() == 7
    assert stage.api.get(ScaledObject, NAME, namespace=SPACE)["metadata"]["generation"] == 2, before


def test_four_at_once_end_as_one(stage: Stage) -> None:
    runs = [stage.start("sync", "-o", "json") for _ in range(4)]
    outputs = [run.communicate(timeout=PATIENCE_S)[0] for run in runs]
    assert [run.returncode for run in runs] == [0] * 4, outputs
    assert stage.minimum() == 7
    assert sum(json.loads(text)["services"][0]["patched"] for text in outputs) == 1


def test_killed_anywhere_the_next_run_is_right(stage: Stage) -> None:
    dice = random.Random(7)  # noqa: S311 - where to kill, the same each time
    for cancelled, floor in ((False, 7), (True, 2), (False, 7)):
        stage.event(cancelled=cancelled)
        for _ in range(3):
            run = stage.start("sync")
            time.sleep(dice.uniform(0.1, 1.2))
            run.send_signal(signal.SIGKILL)
            run.communicate()
        stage.sync()
        assert stage.minimum() == floor
        assert stage.annotations()[ownership.BASELINE_ANNOTATION] == "2"


def from_no_replicas(stage: Stage, minimum: int) -> None:
    """As a pause leaves it: no replicas, and KEDA, which cannot read the metric, does not bring any up."""
    stage.api.delete(ScaledObject, NAME, namespace=SPACE)
    eventually(lambda: stage.in_force() is None)  # see `stage`: the first one is collected late
    stage.api.patch(Deployment, NAME, {"spec": {"replicas": 0}}, namespace=SPACE)
    stage.build(minimum=minimum)
    eventually(lambda: stage.in_force() == max(minimum, 1))
    time.sleep(3)
    assert stage.replicas() == 0


@pytest.mark.parametrize("minimum", [0, 2])
def test_a_floor_from_no_replicas_and_no_metric_series(stage: Stage, minimum: int) -> None:
    from_no_replicas(stage, minimum)
    stage.sync()
    assert stage.annotations()[ownership.FORCE_ACTIVATION] == "true"
    eventually(lambda: stage.replicas() == 7)
    stage.event(cancelled=True)
    stage.sync()
    assert stage.minimum() == minimum
    # KEDA may say for some seconds more that nothing runs.
    eventually(lambda: stage.sync() and ownership.FORCE_ACTIVATION not in stage.annotations())


def test_a_baseline_from_no_replicas_and_no_metric_series(stage: Stage) -> None:
    stage.event(cancelled=True)
    from_no_replicas(stage, 2)
    eventually(lambda: any("at 0 replicas" in note for note in stage.sync()["notes"]))
    eventually(lambda: stage.replicas() == 2)
    eventually(lambda: stage.sync()["patch"] and ownership.FORCE_ACTIVATION not in stage.annotations())
    assert stage.replicas() == 2


def test_a_persons_higher_value_is_kept_and_said(stage: Stage) -> None:
    stage.sync()
    stage.person(9)
    service = stage.sync()
    assert (stage.minimum(), service["target"]) == (9, 9)
    assert "a person's 9 is kept" in service["notes"][0]


def test_a_persons_lower_value_is_raised_again(stage: Stage) -> None:
    stage.sync()
    stage.person(3)
    assert "somebody lowered 7 to 3" in stage.sync()["notes"][0]
    assert stage.minimum() == 7


def test_the_builders_new_baseline_takes_effect_and_the_floor_stays(stage: Stage) -> None:
    stage.event(cancelled=True)
    for baseline in (3, 2):
        applied = {"metadata": {"annotations": {ownership.BASELINE_ANNOTATION: str(baseline)}}}
        stage.api.patch(
            ScaledObject,
            NAME,
            applied,
            namespace=SPACE,
            patch_type=PatchType.MERGE,
            field_manager="pulumi-kubernetes-1",
        )
        stage.sync()
        assert stage.minimum() == baseline


def test_a_ceiling_below_the_floor_is_refused(stage: Stage) -> None:
    stage.build(maximum=5)
    run = stage.start("sync")
    text = run.communicate(timeout=PATIENCE_S)[0]
    assert (run.returncode, stage.minimum()) == (1, 2)
    assert "a floor of 7 was refused, it is above the live ceiling of 5" in text


def test_too_slow_a_floor_is_a_finding(stage: Stage) -> None:
    """A paused object has no HPA: the floor is written down and not in force."""
    patch = {"metadata": {"annotations": {ownership.PAUSED: "true"}}}
    stage.api.patch(ScaledObject, NAME, patch, namespace=SPACE, patch_type=PatchType.MERGE)
    run = stage.start("sync")
    text = run.communicate(timeout=PATIENCE_S)[0]
    assert run.returncode == 1
    assert "KEDA is paused" in text
