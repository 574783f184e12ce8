"""Kubelet double, engine doubles and balancer on the real API server: a wrong manifest shows."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from lightkube import Client
from lightkube.codecs import from_dict
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Event, Pod, Service

from sandbox import lifecycle
from sandbox.control_plane.kubeconfigs import client as client_for
from sandbox.control_plane.nodes import Node
from sandbox.layout import free_ports
from sandbox.load import LoadRun
from sandbox.load.play import play, target_from
from sandbox.load.schedule import phases_from
from tests.sandbox.addresses import own_network
from tests.sandbox.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.sandbox

NODES = tuple(Node(f"kubelet-{n}", gpus=8, pod_cidr=f"{own_network(n)}.0/24") for n in (0, 1))
REPOSITORY = Path(__file__).resolve().parents[2]
SETTINGS = """{"times": {"image_pull_s": 0.5, "weights_s": 0.3, "engine_start_s": 0.5,
  "engine": {"ttft_base_s": 0.05, "prefill_s_per_token": 0, "tpot_s": 0.01, "chunk_interval_s": 0.05}},
  "small_image_pull_s": 0.05, "restart_backoff_s": 1}"""
PROPAGATION_S = 0.5
PROBE = {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": 1}


@dataclass
class Stage:
    """The cluster with its doubles."""

    api: Client
    kubeconfig: Path
    directory: Path
    balancer_port: int
    kubelet: subprocess.Popen[bytes]

    def start_kubelet(self) -> None:
        self.kubelet = self._start("kubelet", "--dir", str(self.directory / "kubelet"), "--settings", self._settings())

    def _settings(self) -> str:
        file = self.directory / "settings.json"
        file.write_text(SETTINGS)
        return str(file)

    def _start(self, module: str, *options: str) -> subprocess.Popen[bytes]:
        log = (self.directory / f"{module}.log").open("ab")
        argv = [sys.executable, "-m", f"sandbox.{module}", *options]
        return subprocess.Popen(argv, cwd=REPOSITORY, env={"KUBECONFIG": str(self.kubeconfig)}, stdout=log, stderr=log)

    def start_balancer(self) -> subprocess.Popen[bytes]:
        ports = ("--port", str(self.balancer_port), "--admin-port", str(free_ports(1)[0]))
        options = ("--dir", str(self.directory / "balancer"), "--propagation-s", str(PROPAGATION_S))
        return self._start("balancer", *ports, *options)

    def pods(self, name: str) -> list[Pod]:
        return list(self.api.list(Pod, namespace="default", labels={"app": name}))

    def ready_pods(self, name: str, count: int) -> list[Pod] | None:
        ready = [pod for pod in self.pods(name) if condition(pod, "Ready") == "True" and not is_deleted(pod)]
        return ready if len(ready) == count else None

    async def load(self, name: str, seconds: float, rps: float, output_tokens: int) -> LoadRun:
        url = f"http://127.0.0.1:{self.balancer_port}/default/{name}"
        target = target_from(url, name)
        target = type(target)(
            target.host,
            target.port,
            target.path,
            target.host_header,
            name,
            prompt_tokens=1,
            output_tokens=output_tokens,
        )
        return await play(phases_from([(seconds, rps)]), target, None, seed=1)


def condition(pod: Pod, kind: str) -> str:
    found = (pod.status.conditions if pod.status else None) or []
    return next((item.status for item in found if item.type == kind), "Unknown")


def is_running(pod: Pod) -> bool:
    return pod.status is not None and pod.status.phase == "Running" and not is_deleted(pod)


def is_deleted(pod: Pod) -> bool:
    return pod.metadata is not None and pod.metadata.deletionTimestamp is not None


def restarts(pod: Pod) -> int:
    return sum(item.restartCount for item in (pod.status.containerStatuses if pod.status else None) or [])


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    directory = tmp_path_factory.mktemp("doubles")
    cluster = tmp_path_factory.mktemp("sandbox")
    layout = lifecycle.up(NODES, print, cluster, prometheus_port=free_ports(1)[0], with_pulumi=False)
    api = client_for(layout.kubeconfig)
    staged = Stage(api, layout.kubeconfig, directory, free_ports(1)[0], cast("subprocess.Popen[bytes]", None))
    staged.start_kubelet()
    balancer = staged.start_balancer()
    try:
        yield staged
    finally:
        for process in (staged.kubelet, balancer):
            process.terminate()
            process.wait(timeout=PATIENCE_S)
        lifecycle.down(print, cluster)


@pytest.fixture
def service(stage: Stage) -> Iterator[Callable[..., str]]:
    """Makes a Deployment with its Service; keywords replace fields of the pod's or the engine's spec."""
    made: list[str] = []

    def make(name: str, replicas: int = 1, *, grace_s: int = 20, **engine: Any) -> str:
        container = {
            "name": "engine",
            "image": "vllm/vllm-openai@sha256:ff",
            "args": ["--served-model-name", name, "--shutdown-timeout", "10"],
            "ports": [{"name": "http", "containerPort": 8000}],
            "resources": {"limits": {"nvidia.com/gpu": "1"}},
            "readinessProbe": PROBE,
            # Eight times what the balancer takes to hear of it: that may take longer, too.
            "lifecycle": {"preStop": {"sleep": {"seconds": 4}}},
            **engine,
        }
        template = {
            "metadata": {"labels": {"app": name}},
            "spec": {"terminationGracePeriodSeconds": grace_s, "containers": [container]},
        }
        selector = {"app": name}
        meta = {"name": name, "namespace": "default"}
        spec = {"replicas": replicas, "selector": {"matchLabels": selector}, "template": template}
        stage.api.create(from_dict({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}))
        ports = [{"name": "http", "port": 80, "targetPort": "http"}]
        stage.api.create(
            from_dict(
                {
                    "apiVersion": "v1",
                    "kind": "Service",
                    "metadata": meta,
                    "spec": {"selector": selector, "ports": ports},
                }
            )
        )
        made.append(name)
        return name

    yield make
    for name in made:
        stage.api.delete(Service, name, namespace="default")
        stage.api.delete(Deployment, name, namespace="default")


def answers(stage: Stage, name: str) -> bool:
    """Whether a few short requests through the balancer all succeed."""
    played = asyncio.run(stage.load(name, 0.5, 8, 5))
    return bool(played.records) and not played.summary.failed


def test_a_pod_is_ready_when_its_own_probe_says_so(stage: Stage, service: Callable[..., str]) -> None:
    name = service("right")
    (pod,) = eventually(lambda: stage.ready_pods(name, 1))
    assert pod.status is not None
    assert (pod.status.podIP or "").startswith((f"{own_network(0)}.", f"{own_network(1)}."))
    assert pod.status.phase == "Running"
    for kind in ("PodScheduled", "PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"):
        assert condition(pod, kind) == "True"
    eventually(lambda: answers(stage, name))
    # Events come after what they tell.
    eventually(lambda: {"Pulling", "Pulled", "Started"} <= {event.reason for event in events_of(stage, pod)})


def test_a_wrong_readiness_path_is_never_ready(stage: Stage, service: Callable[..., str]) -> None:
    wrong = {**PROBE, "httpGet": {"path": "/healthz", "port": "http"}}
    name = service("wrong-path", readinessProbe=wrong)
    (pod,) = eventually(lambda: [item for item in stage.pods(name) if is_running(item)])
    time.sleep(6)
    assert stage.ready_pods(name, 1) is None
    eventually(lambda: any("statuscode: 404" in (event.message or "") for event in events_of(stage, pod)))
    assert not answers(stage, name)


def events_of(stage: Stage, pod: Pod) -> list[Event]:
    uid = pod.metadata.uid if pod.metadata else None
    return [event for event in stage.api.list(Event, namespace="default") if event.involvedObject.uid == uid]


def _delete_one_under_load(stage: Stage, name: str, output_tokens: int, rps: float = 10) -> LoadRun:
    async def play_it() -> LoadRun:
        (victim, _) = stage.ready_pods(name, 2) or (None, None)
        assert victim is not None
        assert victim.metadata is not None
        loading = asyncio.create_task(stage.load(name, 4, rps, output_tokens))
        await asyncio.sleep(2)
        stage.api.delete(Pod, str(victim.metadata.name), namespace="default")
        return await loading

    eventually(lambda: stage.ready_pods(name, 2))
    eventually(lambda: answers(stage, name))
    return asyncio.run(play_it())


def test_pre_stop_and_drain_that_agree_cut_no_stream(stage: Stage, service: Callable[..., str]) -> None:
    played = _delete_one_under_load(stage, service("agree", 2), 600)
    assert played.summary.errors == {}
    assert played.summary.requests > 20


def test_a_grace_period_below_the_longest_stream_cuts_it(stage: Stage, service: Callable[..., str]) -> None:
    brief = {"preStop": {"sleep": {"seconds": 3}}}
    played = _delete_one_under_load(stage, service("short-grace", 2, grace_s=4, lifecycle=brief), 600)
    assert set(played.summary.errors) == {"cut"}


def test_without_pre_stop_the_balancer_still_sends_to_a_pod_that_ends(
    stage: Stage, service: Callable[..., str]
) -> None:
    # So many requests that, of those before the balancer hears of it, some are sent there.
    played = _delete_one_under_load(stage, service("no-pre-stop", 2, lifecycle=None), 100, rps=30)
    assert "http 503" in played.summary.errors


def test_a_killed_double_comes_back_without_orphans(stage: Stage, service: Callable[..., str]) -> None:
    name = service("survivor")
    (before,) = eventually(lambda: stage.ready_pods(name, 1))
    stage.kubelet.kill()
    stage.kubelet.wait(timeout=PATIENCE_S)
    stage.start_kubelet()
    after = eventually(
        lambda: [pod for pod in stage.ready_pods(name, 1) or [] if restarts(pod) == restarts(before) + 1]
    )
    assert before.metadata is not None
    assert after[0].metadata is not None
    assert after[0].metadata.uid == before.metadata.uid
    eventually(lambda: answers(stage, name))
