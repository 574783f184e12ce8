"""`warmline prescale preflight` from the command line to the API server's HTTP."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner, Result

from cli.main import warmline
from prescale import clock
from prescale.api import cluster as clustering
from prescale.api.cluster import Cluster
from prescale.orders.order import Term, cancel_of, of_a_service
from prescale.preflight.seen import KINDS
from stacks import ownership
from tests.cli.stack_folder import edit
from tests.core.api_double import config
from tests.core.preflight.world import NOW, World, world

ORDERS = f"/configmaps/{ownership.orders_name('local')}"


class Api:
    """An API server that lists what `world` holds. `denied` says which kinds it answers with another code."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.denied: dict[str, int] = {}
        self.requests: list[httpx2.Request] = []
        self.page = 0
        self.orders: dict[str, str] = {}

    def handle(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        if request.url.path.endswith(ORDERS):
            name = request.url.path.rpartition("/")[2]
            labels = {ownership.STACK_LABEL: "local"}
            metadata = {"name": name, "namespace": "serving", "resourceVersion": "1", "labels": labels}
            return httpx2.Response(200, json={"metadata": metadata, "data": self.orders})
        plural = request.url.path.rpartition("/")[2]
        (kind,) = [str(kind) for kind, _ in KINDS if kind.plural == plural]
        if kind in self.denied:
            code = self.denied[kind]
            return httpx2.Response(code, json={"kind": "Status", "code": code, "message": f"{kind} is not shown"})
        items = self.world.objects.get(kind, [])
        begin = int(request.url.params.get("continue", "0"))
        end = begin + (self.page or len(items) or 1)
        metadata = {"resourceVersion": "1", **({"continue": str(end)} if end < len(items) else {})}
        return httpx2.Response(200, json={"metadata": metadata, "items": items[begin:end]})

    @property
    def asked(self) -> Counter[str]:
        return Counter(request.url.path for request in self.requests)


@pytest.fixture
def api(stacks: Path, monkeypatch: pytest.MonkeyPatch) -> Api:
    monkeypatch.setattr(clock, "now", lambda: NOW)
    made = Api(world())
    cluster = Cluster(config(), "serving", httpx2.MockTransport(made.handle))
    cluster.wire._sleep = lambda _: None
    monkeypatch.setattr(clustering.Cluster, "of", lambda *_: cluster)
    return made


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(warmline, ["prescale", "preflight", *arguments, "-s", "local"])
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_clean(api: Api) -> None:
    result = run()
    assert result.exit_code == 0, result.output
    first, last = result.output.splitlines()
    assert first == "diwali-sale, from 2027-10-29 19:30 Asia/Kolkata (14:00Z) on: support-bot 7"
    assert last.startswith("0 found, 0 not checked, of: target, orders, nodes, quota, ")


def test_each_kind_is_listed_once_and_nothing_else_is_asked(api: Api) -> None:
    run()
    always = [kind for kind, is_pointed_to in KINDS if is_pointed_to is None]
    assert len(api.requests) - 1 == len(always) == 12
    assert api.requests[-1].url.path.endswith(ORDERS)
    assert set(api.asked.values()) == {1}
    assert {request.method for request in api.requests} == {"GET"}
    pods = next(request for request in api.requests if request.url.path == "/api/v1/pods")
    assert pods.url.params["fieldSelector"] == "status.phase!=Failed,status.phase!=Succeeded"
    assert not any("secrets" in path for path in api.asked)


def test_pages_are_one_list(api: Api) -> None:
    api.page = 7
    assert run().exit_code == 0
    assert api.asked["/api/v1/nodes"] == 3


def test_found_in_words_and_as_data(api: Api) -> None:
    api.world.keep_nodes(5)
    result = run()
    assert result.exit_code == 1
    assert (
        "! nodes, support-bot: nodes of pool l40s: got room for 5 of 7 replicas (5 x too little nvidia.com/gpu left), "
        "expected 7 whole replicas. Uncordon or mend nodes"
    ) in result.output
    data = json.loads(run("-o", "json").output)
    assert data["moments"] == [
        {"at": "2027-10-29T14:00:00Z", "events": ["diwali-sale"], "orders": [], "floors": {"support-bot": 7}}
    ]
    (found,) = data["findings"]
    assert (found["check"], found["service"], found["got"]) == (
        "nodes",
        "support-bot",
        "room for 5 of 7 replicas (5 x too little nvidia.com/gpu left)",
    )
    assert data["not_checked"] == []
    assert {"nodes", "quota", "trigger", "server"} <= set(data["checks"])


def test_the_floors_of_another_time(api: Api) -> None:
    api.world.keep_nodes(5)
    result = run("--at", "2027-10-28 12:00")
    assert (result.exit_code, result.output.splitlines()[0]) == (
        0,
        "the baselines, from 2027-10-28 12:00 Asia/Kolkata (06:30Z) on: support-bot 2",
    )
    assert run("--at", "2027-10-29 23:00").exit_code == 1


def test_a_named_event(api: Api) -> None:
    assert run("--event", "diwali-sale").exit_code == 0
    result = run("--event", "holi")
    assert result.exit_code == 2
    assert "no event 'holi'; ahead are diwali-sale" in result.output
    assert run("--event", "diwali-sale", "--at", "2027-10-29 20:00").exit_code == 2
    assert run("--at", "soon").exit_code == 2


def test_orders_are_asked_about_beside_the_event(api: Api) -> None:
    order = of_a_service("now", "support-bot", 9, Term(NOW, NOW.add(hours=300), "alice@laptop", "on the news"))
    api.orders = {order.name: order.text()}
    result = run()
    assert result.output.startswith(f"diwali-sale, {order.name}, from 2027-10-29 19:30 Asia/Kolkata (14:00Z) on: ")
    (moment,) = json.loads(run("-o", "json").output)["moments"]
    assert (moment["orders"], moment["floors"]) == ([order.name], {"support-bot": 9})
    called_off = cancel_of("diwali-sale", None, Term(NOW, NOW.add(hours=300), "alice@laptop", "no sale"))
    api.orders = {called_off.name: called_off.text()}
    assert run().output.startswith("the baselines, ")
    assert run("--event", "diwali-sale").exit_code == 2


def test_what_is_forbidden_is_said_and_counts_where_asked_for(api: Api) -> None:
    api.denied = {"resourcequotas": 403}
    result = run()
    assert result.exit_code == 0
    said = "Forbidden. Give the user the verb list on resourcequotas, in the stack's namespace"
    assert f"? quota: not checked, because {said}" in result.output
    assert run("--strict").exit_code == 1


def test_a_kind_the_server_does_not_know_has_no_objects(api: Api) -> None:
    ident = "shop:keda.sh/ScaledObject:serving/support-bot"
    api.world.scaled_object["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"] = ident
    api.denied = {"applications.argoproj.io": 404}
    result = run()
    assert result.exit_code == 0
    assert (
        "? owner, support-bot: not checked, because Argo CD's Application shop is not in this cluster" in result.output
    )


def test_in_a_cluster_without_keda_that_is_what_is_found(api: Api) -> None:
    api.denied = {str(kind): 404 for kind, _ in KINDS if kind.group == "keda.sh"}
    result = run()
    assert result.exit_code == 1
    (line,) = [line for line in result.output.splitlines() if line.startswith("!")]
    assert line.startswith("! target, support-bot: ScaledObject: got no ScaledObject can be in namespace serving of ")
    assert "which is a cluster without KEDA, expected one. Install KEDA, or name another context" in line


def test_of_an_hpa_that_was_adopted_keda_is_not_asked(api: Api, stacks: Path) -> None:
    entry = "    adopted: {kind: HorizontalPodAutoscaler, name: vllm, pod_labels: {app: vllm}}\n"
    with (stacks / "platform.yaml").open("a") as file:
        file.write(entry)
    labels = {ownership.STACK_LABEL: "local", ownership.SERVICE_LABEL: "support-bot"}
    api.world.hpa["metadata"] = {"name": "vllm", "namespace": "serving", "resourceVersion": "1", "labels": labels}
    api.world.take_keda_away()
    api.denied = dict.fromkeys(api.world.unknown, 404)
    result = run()
    assert (result.exit_code, result.output.splitlines()[1].split(",")[0]) == (0, "0 found"), result.output
    api.denied = {"scaledobjects.keda.sh": 403}
    result = run()
    assert "? scaled-object: not checked, because Forbidden. Give the user the verb list on " in result.output
    assert result.exit_code == 0
    api.denied = {"horizontalpodautoscalers.autoscaling": 403}
    assert run().exit_code == 3, "what holds the floors is not shown"


def test_scaled_objects_that_hold_floors_and_are_not_shown(api: Api) -> None:
    api.denied = {"scaledobjects.keda.sh": 403}
    result = run()
    assert result.exit_code == 3
    assert "verb list on scaledobjects.keda.sh" in result.output


def test_a_server_that_does_not_know_what_every_api_server_does(api: Api) -> None:
    api.denied = {str(kind): 404 for kind, _ in KINDS}
    result = run()
    assert result.exit_code == 3
    assert "it does not know deployments.apps. Nothing was changed. Is the kubeconfig's address right?" in result.output


def test_an_answer_that_is_none_of_an_api_server(api: Api) -> None:
    api.world.nodes[0]["status"]["allocatable"]["cpu"] = "many"
    result = run()
    assert result.exit_code == 3
    assert "its answer is not one of a Kubernetes API server" in result.output


def test_nulls_are_as_good_as_nothing(api: Api) -> None:
    api.world.nodes[0]["spec"]["unschedulable"] = None
    api.world.template["volumes"][0]["persistentVolumeClaim"] = None
    api.world.deployment["spec"]["template"]["metadata"]["creationTimestamp"] = None
    assert run().exit_code == 0


def test_a_stack_that_is_not_built(api: Api) -> None:
    api.world.objects["scaledobjects.keda.sh"].clear()
    result = run()
    assert result.exit_code == 1
    assert "! target, support-bot: ScaledObject: got nothing of stack local is in namespace serving" in result.output


def test_a_floor_above_the_ceiling_is_bad_input(api: Api, stacks: Path) -> None:
    edit(stacks / "events.yaml", "rps: 26.7", "rps: 267")
    assert run().exit_code == 2
    assert api.requests == []


def test_several_stacks_and_the_worst_exit_code(api: Api) -> None:
    result = run("-s", "nowhere")
    assert result.exit_code == 2
    assert "no stack 'nowhere'" in result.output
    assert "Stack local\ndiwali-sale, from" in result.output
