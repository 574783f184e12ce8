"""The kubelet double's rules, without acting: addresses, probes, termination, containers, status, settings."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightkube.models.core_v1 import Container, LifecycleHandler, PodSpec, Probe
from lightkube.resources.core_v1 import Node, Pod

from sandbox.kubelet.address import NoAddressError, is_loopback_network, next_address
from sandbox.kubelet.container import (
    command_of,
    environment_of,
    expanded,
    gpus_of,
    image_key,
    is_engine,
    outlives_pod,
    port_of,
    repository_of,
    weights_key,
)
from sandbox.kubelet.disk import NodeDisk
from sandbox.kubelet.double import is_fake
from sandbox.kubelet.probe import ProbeStreak, ProbeTimes, times_of
from sandbox.kubelet.settings import KubeletSettings, settings_from
from sandbox.kubelet.status import ContainerView, PodView, phase_of, pod_status
from sandbox.kubelet.termination import MINIMUM_GRACE_S, sleep_s_of, termination_times

Model = TypeVar("Model", Container, LifecycleHandler, PodSpec)
ENGINES = ("vllm/vllm-openai",)


def from_dict(kind: type[Model], fields: dict[str, Any]) -> Model:
    """lightkube's own `from_dict` is typed by its base class only."""
    return cast("Model", kind.from_dict(fields))


def container(**fields: Any) -> Container:
    return from_dict(Container, {"name": "engine", **fields})


@given(st.sets(st.integers(2, 254), max_size=252), st.integers(2, 254))
def test_addresses_are_fresh_and_on_the_nodes_loopback_network(used: set[int], last: int) -> None:
    taken = {f"127.10.3.{number}" for number in used}
    address = next_address("127.10.3.0/24", taken, f"127.10.3.{last}")
    assert address not in taken
    assert 2 <= int(address.rsplit(".", 1)[1]) <= 254


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"metadata": {"labels": {"type": "kwok"}}}, True),
        ({"metadata": {"annotations": {"kwok.x-k8s.io/node": "fake"}}}, True),
        ({"spec": {"podCIDR": "127.10.1.0/24"}}, True),
        ({"spec": {"podCIDR": "10.244.0.0/24"}, "metadata": {"labels": {"type": "gpu"}}}, False),
        ({}, False),
    ],
)
def test_only_nodes_without_a_machine_are_played(fields: dict[str, Any], *, expected: bool) -> None:
    assert is_fake(cast("Node", Node.from_dict(fields))) == expected


def test_an_address_rests_before_it_is_given_again() -> None:
    assert next_address("127.10.3.0/24", set(), None) == "127.10.3.2"
    assert next_address("127.10.3.0/24", set(), "127.10.3.2") == "127.10.3.3"
    assert next_address("127.10.3.0/24", set(), "127.10.3.254") == "127.10.3.2"


@pytest.mark.parametrize("pod_cidr", [None, "", "10.0.0.0/24", "127.0.0.0/31", "::1/128"])
def test_a_node_without_a_usable_network_is_told_so(pod_cidr: str | None) -> None:
    with pytest.raises(NoAddressError, match="podCIDR"):
        next_address(pod_cidr, set(), None)
    assert not is_loopback_network(pod_cidr)
    full = {f"127.10.3.{number}" for number in range(2, 255)}
    with pytest.raises(NoAddressError, match="no free address"):
        next_address("127.10.3.0/24", full, None)


@given(st.lists(st.booleans()), st.integers(1, 4), st.integers(1, 4))
def test_a_probe_turns_only_after_its_threshold(answers: list[bool], success: int, failure: int) -> None:
    times = ProbeTimes(0, 1, 1, success, failure)
    streak = ProbeStreak()
    for index, answer in enumerate(answers, start=1):
        streak = streak.after(is_success=answer)
        alike = answers[max(0, index - (success if answer else failure)) : index]
        is_enough = len(alike) == (success if answer else failure) and set(alike) == {answer}
        assert streak.verdict(times) == (("passed" if answer else "failed") if is_enough else "undecided")


def test_probe_defaults_are_the_apis() -> None:
    assert times_of(Probe()) == ProbeTimes(0, 10, 1, 1, 3)


