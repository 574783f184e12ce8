"""The real control plane, brought up in a directory of its own and taken down again."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lightkube import ApiError, Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.apps_v1 import DeploymentSpec
from lightkube.models.core_v1 import Container, PodSpec, PodTemplateSpec, Toleration
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.autoscaling_v2 import HorizontalPodAutoscaler
from lightkube.resources.core_v1 import Node as NodeResource
from lightkube.resources.core_v1 import Pod, Secret
from lightkube.types import PatchType

from sandbox import lifecycle
from sandbox.control_plane.kubeconfigs import client as client_for
from sandbox.control_plane.nodes import Node
from sandbox.layout import Layout, free_ports, read_settings
from sandbox.processes.process import marked, start_ticks
from sandbox.reliability import tolerance
from tests.sandbox.addresses import own_network
from tests.sandbox.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.sandbox

ScaledObject = create_namespaced_resource("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects")

GPU_TAINT = ("nvidia.com/gpu", "present", "NoSchedule")
NODES = tuple(Node(f"l40s-{n}", {"pool": "l40s"}, (GPU_TAINT,), gpus=1) for n in range(2))
POD_IP = f"{own_network()}.77"


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    directory = tmp_path_factory.mktemp("sandbox")
    yield lifecycle.up(NODES, print, directory, prometheus_port=free_ports(1)[0], with_pulumi=False)
    lifecycle.down(print, directory)


@pytest.fixture(scope="module")
def api(layout: Layout) -> Client:
    return client_for(layout.kubeconfig)


def deployment(name: str, replicas: int) -> Deployment:
    labels = {"app": name}
    return Deployment(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec=DeploymentSpec(
            replicas=replicas,
            selector=LabelSelector(matchLabels=labels),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels=labels),
                spec=PodSpec(
                    containers=[Container(name="engine", image="engine:1")],
                    tolerations=[Toleration(key="nvidia.com/gpu", operator="Exists")],
                ),
            ),
        ),
    )


def scaled_object(name: str, low: int, high: int, prometheus: str) -> Any:
    trigger = {
        "type": "prometheus",
        "metadata": {"serverAddress": prometheus, "query": "vector(9)", "threshold": "4"},
    }
    return ScaledObject(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec={
            "scaleTargetRef": {"name": name},
            "minReplicaCount": low,
            "maxReplicaCount": high,
            "pollingInterval": 2,
            "triggers": [trigger],
        },
    )


def test_every_part_is_well_and_a_second_up_changes_nothing(layout: Layout) -> None:
    before = eventually(lambda: all_well(layout))
    assert len(before) == 9
    lines: list[str] = []
    lifecycle.up(NODES, lines.append, layout.directory, with_pulumi=False)
    assert "already up" in lines[-1]
    assert [part.pid for part in lifecycle.status(layout.directory)] == [part.pid for part in before]


def test_everything_listens_on_loopback_only(layout: Layout) -> None:
    settings = read_settings(layout)
    assert settings is not None
    addresses = {address for pid in marked(settings.mark) for address in listening(pid)}
    assert len(addresses) >= 9
    # 127.0.0.1, in the kernel's little-endian notation.
    assert {address.partition(":")[0] for address in addresses} == {"0100007F"}


def test_keda_makes_an_hpa_that_scales(layout: Layout, api: Client) -> None:
    api.create(deployment("scaled", 1))
    api.create(scaled_object("scaled", 2, 5, lifecycle.prometheus_url(layout.directory)))

    def hpa() -> HorizontalPodAutoscaler | None:
        for one in api.list(HorizontalPodAutoscaler, namespace="default"):
            if one.metadata and one.metadata.name == "keda-hpa-scaled" and one.status and one.status.desiredReplicas:
                return one if one.status.desiredReplicas == 3 else None  # 9 in flight, 4 a replica
        return None

    found = eventually(hpa)
    assert found.spec is not None
    assert (found.spec.minReplicas, found.spec.maxReplicas) == (2, 5)
    api.patch(ScaledObject, "scaled", {"spec": {"minReplicaCount": 4}}, namespace="default", patch_type=PatchType.MERGE)
    eventually(lambda: replicas_of(api, "scaled") == 4)


def test_a_replica_more_is_a_floors_and_within_what_the_hpa_tolerates_of_a_cron_trigger(
    layout: Layout, tmp_path: Path
) -> None:
    """The sample of `make bench-reliability`: 11 run, 12 are desired."""
    found = tolerance.measure(layout, tmp_path, tolerance.SAMPLE, print)
    assert found.failures == []
    ((running, desired, cron, floor),) = ((row.running, row.desired, row.cron, row.floor) for row in found.rows)
    assert (running, desired, cron, floor) == (11, 12, 11, 12)


def test_a_floor_above_the_ceiling_is_denied(layout: Layout, api: Client) -> None:
    with pytest.raises(ApiError) as caught:
        api.create(scaled_object("denied", 9, 5, "http://127.0.0.1:9"))
    assert "minReplicaCount must be less than or equal to maxReplicaCount" in str(caught.value)


def test_kedas_webhook_denies_a_second_owner_of_a_deployment(layout: Layout, api: Client) -> None:
    prometheus = lifecycle.prometheus_url(layout.directory)
    api.create(deployment("owned", 1))
    api.create(scaled_object("owned", 1, 5, prometheus))
    second = scaled_object("owned", 1, 5, prometheus)
    second.metadata.name = "second"

    def denial() -> str | None:  # the webhook answers from a cache that the first one reaches a moment later
        try:
            api.create(second, dry_run=True)
        except ApiError as error:
            return str(error)
        return None

    said = eventually(denial)
    assert 'admission webhook "vscaledobject.kb.io" denied' in said
    assert "is already managed by" in said


def test_pods_are_scheduled_and_left_to_the_kubelet_double(layout: Layout, api: Client) -> None:
    api.create(deployment("left", 1))

    def scheduled() -> Pod | None:
        pods = api.list(Pod, namespace="default", labels={"app": "left"})
        return next((pod for pod in pods if pod.spec and pod.spec.nodeName), None)

    pod = eventually(scheduled)
    assert pod.spec is not None
    assert pod.spec.nodeName in {node.name for node in NODES}
    time.sleep(3)
    still = scheduled()
    assert still is not None
    assert still.status is not None
    assert still.status.phase == "Pending"
    assert still.status.podIP is None


def test_nodes_look_like_the_clouds(layout: Layout, api: Client) -> None:
    node = api.get(NodeResource, "l40s-1")
    assert node.spec is not None
    settings = read_settings(layout)
    assert settings is not None
    assert node.spec.podCIDR == f"{settings.pod_network}.2.0/24"
    assert [taint.key for taint in node.spec.taints or []] == ["nvidia.com/gpu"]
    assert node.status is not None
    assert (node.status.allocatable or {})["nvidia.com/gpu"] == "1"


def test_prometheus_scrapes_a_pod_where_its_annotations_say(layout: Layout, api: Client) -> None:
    with metrics_at(POD_IP, 'vllm:num_requests_running{model_name="m"} 7\n') as port:
        annotations = {"prometheus.io/scrape": "true", "prometheus.io/port": str(port)}
        meta = ObjectMeta(name="scraped", namespace="default", annotations=annotations)
        spec = PodSpec(containers=[Container(name="engine", image="engine:1")], nodeName="l40s-0")
        api.create(Pod(metadata=meta, spec=spec))
        status = {"status": {"phase": "Running", "podIP": POD_IP, "podIPs": [{"ip": POD_IP}]}}
        api.patch(Pod.Status, "scraped", status, namespace="default", patch_type=PatchType.MERGE)
        query = 'vllm:num_requests_running{namespace="default",pod="scraped",model_name="m",node="l40s-0"}'
        (series,) = eventually(partial(ask, lifecycle.prometheus_url(layout.directory), query))
    assert series["value"][1] == "7"


def test_prometheus_may_not_read_secrets(layout: Layout) -> None:
    with pytest.raises(ApiError, match="forbidden"):
        list(client_for(layout.kubeconfig_of("prometheus")).list(Secret, namespace="default"))


def test_down_after_a_crash_leaves_no_process(tmp_path: Path) -> None:
    layout = lifecycle.up((), print, tmp_path, prometheus_port=free_ports(1)[0], with_pulumi=False)
    settings = read_settings(layout)
    assert settings is not None
    try:
        parts = {part.name: part for part in lifecycle.status(tmp_path)}
        for name in ("etcd", "keda-operator"):
            os.kill(parts[name].pid, signal.SIGKILL)
        eventually(lambda: start_ticks(parts["etcd"].pid) is None)
        dead = {part.name for part in lifecycle.status(tmp_path) if not part.is_running}
        assert dead == {"etcd", "keda-operator"}
        begun = time.monotonic()
    finally:
        lifecycle.down(print, tmp_path)
    assert time.monotonic() - begun < 10 * len(parts), "each has 10 s to end by itself, and not one after the other"
    assert marked(settings.mark) == []
    assert lifecycle.status(tmp_path) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "logs"]


def test_plain_pulumi_works(tmp_path: Path) -> None:
    """A program of one ConfigMap, previewed, brought up and destroyed, with nothing but what `env` sets."""
    place, project = tmp_path / "sandbox", tmp_path / "project"
    project.mkdir()
    (project / "Pulumi.yaml").write_text("name: tiny\nruntime: python\nmain: program\n")
    (project / "program").mkdir()
    (project / "program" / "__main__.py").write_text(
        "import pulumi, pulumi_kubernetes as k8s\n"
        "made = k8s.core.v1.ConfigMap('made', metadata={'name': 'made'}, data={'a': 'b'})\n"
        "pulumi.export('name', made.metadata['name'])\n"
    )
    lifecycle.up((), print, place, prometheus_port=free_ports(1)[0])
    try:
        path = f"{lifecycle.bin_directory(place)}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, **lifecycle.environment(place), "PATH": path}

        def pulumi(*arguments: str) -> str:
            command = ["pulumi", *arguments, "--non-interactive", "--color", "never"]
            result = subprocess.run(
                command, cwd=project, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
            )
            assert result.returncode == 0, result.stdout + result.stderr
            return result.stdout + result.stderr

        pulumi("stack", "init", "tiny")
        assert "2 to create" in pulumi("preview", "-s", "tiny")
        said = pulumi("up", "-s", "tiny", "--yes", "--skip-preview")
        assert "2 created" in said
        assert "warning" not in said
        assert "made" in pulumi("stack", "output", "name", "-s", "tiny")
        assert "warning" not in pulumi("refresh", "-s", "tiny", "--yes", "--skip-preview")
        pulumi("destroy", "-s", "tiny", "--yes", "--skip-preview")
    finally:
        lifecycle.down(print, place)


def all_well(layout: Layout) -> list[lifecycle.ComponentStatus] | None:
    """Every part, once each has answered within the two seconds that it has."""
    parts = lifecycle.status(layout.directory)
    return parts if all(part.is_healthy for part in parts) else None


def replicas_of(api: Client, name: str) -> int:
    spec = api.get(Deployment, name, namespace="default").spec
    return (spec.replicas or 0) if spec else 0


def listening(pid: int) -> set[str]:
    """Addresses a process listens on, as /proc/net/tcp writes them."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(str(descriptor.readlink()))
        except OSError:
            continue
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                found.add(fields[1])
    return found


def ask(prometheus: str, query: str) -> Any:
    url = f"{prometheus}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=PATIENCE_S) as answer:
        return json.load(answer)["data"]["result"]


@contextmanager
def metrics_at(address: str, text: str) -> Iterator[int]:
    """A server on a pod's address that answers with these metrics; its port."""

    class Metrics(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    server = http.server.ThreadingHTTPServer((address, 0), Metrics)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
