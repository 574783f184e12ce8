"""Starts on the real API server: what their pods tell against what the kubelet double did, by its own Events."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lightkube.codecs import from_dict
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap, Event, Namespace, Pod

from prescale.lead_time.history import parse_data
from prescale.lead_time.start import Start
from sandbox import lifecycle
from sandbox.control_plane.kubeconfigs import client as client_for
from sandbox.control_plane.nodes import Node
from sandbox.layout import free_ports
from stacks import ownership
from stacks.node_contract import pool_labels
from tests.cli.stack_folder import copied_stacks
from tests.core.start_cases import POOL, SERVICE, spec
from tests.sandbox.test_sync_live import NAME, SPACE, Stage
from tests.sandbox.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.sandbox

REPOSITORY = Path(__file__).resolve().parents[2]
PULL_S, WEIGHTS_S, ENGINE_S = 4, 3, 6
TOLERANCE_S = 2
"""Between two looks at one moment: both times of a phase are kept to the second."""


def deployment() -> dict[str, Any]:
    """What `infra` makes of stack local, with probes that do not wait long."""
    labels = {ownership.STACK_LABEL: "local", ownership.SERVICE_LABEL: NAME}
    pods = spec()
    probe = {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": 1, "failureThreshold": 60}
    pods["containers"][0] |= {"startupProbe": probe, "readinessProbe": probe}
    pods["containers"][0]["args"].append(f"--served-model-name={SERVICE.model.name}")
    template = {"metadata": {"labels": labels}, "spec": pods}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": SPACE},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


@pytest.fixture
def stage(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    cluster = tmp_path_factory.mktemp("sandbox")
    labels = {"type": "kwok", **pool_labels(SERVICE.node_pool)}
    labels["node.kubernetes.io/instance-type"] = POOL.instance_types[0]
    nodes = (Node("starts-1", labels, gpus=8),)
    layout = lifecycle.up(nodes, print, cluster, prometheus_port=free_ports(1)[0], with_pulumi=False)
    times = {"image_pull_s": PULL_S, "weights_s": WEIGHTS_S, "engine_start_s": ENGINE_S}
    (tmp_path / "settings.json").write_text(json.dumps({"times": times, "small_image_pull_s": 0.05}))
    argv = [sys.executable, "-m", "sandbox.kubelet", "--dir", str(tmp_path / "kubelet")]
    argv += ["--settings", str(tmp_path / "settings.json")]
    with (tmp_path / "kubelet.log").open("wb") as log:
        kubelet = subprocess.Popen(
            argv, cwd=REPOSITORY, env={"KUBECONFIG": str(layout.kubeconfig)}, stdout=log, stderr=log
        )
    try:
        api = client_for(layout.kubeconfig)
        api.create(Namespace(metadata=ObjectMeta(name=SPACE)))
        made = Stage(api, copied_stacks(tmp_path), layout.kubeconfig)
        made.environment["WARMLINE_PODS_VIA"] = "direct"
        api.create(from_dict(deployment()))
        made.build()
        yield made
    finally:
        kubelet.terminate()
        kubelet.wait(timeout=PATIENCE_S)
        lifecycle.down(print, cluster)


# Reason of the kubelet's Event, and words of it.
STEPS = {
    "loading": ("Started", "container weights"),
    "loaded": ("WeightsLoaded", ""),
    "image_there": ("Pulled", str(SERVICE.engine.image)),
}


def kept(stage: Stage) -> tuple[Start, ...]:
    data = stage.api.get(ConfigMap, "warmline-starts-local", namespace=SPACE).data or {}
    return parse_data(data).starts[NAME]


@dataclass(frozen=True)
class Course:
    """Moments of one start, Unix seconds: of the pod's object, and in between by the kubelet's Events."""

    created: float
    scheduled: float
    loading: float
    loaded: float
    image_there: float
    ready: float


def courses(stage: Stage) -> dict[str, Course]:
    """Of each pod that is Ready and of which all Events are there, by the part of its name that a start keeps."""
    said = {
        (event.involvedObject.name, step): event.firstTimestamp.timestamp()
        for event in stage.api.list(Event, namespace=SPACE)
        if event.firstTimestamp
        for step, (reason, words) in STEPS.items()
        if event.reason == reason and words in (event.message or "")
    }
    found = {}
    for pod in stage.api.list(Pod, namespace=SPACE):
        metadata, status = pod.metadata, pod.status
        assert metadata
        assert status
        since = {one.type: one.lastTransitionTime for one in status.conditions or [] if one.status == "True"}
        scheduled, ready, name = since.get("PodScheduled"), since.get("Ready"), metadata.name or ""
        steps = {step: said[name, step] for step in STEPS if (name, step) in said}
        if metadata.creationTimestamp and scheduled and ready and steps.keys() == STEPS.keys():
            outer = (metadata.creationTimestamp.timestamp(), scheduled.timestamp())
            found[name.rpartition("-")[2]] = Course(*outer, **steps, ready=ready.timestamp())
    return found


def test_the_pods_tell_what_the_kubelet_took(stage: Stage) -> None:
    stage.start("sync").communicate(timeout=PATIENCE_S)
    watching = stage.start("watch", "--until-warm", "--timeout", f"{PATIENCE_S:.0f}s")
    text = watching.communicate(timeout=2 * PATIENCE_S)[0]
    assert watching.returncode == 0, text
    assert "starting" in text, "a line for each change"

    eventually(lambda: len(kept(stage)) == 7)
    starts = kept(stage)
    seen = eventually(lambda: found if len(found := courses(stage)) == 7 else None)
    for start in starts:
        phases, course = start.phases, seen[start.pod]
        assert None not in phases.in_order, start
        # Never less than the kubelet was told to take, and no more than it took: a busy machine takes longer.
        loads_s = course.loaded - course.loading
        assert (phases.weights_s or 0) >= WEIGHTS_S - 1
        assert phases.weights_s == pytest.approx(loads_s, abs=TOLERANCE_S)
        assert phases.image_s == pytest.approx(course.image_there - course.scheduled - loads_s, abs=TOLERANCE_S)
        assert (phases.engine_start_s or 0) >= ENGINE_S - 1
        assert phases.engine_start_s == pytest.approx(course.ready - course.image_there, abs=TOLERANCE_S)
        assert phases.ready_s == 0
        assert sum(one or 0 for one in phases.in_order) == start.total_s == course.ready - course.created
    assert max(start.phases.image_s or 0 for start in starts) >= PULL_S - 1, "one pull for the node"

    shown = json.loads(stage.start("status", "-o", "json").communicate(timeout=PATIENCE_S)[0])["lead_times"][NAME]
    assert shown["measured"]["starts"] == 7
    assert shown["measured"]["p95_s"] == max(start.total_s for start in starts), "of fewer than 20 the largest"


def test_sync_alone_says_how_late_it_is_and_learns_from_it(stage: Stage) -> None:
    """Nobody runs `status` or `watch`: a run every few seconds, as from cron."""
    stage.event(since_min=5)
    (finding,) = stage.sync(code=1)["findings"]
    assert " min late for " in finding
    eventually(lambda: stage.start("sync").wait(timeout=PATIENCE_S) == 0)
    assert json.loads(stage.annotations()[ownership.FLOOR_ANNOTATION])["warm"] == 7
    starts = kept(stage)
    assert len(starts) == 7
    assert all(start.phases.weights_s for start in starts)
    version = stage.api.get(ConfigMap, "warmline-starts-local", namespace=SPACE).metadata
    stage.sync()
    assert stage.api.get(ConfigMap, "warmline-starts-local", namespace=SPACE).metadata == version