@given(st.floats(0, 600), st.floats(0, 600))
def test_sigkill_never_before_the_grace_and_always_after_sigterm(grace_s: float, pre_stop_s: float) -> None:
    times = termination_times(grace_s, pre_stop_s)
    assert times.sigterm_s <= grace_s
    assert times.sigkill_s >= grace_s
    assert times.sigkill_s - times.sigterm_s >= MINIMUM_GRACE_S - 1e-9
    if pre_stop_s + MINIMUM_GRACE_S <= grace_s:
        assert times.sigkill_s == grace_s  # preStop is paid from the grace, not added to it


@pytest.mark.parametrize(
    ("handler", "seconds"),
    [
        ({"sleep": {"seconds": 7}}, 7.0),
        ({"exec": {"command": ["sleep", "5"]}}, 5.0),
        ({"exec": {"command": ["/bin/sleep", "5"]}}, 5.0),
        ({"exec": {"command": ["/bin/sh", "-c", "sleep 15"]}}, 15.0),
        ({"exec": {"command": ["/bin/sh", "-c", "drain && sleep 15"]}}, None),
        ({"httpGet": {"port": 8000}}, None),
    ],
)
def test_pre_stop_that_only_sleeps(handler: dict[str, Any], seconds: float | None) -> None:
    assert sleep_s_of(from_dict(LifecycleHandler, handler)) == seconds


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"image": "vllm/vllm-openai:v0.33.0", "args": ["--model", "m"]}, True),
        ({"image": "mirror.example:5000/vllm/vllm-openai@sha256:ab"}, True),
        ({"image": "vllm/vllm-openai:v0.33.0", "command": ["vllm", "serve", "m"]}, True),
        ({"image": "own/server:1", "args": ["--served-model-name=m"]}, True),
        ({"image": "vllm/vllm-openai:v0.33.0", "command": ["true"]}, False),  # image pre-pull
        ({"image": "vllm/vllm-openai:v0.33.0", "command": ["sh", "-c", "exit 0"]}, False),
        ({"image": "other-vllm/vllm-openai-tools:1"}, False),
        ({"image": "pause:3.10"}, False),
    ],
)
def test_which_containers_are_engines(fields: dict[str, Any], *, expected: bool) -> None:
    assert is_engine(container(**fields), ENGINES) == expected


def test_image_names() -> None:
    assert repository_of("host:5000/a/b:1@sha256:ff") == "host:5000/a/b"
    assert image_key("a/b:1@sha256:ff") == image_key("mirror/a/b@sha256:ff") == "sha256:ff"
    assert image_key("a/b:1") == "a/b:1"


def test_command_and_environment_are_the_pods_own() -> None:
    field = {"fieldRef": {"fieldPath": "status.podIP"}}
    secret = {"secretKeyRef": {"name": "s", "key": "k"}}
    env = [
        {"name": "IP", "valueFrom": field},
        {"name": "URL", "value": "http://$(IP):8000"},
        {"name": "TOKEN", "valueFrom": secret},
    ]
    engine = container(command=["vllm"], args=["serve", "$(URL)", "$(TOKEN)", "$$(URL)"], env=env)
    known = environment_of(engine, Pod(), "127.10.1.2", "gpu-1")
    assert known == {"IP": "127.10.1.2", "URL": "http://127.10.1.2:8000"}
    assert command_of(engine, known) == ["vllm", "serve", "http://127.10.1.2:8000", "$(TOKEN)", "$(URL)"]
    assert expanded("$$(A) $(A) $(B)", {"A": "1"}) == "$(A) 1 $(B)"


def test_ports_gpus_and_weights() -> None:
    engine = container(
        ports=[{"name": "http", "containerPort": 8000}],
        resources={"limits": {"nvidia.com/gpu": "2"}},
        volumeMounts=[{"name": "w", "mountPath": "/w"}],
        env=[{"name": "REVISION", "value": "3f2c9e1"}],
    )
    assert [port_of(engine, port) for port in ("http", "8001", 8002, "nope", None)] == [8000, 8001, 8002, None, None]
    assert gpus_of(engine) == 2
    disk = from_dict(PodSpec, {"containers": [], "volumes": [{"name": "w", "hostPath": {"path": "/mnt"}}]})
    scratch = from_dict(PodSpec, {"containers": [], "volumes": [{"name": "w", "emptyDir": {}}]})
    assert outlives_pod(engine, disk)
    assert not outlives_pod(engine, scratch)
    assert "REVISION=3f2c9e1" in weights_key(engine)


