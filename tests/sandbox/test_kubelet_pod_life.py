"""A pod's life on the double, without an API server: real probes, real signals, real streams."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from lightkube.resources.core_v1 import Pod

from sandbox.kubelet.disk import NodeDisk
from sandbox.kubelet.pod_life import PodLife
from sandbox.kubelet.process import ChildRegister, started_ticks
from sandbox.kubelet.settings import KubeletSettings, ServiceTimes
from sandbox.kubelet.status import phase_of
from sandbox.kubelet.world import PodWorld
from sandbox.load.play import play, target_from
from sandbox.load.record import RequestRecord
from sandbox.load.schedule import phases_from
from tests.sandbox.addresses import own_network
from tests.sandbox.waiting import PATIENCE_S

ENGINE = {"ttft_base_s": 0.05, "prefill_s_per_token": 0.0, "tpot_s": 0.01, "chunk_interval_s": 0.05}
TIMES = ServiceTimes(image_pull_s=0.1, weights_s=0.1, engine_start_s=0.2, engine=ENGINE)
SETTINGS = KubeletSettings(times=TIMES, small_image_pull_s=0.01, restart_backoff_s=0.3)
ADDRESS = f"{own_network()}.2"
PROBE = {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": 1, "failureThreshold": 1}


def manifest(**engine: Any) -> dict[str, Any]:
    """The pod under test; keywords replace fields of its engine container."""
    return {
        "metadata": {"name": "bot-1", "namespace": "support", "uid": "u1"},
        "spec": {
            "terminationGracePeriodSeconds": 10,
            "initContainers": [{"name": "weights", "image": "fetch:1"}],
            "containers": [
                {
                    "name": "engine",
                    "image": "vllm/vllm-openai@sha256:ff",
                    "args": ["--served-model-name", "bot", "--shutdown-timeout", "8"],
                    "ports": [{"name": "http", "containerPort": 8000}],
                    "readinessProbe": PROBE,
                    **engine,
                }
            ],
        },
    }


class Stage:
    """A pod on the double, its Events, and how to delete it."""

    def __init__(self, pod: dict[str, Any], directory: Path, settings: KubeletSettings = SETTINGS) -> None:
        (directory / "logs").mkdir(exist_ok=True)
        self.manifest = pod
        self.events: list[str] = []
        self.changes: list[str] = []
        self.register = ChildRegister(directory / "children.json")
        self.world = PodWorld(
            pod=cast("Pod", Pod.from_dict(pod)),
            node_name="gpu-1",
            disk=NodeDisk(directory / "disk.json", "n1"),
            settings=settings,
            directory=directory,
            register=self.register,
            record=lambda _, reason, message: self.events.append(f"{reason}: {message}"),
            changed=lambda: None,
            pod_ip=ADDRESS,
        )
        self.life = PodLife(self.world)
        self.running = asyncio.create_task(self.life.run())

    @property
    def is_ready(self) -> bool:
        return all(view.is_ready for view in self.life.view.containers)

    def delete(self, grace_s: int) -> None:
        deleted = copy.deepcopy(self.manifest)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        deleted["metadata"] |= {"deletionTimestamp": now, "deletionGracePeriodSeconds": grace_s}
        self.life.observe(cast("Pod", Pod.from_dict(deleted)))

    async def until(self, what: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
        async with asyncio.timeout(seconds):
            while not what():  # noqa: ASYNC110 -- the double tells nobody
                await asyncio.sleep(0.02)


@asynccontextmanager
async def stage(pod: dict[str, Any], directory: Path, settings: KubeletSettings = SETTINGS) -> AsyncIterator[Stage]:
    staged = Stage(pod, directory, settings)
    try:
        yield staged
    finally:
        staged.running.cancel()
        await asyncio.gather(staged.running, return_exceptions=True)
        await staged.until(lambda: not any(started_ticks(pid) for pid in staged.register.children))


async def streams(output_tokens: int, count: int = 3) -> list[RequestRecord]:
    target = replace(target_from(f"http://{ADDRESS}:8000", "bot"), prompt_tokens=1, output_tokens=output_tokens)
    played = await play(phases_from([(0.1, count * 10)]), target, None, seed=3)
    assert played.records
    return played.records


def test_ready_only_when_its_own_probe_says_so(tmp_path: Path) -> None:
    async def play_it() -> None:
        async with stage(manifest(), tmp_path) as pod:
            await pod.until(lambda: phase_of(pod.life.view) == "Running")
            assert not pod.is_ready
            await pod.until(lambda: pod.is_ready)
            assert all(not record.error for record in await streams(20))
            reasons = [event.split(":")[0] for event in pod.events]
            assert reasons.count("Pulled") == 2
            assert "WeightsLoaded" in reasons

    asyncio.run(play_it())


@pytest.mark.parametrize(
    "broken",
    [
        {"readinessProbe": {**PROBE, "httpGet": {"path": "/helth", "port": "http"}}},
        {"readinessProbe": {**PROBE, "httpGet": {"path": "/health", "port": 9000}}},
        {"readinessProbe": {**PROBE, "httpGet": {"path": "/health", "port": "htpp"}}},
        {"readinessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 1}},
        {"args": ["--served-model-name", "bot", "--host", "127.0.0.1"]},
        {"args": ["--served-model-name", "bot", "--port", "8001"]},
    ],
)
def test_a_wrong_manifest_never_gets_ready(tmp_path: Path, broken: dict[str, Any]) -> None:
    async def play_it() -> None:
        async with stage(manifest(**broken), tmp_path) as pod:
            await pod.until(lambda: any("Unhealthy: Readiness probe failed" in event for event in pod.events))
            await asyncio.sleep(1.2)
            assert not pod.is_ready

    asyncio.run(play_it())


def test_a_wrong_flag_crashes_again_and_again(tmp_path: Path) -> None:
    async def play_it() -> None:
        async with stage(manifest(args=["--served-model-nam", "bot"]), tmp_path) as pod:
            view = pod.life.view.containers[0]
            await pod.until(lambda: view.restarts >= 2)
            assert view.last_state["terminated"]["exitCode"] == 2
            assert not pod.is_ready

    asyncio.run(play_it())


@pytest.mark.parametrize("probe", ["startupProbe", "livenessProbe"])
def test_startup_and_liveness_failures_restart_the_container(tmp_path: Path, probe: str) -> None:
    wrong = {"httpGet": {"path": "/wrong", "port": "http"}, "periodSeconds": 1, "failureThreshold": 2}

    async def play_it() -> None:
        async with stage(manifest(**{probe: wrong}), tmp_path) as pod:
            await pod.until(lambda: pod.life.view.containers[0].restarts >= 1)
            kind = probe.removesuffix("Probe")
            assert f"Killing: Container engine failed {kind} probe, will be restarted" in pod.events

    asyncio.run(play_it())


async def _delete_under_load(tmp_path: Path, grace_s: int, output_tokens: int, **engine: Any) -> list[RequestRecord]:
    async with stage(manifest(**engine), tmp_path) as pod:
        await pod.until(lambda: pod.is_ready)
        streaming = asyncio.create_task(streams(output_tokens))
        await asyncio.sleep(1)
        pod.delete(grace_s)
        async with asyncio.timeout(grace_s + PATIENCE_S):
            await pod.running
        assert not pod.register.children
        return await streaming


def test_drain_within_the_grace_cuts_no_stream(tmp_path: Path) -> None:
    pre_stop = {"preStop": {"sleep": {"seconds": 1}}}
    records = asyncio.run(_delete_under_load(tmp_path, 10, 300, lifecycle=pre_stop))
    assert [record.error for record in records] == [""] * len(records)


def test_grace_below_the_longest_stream_cuts_it(tmp_path: Path) -> None:
    records = asyncio.run(_delete_under_load(tmp_path, 2, 2000))
    assert all(record.cut for record in records)


def test_pre_stop_is_paid_from_the_grace(tmp_path: Path) -> None:
    """4 s of preStop leave a grace of 4 s the least there is, 2 s: a stream of 20 s is cut after some 7."""
    pre_stop = {"preStop": {"exec": {"command": ["sleep", "4"]}}}
    records = asyncio.run(_delete_under_load(tmp_path, 4, 2000, lifecycle=pre_stop))
    assert all(record.cut for record in records)
    assert all(6.0 < record.e2e_s < 15 for record in records)


def test_without_the_drain_argument_the_engine_aborts(tmp_path: Path) -> None:
    records = asyncio.run(_delete_under_load(tmp_path, 10, 2000, args=["--served-model-name", "bot"]))
    assert all(record.cut for record in records)


def test_pre_pull_fills_the_cache_and_starts_no_engine(tmp_path: Path) -> None:
    pod_manifest = manifest()
    pod_manifest["spec"]["initContainers"] = [
        {"name": "pull", "image": "vllm/vllm-openai@sha256:ff", "command": ["true"]}
    ]
    pod_manifest["spec"]["containers"] = [{"name": "pause", "image": "pause:3.10"}]

    async def play_it() -> None:
        async with stage(pod_manifest, tmp_path) as pod:
            await pod.until(lambda: pod.is_ready)
            assert pod.world.disk.has_image("sha256:ff")
            assert not pod.register.children
            pod.delete(30)
            async with asyncio.timeout(PATIENCE_S):
                await pod.running

    asyncio.run(play_it())


def test_a_job_completes_at_once(tmp_path: Path) -> None:
    pod_manifest = manifest()
    pod_manifest["spec"] |= {"restartPolicy": "Never", "containers": [{"name": "job", "image": "tool:1"}]}

    async def play_it() -> None:
        async with stage(pod_manifest, tmp_path) as pod:
            await pod.until(lambda: phase_of(pod.life.view) == "Succeeded")

    asyncio.run(play_it())


def test_orphans_of_a_killed_double_are_ended(tmp_path: Path) -> None:
    async def play_it() -> None:
        child = await asyncio.create_subprocess_exec("sleep", "60")
        bystander = await asyncio.create_subprocess_exec("sleep", "60")
        register = ChildRegister(tmp_path / "children.json")
        register.add(child.pid)
        register.children[bystander.pid] = 1  # the same pid, but started at another time: not ours
        register._save()
        assert ChildRegister(tmp_path / "children.json").kill_orphans() == [child.pid]
        assert await asyncio.wait_for(child.wait(), PATIENCE_S) == -9
        assert bystander.returncode is None
        bystander.kill()
        await bystander.wait()

    asyncio.run(play_it())
