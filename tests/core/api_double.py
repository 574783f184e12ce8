"""An API server in memory, behind lightkube's own HTTP: ScaledObjects and their HPAs, others, ConfigMaps, outages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from email.utils import format_datetime
from typing import Any

import httpx2
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.config.models import Cluster as ClusterEntry
from lightkube.config.models import User
from whenever import Instant

from prescale.api.cluster import Cluster
from prescale.clock import now as this_clock
from stacks import ownership
from tests.core.cluster_double import is_hpa, merged, patched

OBJECTS = "/apis/keda.sh/v1alpha1/namespaces/serving/scaledobjects"
HPAS = "/apis/autoscaling/v2/namespaces/serving/horizontalpodautoscalers"
PODS = "/api/v1/namespaces/serving/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/serving/deployments"
CONFIG_MAPS = "/api/v1/namespaces/serving/configmaps"


class ApiDouble:
    """`before_patch` runs once before the next patch is looked at: whatever it does came in between.

    Without `has_keda` it does not know ScaledObjects.
    """

    def __init__(self, *objects: dict[str, Any]) -> None:
        self.objects = {item["metadata"]["name"]: item for item in objects if not is_hpa(item)}
        self.hpas = {item["metadata"]["name"]: item for item in objects if is_hpa(item)}
        self.deployments: list[dict[str, Any]] = []
        self.pods: list[dict[str, Any]] = []
        self.clock: Callable[[], Instant] = this_clock
        self.keda_works = True
        self.has_keda = True
        self.minimums: dict[str, int] = {}
        self.running: dict[str, int] = {}
        self.config_maps: dict[str, dict[str, Any]] = {}
        self.answers: list[httpx2.Response | Exception] = []
        self.before_patch: list[Callable[[], None]] = []
        self.patches: list[tuple[str, dict[str, Any], str]] = []
        self.requests: list[httpx2.Request] = []
        self._cluster: Cluster | None = None
        self._reconcile()

    def handle(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        if request.url.path.startswith(CONFIG_MAPS):
            return self._config_map(request, request.url.path.removeprefix(CONFIG_MAPS).removeprefix("/"))
        path = request.url.path
        if path.startswith(OBJECTS) and not self.has_keda:
            return httpx2.Response(404, text="404 page not found\n")  # as it says of any path that is none
        if request.method == "PATCH":
            patch, manager = json.loads(request.content), request.url.params["fieldManager"]
            if path.startswith(HPAS):
                return self._patch_hpa(path.removeprefix(f"{HPAS}/"), patch, manager)
            return self._patch(path.removeprefix(f"{OBJECTS}/"), patch, manager)
        return self._read(request, path.removeprefix(f"{OBJECTS}/"))

    def _handle_late(self, request: httpx2.Request) -> httpx2.Response:
        return self.handle(request)  # looked up now, so that a test may wrap it

    def _read(self, request: httpx2.Request, name: str) -> httpx2.Response:
        path = request.url.path
        kedas = (self._hpa(hpa, least) for hpa, least in self.minimums.items())
        lists: dict[str, Iterable[dict[str, Any]]] = {
            OBJECTS: self.objects.values(),
            HPAS: [*kedas, *map(self._listed, self.hpas.values())],
            PODS: self.pods,
            DEPLOYMENTS: self.deployments,
        }
        if path in lists:
            return self._list(_selected(lists[path], request))
        if one := self.objects.get(name) or self.hpas.get(path.removeprefix(f"{HPAS}/")):
            return self._json(200, one)
        return self._json(404, {"kind": "Status", "code": 404, "message": f"{path} not found"})

    def _patch(self, name: str, patch: dict[str, Any], manager: str) -> httpx2.Response:
        return self._patch_one(self.objects, name, patch, manager)

    def _patch_hpa(self, name: str, patch: dict[str, Any], manager: str) -> httpx2.Response:
        return self._patch_one(self.hpas, name, patch, manager)

    def _patch_one(
        self, objects: dict[str, dict[str, Any]], name: str, patch: dict[str, Any], manager: str
    ) -> httpx2.Response:
        if self.before_patch:
            self.before_patch.pop(0)()
        current = objects.get(name)
        if current is None:
            return self._json(404, {"kind": "Status", "code": 404, "message": f"{name} not found"})
        if patch["metadata"]["resourceVersion"] != current["metadata"]["resourceVersion"]:
            return self._json(409, {"kind": "Status", "code": 409, "message": "the object has been modified"})
        patch["metadata"].pop("resourceVersion")
        self.patches.append((name, patch, manager))
        objects[name] = patched(current, patch, manager)
        self._reconcile()
        return self._json(200, objects[name])

    def _config_map(self, request: httpx2.Request, name: str) -> httpx2.Response:
        current = self.config_maps.get(name)
        if request.method == "POST":
            made = json.loads(request.content)
            name = made["metadata"]["name"]
            if name in self.config_maps:
                return self._json(409, {"kind": "Status", "code": 409, "message": f"{name} already exists"})
            self.config_maps[name] = merged(made, {"metadata": {"resourceVersion": "1"}})
        elif current is None:
            return self._json(404, {"kind": "Status", "code": 404, "message": f"{name} not found"})
        elif request.method == "PATCH":
            patch, version = {"metadata": {}} | json.loads(request.content), current["metadata"]["resourceVersion"]
            if patch["metadata"].get("resourceVersion", version) != version:
                return self._json(409, {"kind": "Status", "code": 409, "message": "the object has been modified"})
            patch["metadata"]["resourceVersion"] = str(int(version) + 1)
            self.config_maps[name] = merged(current, patch)
        elif request.method == "DELETE":
            del self.config_maps[name]
            return self._json(200, {"kind": "Status", "status": "Success"})
        return self._json(200, self.config_maps[name])

    def _hpa(self, name: str, minimum: int) -> dict[str, Any]:
        """As KEDA makes it: with the ScaledObject's labels and annotations, and its owner."""
        running = {"status": {"currentReplicas": self.running[name]}} if name in self.running else {}
        metadata: dict[str, Any] = {"name": name, "namespace": "serving", "resourceVersion": "1"}
        of = name.removeprefix("keda-hpa-")
        if of in self.objects:
            theirs = self.objects[of]["metadata"]
            metadata["labels"] = {**(theirs.get("labels") or {}), ownership.SCALED_OBJECT_LABEL: of}
            metadata["annotations"] = theirs.get("annotations") or {}
            metadata["ownerReferences"] = [{"kind": "ScaledObject", "name": of}]
        ref = self.objects.get(of, {}).get("spec", {}).get("scaleTargetRef", {"name": of})
        spec = {"minReplicas": minimum, "maxReplicas": 16, "scaleTargetRef": {"kind": "Deployment", **ref}}
        return {"metadata": metadata, "spec": spec, **running}

    def _listed(self, hpa: dict[str, Any]) -> dict[str, Any]:
        """As a list has it: without its kind, which the list's own says."""
        return {key: value for key, value in hpa.items() if key not in {"apiVersion", "kind"}}

    def orders(self, stack: str = "local") -> dict[str, Any]:
        """Name -> entry of every order that is kept."""
        kept = self.config_maps.get(ownership.orders_name(stack), {})
        return {name: json.loads(text) for name, text in kept.get("data", {}).items()}

    def person(self, name: str, minimum: int) -> None:
        """Somebody patches minReplicaCount by hand."""
        self.objects[name] = patched(self.objects[name], {"spec": {"minReplicaCount": minimum}}, "kubectl-patch")
        self._reconcile()

    def minimum(self, name: str = "support-bot") -> int:
        value: int = self.objects[name]["spec"].get("minReplicaCount", 0)
        return value

    def record(self, name: str = "support-bot") -> str | None:
        annotations: dict[str, str] = self.objects[name]["metadata"]["annotations"]
        return annotations.get(ownership.FLOOR_ANNOTATION)

    def cluster(self) -> Cluster:
        """The client of this server; it does not sleep between tries."""
        if self._cluster is None:
            self._cluster = Cluster(config(), "serving", httpx2.MockTransport(self._handle_late))
            self._cluster.wire._sleep = lambda _: None
        return self._cluster

    def _reconcile(self) -> None:
        if self.keda_works:
            for name, item in self.objects.items():
                self.minimums[f"keda-hpa-{name}"] = item["spec"].get("minReplicaCount") or 1

    def _list(self, items: Any) -> httpx2.Response:
        return self._json(200, {"metadata": {"resourceVersion": "1"}, "items": list(items)})

    def _json(self, code: int, body: dict[str, Any]) -> httpx2.Response:
        date = format_datetime(self.clock().to_stdlib().astimezone(), usegmt=False)
        return httpx2.Response(code, json=body, headers={"Date": date})


def _selected(items: Iterable[dict[str, Any]], request: httpx2.Request) -> list[dict[str, Any]]:
    """Those that carry every label asked for."""
    asked = request.url.params.get("labelSelector")
    wanted = dict(one.split("=") for one in asked.split(",")) if asked else {}
    return [item for item in items if wanted.items() <= (item["metadata"].get("labels") or {}).items()]


def config(server: str = "https://api.example:6443") -> SingleConfig:
    chosen = KubeConfig.from_one(cluster=ClusterEntry(server=server), user=User(token="t")).get()
    assert chosen
    return chosen