def view(**fields: Any) -> PodView:
    running = ContainerView("engine", "i", state={"running": {}}, is_started=True, is_ready=True)
    return PodView(**{"inits": [], "containers": [running], "pod_ip": "127.10.1.2", **fields})


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {item["type"]: (item["status"], item["lastTransitionTime"]) for item in status["conditions"]}


def test_a_transition_time_changes_only_with_its_status() -> None:
    pod = view()
    first = conditions(pod_status(pod, {}, "t1"))
    assert first["Ready"] == ("True", "t1")
    pod.containers[0].is_ready = False
    second = conditions(pod_status(pod, {}, "t2"))
    assert second["Ready"] == second["ContainersReady"] == ("False", "t2")
    assert second["Initialized"] == first["Initialized"] == ("True", "t1")


def test_readiness_gates_hold_ready_back() -> None:
    pod = view(gates=["balancer.example/registered"])
    assert conditions(pod_status(pod, {}, "t"))["Ready"][0] == "False"
    assert conditions(pod_status(pod, {"balancer.example/registered": "True"}, "t"))["Ready"][0] == "True"


def ended(code: int) -> ContainerView:
    return ContainerView("job", "i", state={"terminated": {"exitCode": code}})


def test_phases() -> None:
    waiting = ContainerView("engine", "i")
    assert phase_of(view(containers=[waiting])) == "Pending"
    assert phase_of(view(inits=[waiting])) == "Pending"
    assert phase_of(view(inits=[ended(0)])) == "Running"
    assert phase_of(view(containers=[ended(0)], restart_policy="Never")) == "Succeeded"
    assert phase_of(view(containers=[ended(0), ended(1)], restart_policy="Never")) == "Failed"
    assert phase_of(view(containers=[ended(137)], restart_policy="Always")) == "Running"


def test_settings_per_service(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    given = {"times": {"weights_s": 2}, "services": {"big": {"engine_start_s": 30, "engine": {"tpot_s": 0.03}}}}
    file.write_text(json.dumps(given))
    settings = settings_from(file)
    assert settings.times_of("other").weights_s == 2
    assert (settings.times_of("big").weights_s, settings.times_of("big").engine_start_s) == (2, 30)
    assert settings_from(None) == KubeletSettings()


@pytest.mark.parametrize(
    "text",
    ['{"nope": 1}', '{"times": {"image_pull": 1}}', '{"times": {"weights_s": -1}}', '{"services": []}', "{",
     '{"times": {"engine": {"nope": 1}}}', '{"jitter_pct": "5"}'],
)  # fmt: skip
def test_bad_settings_name_the_file(tmp_path: Path, text: str) -> None:
    file = tmp_path / "settings.json"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"settings\.json"):
        settings_from(file)


@given(st.floats(0.1, 600), st.floats(0, 50), st.integers())
def test_jitter_is_bounded_and_repeatable(seconds: float, pct: float, seed: int) -> None:
    settings = KubeletSettings(jitter_pct=pct, seed=seed)
    drawn = settings.jittered(seconds, "pod-1")
    assert drawn == settings.jittered(seconds, "pod-1")
    assert abs(drawn - seconds) <= seconds * pct / 100 + 1e-9


def test_a_disk_outlives_the_double_but_not_the_node(tmp_path: Path) -> None:
    async def play() -> None:
        disk = NodeDisk(tmp_path / "n.json", "uid-1")
        await asyncio.gather(*(disk.pull("sha256:ff", 0.01) for _ in range(5)))
        assert await disk.load_weights("m@1", 0.01, outlives_pod=True)
        assert not await disk.load_weights("m@1", 60.0, outlives_pod=True)
        assert await disk.load_weights("m@1", 0.01, outlives_pod=False)

    asyncio.run(play())
    assert NodeDisk(tmp_path / "n.json", "uid-1").has_image("sha256:ff")
    assert not NodeDisk(tmp_path / "n.json", "uid-2").has_image("sha256:ff")
