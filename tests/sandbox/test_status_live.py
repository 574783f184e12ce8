"""`warmline prescale status` on the real API server: pods that become Ready and answer, and what it says before."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lightkube.codecs import from_dict
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Namespace

from sandbox import lifecycle
from sandbox.control_plane.kubeconfigs import client as client_for
from sandbox.control_plane.nodes import Node
from sandbox.layout import free_ports
from stacks import ownership
from tests.cli.stack_folder import copied_stacks
from tests.sandbox.test_sync_live import NAME, SPACE, Stage
from tests.sandbox.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.sandbox

REPOSITORY = Path(__file__).resolve().parents[2]
SETTINGS = """{"times": {"image_pull_s": 0.5, "weights_s": 0.5, "engine_start_s": 1},
  "small_image_pull_s": 0.05, "restart_backoff_s": 1}"""


def deployment() -> dict[str, Any]:
    labels = {ownership.STACK_LABEL: "local", ownership.SERVICE_LABEL: NAME}
    container = {
        "name": "engine",
        "image": "vllm/vllm-openai@sha256:ff",
        "args": ["--served-model-name", "support-8b"],
        "ports": [{"name": "http", "containerPort": 8000}],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
        "readinessProbe": {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": 1},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": SPACE},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


@pytest.fixture
def stage(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    cluster = tmp_path_factory.mktemp("sandbox")
    nodes = (Node("status-1", {"type": "kwok"}, gpus=8),)
    layout = lifecycle.up(nodes, print, cluster, prometheus_port=free_ports(1)[0], with_pulumi=False)
    (tmp_path / "settings.json").write_text(SETTINGS)
    argv = [sys.executable, "-m", "sandbox.kubelet", "--dir", str(tmp_path / "kubelet")]
    environment = {"KUBECONFIG": str(layout.kubeconfig)}
    with (tmp_path / "kubelet.log").open("wb") as log:
        argv += ["--settings", str(tmp_path / "settings.json")]
        kubelet = subprocess.Popen(argv, cwd=REPOSITORY, env=environment, stdout=log, stderr=log)
    try:
        api = client_for(layout.kubeconfig)
        api.create(Namespace(metadata=ObjectMeta(name=SPACE)))
        made = Stage(api, copied_stacks(tmp_path), layout.kubeconfig)
        made.environment["WARMLINE_PODS_VIA"] = "direct"
        made.calendar.write_text("timezone: UTC\nevents: []\n")
        yield made
    finally:
        kubelet.terminate()
        kubelet.wait(timeout=PATIENCE_S)
        lifecycle.down(print, cluster)


def status(stage: Stage) -> tuple[int, dict[str, Any]]:
    run = stage.start("status", "-o", "json")
    text = run.communicate(timeout=PATIENCE_S)[0]
    return run.returncode, json.loads(text)["services"][0]


def warm(stage: Stage) -> dict[str, Any] | None:
    code, service = status(stage)
    assert code == (0 if service["warm"] else 1)
    return service if service["warm"] else None


def test_not_warm_then_warm_then_raised(stage: Stage) -> None:
    code, service = status(stage)
    assert (code, service["missing"]) == (1, ["no ScaledObject", "0 of 2 Ready"])

    stage.api.create(from_dict(deployment()))
    stage.build()
    baseline = eventually(lambda: warm(stage))
    assert (baseline["floor"], baseline["hpa_min_replicas"], baseline["answering"]) == (2, 2, baseline["ready"])

    stage.event(since_min=5)
    code, service = status(stage)
    assert (code, service["event"], service["floor"]) == (1, "sale", 7)
    assert "HPA minReplicas is 2 of 7" in service["missing"]
    assert service["late_s"] > 0, "T0 was five minutes ago"

    (finding,) = stage.sync(code=1)["findings"]
    assert " min late for " in finding
    raised = eventually(lambda: warm(stage))
    assert (raised["floor"], raised["hpa_min_replicas"], raised["answering"]) == (7, 7, 7)
    assert stage.sync()["findings"] == []
