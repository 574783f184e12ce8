"""Stack local, rehearsed, on the real engine: what `pulumi up` makes, leaves alone, and takes away again."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from lightkube import Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.autoscaling_v2 import HorizontalPodAutoscaler
from lightkube.resources.core_v1 import Pod
from lightkube.types import PatchType
from whenever import Instant

from evidence.prometheus import Prometheus
from infra.dialects.vllm import VLLM
from infra.render import render
from sandbox import for_stack, lifecycle
from sandbox.control_plane.kubeconfigs import client as client_for
from sandbox.layout import free_ports
from sandbox.load import LoadRun
from sandbox.load import run as play_load
from sandbox.load.play import play, target_from
from sandbox.load.schedule import phases_from
from sandbox.places import REPOSITORY
from sandbox.sale.commands import Commands, Ran
from sandbox.sale.demo import environment_of, pulumi_up, scaler_query
from sandbox.sale.rehearsal import Rehearsal, rehearse
from sandbox.sale.timeline import ask_prometheus
from stacks import ownership
from stacks.loader import Stack, load_calendar_spec, load_stack
from tests.sandbox.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.sandbox

ScaledObject = create_namespaced_resource("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects")
FACTOR = 60
SEED = 2736
NAME, SPACE = "support-bot", "serving"


@dataclass
class Stage:
    """A sandbox with the rehearsed stack built on it."""

    rehearsal: Rehearsal
    commands: Commands
    api: Client
    directory: Path

    def pulumi(self, *arguments: str) -> Ran:
        argv = ["pulumi", *arguments, "-s", "local", "--non-interactive", "--color", "never"]
        return self.commands.run(argv, timeout_s=300)

    def scaled_object(self) -> dict[str, Any]:
        return dict(self.api.get(ScaledObject, NAME, namespace=SPACE))

    def minimum(self) -> int:
        return int(self.scaled_object()["spec"]["minReplicaCount"])

    def ready(self) -> int:
        pods = self.api.list(Pod, namespace=SPACE, labels={ownership.SERVICE_LABEL: NAME})
        return sum(
            any(one.type == "Ready" and one.status == "True" for one in (pod.status.conditions or []))
            for pod in pods
            if pod.status
        )

    def asked(self, query: str) -> list[Any]:
        return ask_prometheus(self.rehearsal.platform.prometheus.url, query, PATIENCE_S)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("stack")
    directory = folder / "sandbox"
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    rehearsal = rehearse(with_bounds(load_stack("local")), load_calendar_spec("local"), folder / "stacks", FACTOR, url)
    try:
        layout = for_stack.up("local", rehearsal.platform, print, directory, time_scale=FACTOR)
        commands = Commands(REPOSITORY, environment_of(rehearsal, directory))
        commands.must("pulumi up", pulumi_up(commands))
        yield Stage(rehearsal, commands, client_for(layout.kubeconfig), directory)
    finally:
        lifecycle.down(print, directory)


def test_up_makes_the_objects_that_preview_shows(stage: Stage) -> None:
    exported = stage.pulumi("stack", "export")
    made = {
        one["urn"]: {key: value for key, value in one["inputs"].items() if not key.startswith("__")}
        for one in json.loads(exported.stdout)["deployment"]["resources"]
        if one["custom"] and one["type"].startswith("kubernetes:")
    }
    shown = {one.urn: one.inputs for one in render("local", stage.rehearsal.platform).objects if one.custom}
    shown = {urn: inputs for urn, inputs in shown.items() if "kind" in inputs}
    assert shown
    assert made == shown


def test_a_second_preview_has_nothing_to_do(stage: Stage) -> None:
    ran = stage.pulumi("preview", "--expect-no-changes")
    assert ran.exit_code == 0, ran.stdout + ran.stderr


def test_another_address_of_the_same_cluster_is_no_other_cluster(stage: Stage, tmp_path: Path) -> None:
    """From another file, as on another machine; an object that Pulumi took for another cluster's it would replace."""
    environment = environment_of(stage.rehearsal, stage.directory)
    text = Path(environment["KUBECONFIG"]).read_text()
    other = tmp_path / "kubeconfig"
    other.write_text(text.replace("https://127.0.0.1:", "https://localhost:"))
    assert other.read_text() != text
    there = replace(stage, commands=Commands(REPOSITORY, {**environment, "KUBECONFIG": str(other)}))
    ran = there.pulumi("preview", "--expect-no-changes")
    assert ran.exit_code == 0, ran.stdout + ran.stderr


