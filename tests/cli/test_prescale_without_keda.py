"""`status`, `watch` and `sync` in a cluster that does not know ScaledObjects: HPAs are looked at all the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from prescale import asking
from prescale.api import cluster as clustering
from tests.cli.prescale_command import run
from tests.core.api_double import ApiDouble
from tests.core.cluster_double import adopted_hpa
from tests.core.test_warmth import pod

WITHOUT = "no ScaledObject can be in namespace serving of https://api.example:6443"
INSTALL = "which is a cluster without KEDA. Install KEDA, or name another context: cluster.context in platform.yaml."
LIST = "/apis/keda.sh/v1alpha1/namespaces/serving/scaledobjects"


@pytest.fixture
def api(stacks: Path, monkeypatch: pytest.MonkeyPatch) -> ApiDouble:
    double = ApiDouble()
    double.has_keda = False
    monkeypatch.setattr(clustering.Cluster, "of", lambda *_: double.cluster())
    answers = lambda *_: lambda pods: dict.fromkeys(state.name for state, _ in pods)  # noqa: E731
    monkeypatch.setattr(asking, "asker", answers)
    monkeypatch.setattr("prescale.watching.eyes.asker", answers)
    return double


@pytest.fixture
def chat_is_adopted(api: ApiDouble, stacks: Path) -> Callable[..., None]:
    """An HPA of others scales `chat`, and it is warm; with `alone` it is the only service."""

    def adopt(*, alone: bool = False) -> None:
        file = stacks / "platform.yaml"
        head, _, service = file.read_text().partition("  support-bot:")
        chat = service.replace("name: support-8b", "name: chat-8b").rstrip("\n")
        entry = "    adopted: {kind: HorizontalPodAutoscaler, name: vllm, pod_labels: {app: vllm}}\n"
        file.write_text(f"{head}  chat:{chat}\n{entry}" + ("" if alone else f"  support-bot:{service}"))
        (stacks / "events.yaml").write_text("timezone: UTC\nevents: []\n")
        hpa = adopted_hpa(service="chat")
        api.hpas[hpa["metadata"]["name"]] = hpa
        api.pods = [pod(f"chat-{number}") for number in range(2)]
        for one in api.pods:
            one["metadata"]["labels"] = {"app": "vllm"}

    return adopt


def test_status_finds_that_keda_is_missing(api: ApiDouble) -> None:
    result = run("status", "-o", "json")
    (service,) = json.loads(result.stdout)["services"]
    assert (result.exit_code, service["missing"][0]) == (1, "no ScaledObject")
    (note,) = service["notes"]
    assert note.startswith(WITHOUT)
    assert note.endswith(INSTALL)


def test_watch_looks_on(api: ApiDouble) -> None:
    result = run("watch", "--timeout", "0.5s", "--interval", "0.5s")
    assert result.exit_code == 1
    assert "missing: no ScaledObject" in result.output


def test_a_plain_hpa_beside_it_is_judged(api: ApiDouble, chat_is_adopted: Callable[..., None]) -> None:
    chat_is_adopted()
    result = run("status", "-o", "json")
    warm = {one["service"]: one["warm"] for one in json.loads(result.stdout)["services"]}
    assert (result.exit_code, warm) == (1, {"chat": True, "support-bot": False})


@pytest.mark.parametrize("command", [("status",), ("sync",), ("watch", "--until-warm")])
def test_where_all_are_plain_hpas_nobody_asks_for_scaled_objects(
    api: ApiDouble, chat_is_adopted: Callable[..., None], command: tuple[str, ...]
) -> None:
    chat_is_adopted(alone=True)
    assert run(*command).exit_code == 0
    assert LIST not in {request.url.path for request in api.requests}


def test_sync_says_what_to_do(api: ApiDouble) -> None:
    (service,) = json.loads(run("sync", "-o", "json").stdout)["services"]
    (finding,) = service["findings"]
    assert finding.startswith(WITHOUT)
    assert finding.endswith(INSTALL)
    assert run("sync").exit_code == 1


def test_sync_raises_the_plain_hpa_beside_it(
    api: ApiDouble, stacks: Path, chat_is_adopted: Callable[..., None]
) -> None:
    chat_is_adopted()
    event = "name: sale, start: 2020-01-01 00:00, end: 2190-01-01 00:00, services: {chat: {replicas: 5}}"
    (stacks / "events.yaml").write_text(f"timezone: UTC\nevents: [{{{event}}}]\n")
    result = run("sync")
    assert (result.exit_code, api.hpas["vllm"]["spec"]["minReplicas"]) == (1, 5)
    assert WITHOUT in result.stdout


@pytest.mark.parametrize("command", ["status", "sync"])
def test_a_server_that_knows_no_path_is_none_of_kubernetes(
    api: ApiDouble, monkeypatch: pytest.MonkeyPatch, chat_is_adopted: Callable[..., None], command: str
) -> None:
    chat_is_adopted(alone=True)
    monkeypatch.setattr(api, "handle", lambda _: httpx2.Response(404, text="not found"))
    result = run(command)
    assert result.exit_code == 3
    assert "out of reach: it answered 404. Nothing was changed. Is the kubeconfig's address right?" in result.output
    assert "KEDA" not in result.output


def test_an_order_for_what_needs_keda_says_what_to_do(api: ApiDouble) -> None:
    result = run("now", "support-bot", "--floor", "3", "--for", "1h", "--reason", "x")
    assert result.exit_code == 1
    assert WITHOUT in result.output
    assert not api.config_maps
