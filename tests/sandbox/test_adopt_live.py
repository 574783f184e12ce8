"""`warmline prescale adopt` on a real API server, HPA controller and KEDA: raised by an event, followed, let go."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from lightkube import ApiError, Client
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.autoscaling_v2 import HorizontalPodAutoscaler

from sandbox.layout import Layout
from stacks import ownership
from tests.cli.stack_folder import copied_stacks
from tests.sandbox.test_sync_live import SPACE, ScaledObject, Stage, api, layout
from tests.sandbox.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.sandbox

# Fixtures are known by their names here.
__all__ = ["api", "layout"]

TARGET, SCALER, HPA, KEDAS = "vllm", "vllm-scaler", "vllm-hpa", "keda-hpa-vllm-scaler"
TRIGGER = {"serverAddress": "http://127.0.0.1:1", "query": "none", "threshold": "40", "ignoreNullValues": "false"}
MARKS = {ownership.STACK_LABEL: "local", ownership.SERVICE_LABEL: "support-bot"}


class Foreign(Stage):
    """A Deployment that others made, and what scales it; support-bot of stack local adopts that."""

    def __init__(self, api: Client, stacks: Path, kubeconfig: Path) -> None:
        super().__init__(api, stacks, kubeconfig)
        self.platform = stacks / "local" / "platform.yaml"
        self.text = self.platform.read_text().rstrip("\n")

    def names(self, kind: str, name: str) -> None:
        """platform.yaml says that support-bot adopts it."""
        entry = f"adopted: {{kind: {kind}, name: {name}, pod_labels: {{app: {TARGET}}}}}"
        self.platform.write_text(f"{self.text}\n    {entry}\n")

    def say(self, *words: str, code: int = 0) -> dict[str, Any]:
        process = self.start(*words, "-o", "json")
        text = process.communicate(timeout=PATIENCE_S)[0]
        assert process.returncode == code, text
        found: dict[str, Any] = json.loads(text)
        return found

    def scaled_object(self, minimum: int = 2) -> None:
        """As a chart applies it, again and again."""
        spec = {
            "scaleTargetRef": {"name": TARGET},
            "minReplicaCount": minimum,
            "maxReplicaCount": 16,
            "pollingInterval": 1,
            "triggers": [{"type": "prometheus", "metadata": TRIGGER}],
        }
        made = ScaledObject(metadata=ObjectMeta(name=SCALER, namespace=SPACE), spec=spec)
        self.api.apply(made, field_manager="a-chart", force=True)

    def hpa(self, name: str) -> dict[str, Any] | None:
        try:
            return self.api.get(HorizontalPodAutoscaler, name, namespace=SPACE).to_dict()
        except ApiError as error:
            if error.status.code == 404:
                return None
            raise

    def least(self, name: str) -> int:
        found: int = (self.hpa(name) or {"spec": {}})["spec"].get("minReplicas", 0)
        return found

    def wanted(self) -> int:
        spec = self.api.get(Deployment, TARGET, namespace=SPACE).spec
        return (spec.replicas if spec else 0) or 0


@pytest.fixture
def foreign(api: Client, layout: Layout, tmp_path: Path) -> Iterator[Foreign]:
    labels = {"app": TARGET}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "engine", "image": "none"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": pods}
    metadata = {"name": TARGET, "namespace": SPACE}
    api.create(cast("Deployment", Deployment.from_dict({"metadata": metadata, "spec": spec})))
    made = Foreign(api, copied_stacks(tmp_path), layout.kubeconfig)
    yield made
    for kind, name in ((ScaledObject, SCALER), (HorizontalPodAutoscaler, HPA), (Deployment, TARGET)):
        with suppress(ApiError):  # what the test did not make
            api.delete(cast("Any", kind), name, namespace=SPACE)
    eventually(lambda: made.hpa(KEDAS) is None and made.hpa(HPA) is None)


def test_a_scaled_object_of_others_is_raised_by_an_event_and_let_go(foreign: Foreign) -> None:
    foreign.names("ScaledObject", SCALER)
    foreign.scaled_object()
    eventually(lambda: foreign.least(KEDAS) == 2)
    taken = foreign.say("adopt", f"{SPACE}/{SCALER}", "--baseline", "2")
    assert (taken["adopted"], taken["findings"]) == (True, [])
    assert foreign.say("adopt", f"{SPACE}/{SCALER}")["patch"] is None

    service = foreign.sync()
    assert (service["was"], service["target"], foreign.least(KEDAS)) == (2, 7, 7)
    eventually(lambda: foreign.wanted() == 7)
    # With the next change of the object's spec KEDA copies our labels to its HPA: that one is no second target.
    assert MARKS.items() <= (foreign.hpa(KEDAS) or {})["metadata"]["labels"].items()
    assert foreign.sync()["patch"] is None

    foreign.scaled_object()
    metadata = foreign.api.get(ScaledObject, SCALER, namespace=SPACE)["metadata"]
    assert MARKS.items() <= metadata["labels"].items(), "an apply by others leaves our labels"
    assert foreign.sync()["notes"] == ["somebody lowered 7 to 2; raised again"]

    assert "sale holds its floor" in foreign.say("adopt", f"{SPACE}/{SCALER}", "--undo", code=1)["findings"][0]
    foreign.event(cancelled=True)
    assert foreign.sync()["target"] == 2
    eventually(lambda: foreign.least(KEDAS) == 2)
    foreign.say("adopt", f"{SPACE}/{SCALER}", "--undo")
    assert "warmline" not in json.dumps(_without_owners(foreign.api.get(ScaledObject, SCALER, namespace=SPACE)))


def test_a_plain_hpa_is_raised_by_an_event_and_let_go(foreign: Foreign) -> None:
    foreign.names("HorizontalPodAutoscaler", HPA)
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": TARGET}
    spec = {"scaleTargetRef": reference, "minReplicas": 2, "maxReplicas": 16, "metrics": [cpu]}
    made = HorizontalPodAutoscaler.from_dict({"metadata": {"name": HPA, "namespace": SPACE}, "spec": spec})
    foreign.api.create(cast("HorizontalPodAutoscaler", made))
    eventually(lambda: foreign.wanted() == 2)

    (before,) = foreign.say("sync", code=1)["services"]
    assert f"does not carry the labels of stack local in namespace {SPACE}" in before["findings"][0]
    assert foreign.least(HPA) == 2
    taken = foreign.say("adopt", f"{SPACE}/{HPA}", "--baseline", "2")
    assert (taken["adopted"], taken["findings"]) == (True, [])
    service = foreign.sync()
    assert (service["was"], service["target"], foreign.least(HPA)) == (2, 7, 7)
    # No metric is to be had here, and the floor needs none.
    eventually(lambda: foreign.wanted() == 7)
    eventually(lambda: (foreign.hpa(HPA) or {})["status"].get("currentReplicas") == 7)
    # Its pods carry no label of ours; those of platform.yaml count them, and that it is warm is noted on the HPA.
    eventually(lambda: len(foreign.pods()) == 7)
    foreign.make_ready(7)
    assert foreign.sync()["patch"] is None
    assert '"warm":7' in (foreign.hpa(HPA) or {})["metadata"]["annotations"][ownership.FLOOR_ANNOTATION]

    foreign.event(cancelled=True)
    assert foreign.sync()["target"] == 2
    assert foreign.least(HPA) == 2
    foreign.say("adopt", f"{SPACE}/{HPA}", "--undo")
    assert "warmline" not in json.dumps(_without_owners(foreign.hpa(HPA) or {}))


def test_an_hpa_that_a_scaled_object_owns_is_refused_by_its_name(foreign: Foreign) -> None:
    foreign.names("HorizontalPodAutoscaler", KEDAS)
    foreign.scaled_object()
    eventually(lambda: foreign.least(KEDAS) == 2)
    refused = foreign.say("adopt", f"{SPACE}/{KEDAS}", code=1)
    assert refused["findings"][0].startswith(f"HPA {KEDAS} is made by KEDA from ScaledObject {SCALER}")
    assert (refused["patch"], refused["adopted"]) == (None, False)
    assert "warmline" not in json.dumps(_without_owners(foreign.hpa(KEDAS) or {}))


def _without_owners(item: Any) -> dict[str, Any]:
    """The server's book of owners names us: we wrote there."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    return {"metadata": metadata, "spec": item["spec"]}