def test_the_baseline_is_ready_and_answers_through_the_balancer(stage: Stage) -> None:
    eventually(lambda: stage.ready() == 2)
    url = for_stack.balancer_url(stage.directory)
    played = play_load([(5, 4.0)], url, "support-8b", None, host_header=f"{NAME}.{SPACE}")
    assert played.records
    assert not played.summary.errors


def test_size_check_sees_a_plan_that_holds_and_then_a_longer_request(stage: Stage) -> None:
    """7 requests/s of 7.8 s, as planned; then of 475 tokens instead of 400, which take 9.1 s and a third replica."""
    eventually(lambda: stage.ready() == 2)
    work = {"rps": 7, "request_duration_s": 7.8, "growth_pct": 0, "exact_cache_hit_pct": 0}
    lengths = {"input_tokens": {"mean": 1000}, "output_tokens": {"mean": 400}}
    request = {"service": NAME, "profile": {"classes": {"chat": work | lengths}}, "reliability": {"headroom_pct": 30}}
    (stage.rehearsal.root / "local" / "workloads.yaml").write_text(json.dumps({"workloads": {"bot": request}}))

    holds = size_check(stage, output_tokens=400)
    assert holds.exit_code == 0, holds.stdout + holds.stderr
    found = json.loads(holds.stdout)["services"][NAME]
    assert (found["planned"]["replicas"]["high"], found["findings"]) == (2, [])
    assert {name for name, each in found["assumptions"].items() if each["verdict"] != "holds"} == {
        "in_flight_per_replica"  # 27 of 40: headroom
    }
    ttft = found["slo"]["limits"]["ttft"]
    assert (ttft["verdict"], ttft["share"], ttft["p95_s"]["low"]) == ("holds", {"low": 1, "high": 1}, 0.5)
    assert ttft["p95_s"]["histogram_quantile"] == pytest.approx(quantile_of_prometheus(stage, found))

    moved = size_check(stage, output_tokens=475)
    assert moved.exit_code == 1, moved.stdout + moved.stderr
    found = json.loads(moved.stdout)["services"][NAME]
    duration = found["assumptions"]["request_duration_s"]
    assert duration["seen"] == pytest.approx(9.1, rel=0.02)
    assert duration["plan_with_it"]["replicas"]["high"] == 3
    assert {name for name, each in found["assumptions"].items() if each["verdict"] == "moved"} == {
        "request_duration_s",
        "in_flight",
        "output_tokens",
    }


def with_bounds(stack: Stack) -> Stack:
    """With the objective's limits, 600 ms and 20 ms, among the bounds of the engine's buckets."""
    bounds = {"time_to_first_token": [0.25, 0.5, 0.6, 1, 2.5], "inter_token_latency": [0.01, 0.02, 0.05]}
    service = stack.platform.services[NAME]
    engine = service.engine.model_copy(update={"args": {VLLM.metrics.bounds_flag: json.dumps(bounds)}})
    services = {**stack.platform.services, NAME: service.model_copy(update={"engine": engine})}
    return replace(stack, platform=stack.platform.model_copy(update={"services": services}))


def quantile_of_prometheus(stage: Stage, found: dict[str, Any]) -> float:
    """What Prometheus itself makes of the buckets that `size check` looked at: the last 15 s of its window."""
    at = int(Instant.parse_iso(found["peak"]["to"]).timestamp())
    query = f"histogram_quantile(0.95, sum by (le) (increase({VLLM.metrics.ttft}_bucket[15s])))"
    with closing(Prometheus(stage.rehearsal.platform.prometheus.url)) as prometheus:
        return float(prometheus.instant(query, at)[0].value)


def size_check(stage: Stage, output_tokens: int) -> Ran:
    """After a load of which the 15 s are looked at in which as many end as begin; the seed is one of an even load."""
    target = target_from(for_stack.balancer_url(stage.directory), "support-8b", f"{NAME}.{SPACE}")
    began = time.time()
    played = asyncio.run(play(phases_from([(26, 7.0)]), replace(target, output_tokens=output_tokens), None, seed=SEED))
    assert played.summary.errors == {}
    times = [instant(began + seconds).format_iso() for seconds in (10, 25)]
    return stage.commands.warmline("size", "check", "-s", "local", "--from", times[0], "--to", times[1], "-o", "json")


def test_the_scaler_query_is_one_series_and_a_wrong_label_leaves_keda_blind(stage: Stage) -> None:
    query = scaler_query(stage.commands, SPACE, NAME)
    assert len(eventually(lambda: stage.asked(query))) == 1
    eventually(lambda: condition(stage, "Ready") == "True")
    wrong = query.replace("model_name=", "model=")
    assert wrong != query
    assert stage.asked(wrong) == []
    try:
        set_query(stage, wrong)
        eventually(lambda: failing(stage))
    finally:
        set_query(stage, query)
    eventually(lambda: not failing(stage))


def test_a_floor_survives_up_up_with_refresh_and_refresh(stage: Stage) -> None:
    now, ahead_s = int(time.time()), stage.rehearsal.lead_time_s + stage.rehearsal.margin_s
    # Raised a second ago: the run that raises it has the whole margin to be in time.
    stage.rehearsal.schedule(*(instant(now + seconds) for seconds in (ahead_s - 1, 3600)))
    try:
        synced = stage.commands.warmline("prescale", "sync", "-s", "local")
        assert synced.exit_code == 0, synced.stdout + synced.stderr
        assert stage.minimum() == 7
        for arguments in (
            ("up", "--yes", "--skip-preview"),
            ("refresh", "--yes", "--skip-preview"),
            ("up", "--refresh", "--yes", "--skip-preview"),
        ):
            ran = stage.pulumi(*arguments)
            assert ran.exit_code == 0, ran.stdout + ran.stderr
            assert stage.minimum() == 7, arguments
        drift = stage.pulumi("preview", "--expect-no-changes")
        assert drift.exit_code == 0, drift.stdout + drift.stderr
        hpa = stage.api.get(HorizontalPodAutoscaler, f"keda-hpa-{NAME}", namespace=SPACE)
        assert hpa.spec is not None
        assert hpa.spec.minReplicas == 7
    finally:
        stage.rehearsal.schedule(*(instant(now - seconds) for seconds in (600, 10)))
        over = stage.commands.warmline("prescale", "sync", "-s", "local")
    assert over.exit_code == 0, over.stdout + over.stderr
    assert stage.minimum() == 2


def test_streams_outlive_the_pod_that_is_taken_away(stage: Stage) -> None:
    """As a scale-down does: 45 s streams, longer than Kubernetes' own grace period, and a pod deleted under them."""
    eventually(lambda: stage.ready() == 2)
    target = target_from(for_stack.balancer_url(stage.directory), "support-8b", f"{NAME}.{SPACE}")
    long = replace(target, output_tokens=2500)

    async def played() -> LoadRun:
        playing = asyncio.create_task(play(phases_from([(8, 1.5)]), long, None, seed=3))
        await asyncio.sleep(6)
        pod = next(iter(stage.api.list(Pod, namespace=SPACE, labels={ownership.SERVICE_LABEL: NAME})))
        assert pod.metadata is not None
        assert pod.metadata.name is not None
        stage.api.delete(Pod, pod.metadata.name, namespace=SPACE)
        return await playing

    records = asyncio.run(played()).records
    assert len(records) > 5
    assert min(record.e2e_s for record in records) > 40
    assert [record.error for record in records if record.error] == []


def test_a_faulty_stack_fails_up_with_its_faults_and_without_a_traceback(stage: Stage) -> None:
    path = stage.rehearsal.root / "local" / "platform.yaml"
    text = path.read_text()
    try:
        path.write_text(text.replace("owner:", "ownr:"))
        ran = stage.pulumi("up", "--yes", "--skip-preview")
    finally:
        path.write_text(text)
    said = ran.stdout + ran.stderr
    assert ran.exit_code != 0
    assert "unknown field ownr" in said
    assert "Traceback" not in said


def test_destroy_takes_everything_away(stage: Stage) -> None:
    ran = stage.pulumi("destroy", "--yes", "--skip-preview")
    assert ran.exit_code == 0, ran.stdout + ran.stderr
    eventually(lambda: not list(stage.api.list(Pod, namespace=SPACE)))
    left = json.loads(stage.pulumi("stack", "export").stdout)["deployment"].get("resources") or []
    assert [one["urn"] for one in left if one["type"] != "pulumi:pulumi:Stack"] == []


def condition(stage: Stage, kind: str) -> str | None:
    conditions = (stage.scaled_object().get("status") or {}).get("conditions") or []
    return next((one["status"] for one in conditions if one["type"] == kind), None)


def failing(stage: Stage) -> bool:
    health = (stage.scaled_object().get("status") or {}).get("health") or {}
    return any(one.get("status") == "Failing" for one in health.values())


def set_query(stage: Stage, query: str) -> None:
    triggers = stage.scaled_object()["spec"]["triggers"]
    triggers[0]["metadata"]["query"] = query
    stage.api.patch(ScaledObject, NAME, {"spec": {"triggers": triggers}}, namespace=SPACE, patch_type=PatchType.MERGE)


def instant(unix: float) -> Instant:
    return Instant.from_timestamp(int(unix))
