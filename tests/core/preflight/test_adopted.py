"""A service that an HPA of others scales: what is KEDA's is not asked of it, everything else is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stacks import ownership
from stacks.loader import load_stack
from tests.cli.stack_folder import copied_stacks
from tests.core.cluster_double import BY
from tests.core.preflight.world import NAME, SPACE, World, world

HPAS, OBJECTS = "horizontalpodautoscalers.autoscaling", "scaledobjects.keda.sh"
ENTRY = "    adopted: {kind: HorizontalPodAutoscaler, name: vllm, pod_labels: {app: vllm}}\n"


@pytest.fixture
def adopted(tmp_path: Path) -> World:
    """The sound world, with an HPA in the place of KEDA's and no ScaledObject."""
    root = copied_stacks(tmp_path)
    file = root / "local" / "platform.yaml"
    file.write_text(file.read_text().rstrip("\n") + "\n" + ENTRY)
    made = world()
    made.stack = load_stack("local", root)
    made.objects[OBJECTS].clear()
    made.hpa["metadata"] = {
        "name": "vllm",
        "namespace": SPACE,
        "resourceVersion": "1",
        "labels": {ownership.STACK_LABEL: "local", ownership.SERVICE_LABEL: NAME},
        "annotations": {ownership.BASELINE_ANNOTATION: "2", **BY},
    }
    return made


def hpa(made: World) -> dict[str, Any]:
    return made.one(HPAS, "vllm")


def said(made: World) -> list[str]:
    report = made.report()
    assert report.not_checked == ()
    return [f"{one.check}: {one.what}: got {one.got}, expected {one.expected}. {one.fix}" for one in report.findings]


def test_a_sound_one_is_found_sound(adopted: World) -> None:
    assert said(adopted) == []


def test_so_it_is_in_a_cluster_without_keda(adopted: World) -> None:
    adopted.take_keda_away()
    assert said(adopted) == []
    adopted.one(HPAS, "vllm")["spec"]["maxReplicas"] = 5
    assert [one.partition(":")[0] for one in said(adopted)] == ["scaled-object"], "and all else is judged"


def test_others_scaled_objects_that_are_not_shown_are_said(adopted: World) -> None:
    adopted.unread[OBJECTS] = "Forbidden. Give it"
    report = adopted.report()
    assert report.findings == ()
    assert [(one.check, one.because) for one in report.not_checked] == [("scaled-object", "Forbidden. Give it")]


def low_ceiling(made: World) -> None:
    hpa(made)["spec"]["maxReplicas"] = 5


def applied_by_flux(made: World) -> None:
    fields: dict[str, Any] = {"f:spec": {"f:minReplicas": {}}}
    entry = {"manager": "kustomize-controller", "operation": "Apply", "fieldsV1": fields}
    hpa(made)["metadata"]["managedFields"] = [entry]


def a_scaled_object_beside(made: World) -> None:
    made.add(OBJECTS, "vllm", spec={"scaleTargetRef": {"name": NAME}})


def no_scaling_up(made: World) -> None:
    hpa(made)["spec"]["behavior"] = {"scaleUp": {"selectPolicy": "Disabled"}}


def resting(made: World) -> None:
    said = {"type": "ScalingActive", "status": "False", "reason": "ScalingDisabled"}
    hpa(made)["status"] = {"currentReplicas": 0, "conditions": [said]}


def without_a_budget(made: World) -> None:
    made.objects["poddisruptionbudgets.policy"].clear()


def not_adopted(made: World) -> None:
    hpa(made)["metadata"]["labels"] = {}


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (
            low_ceiling,
            "maxReplicas: got 5, expected at least the floor of 7. Raise maxReplicas of HPA vllm where it is",
        ),
        (applied_by_flux, "owner of minReplicas: got kustomize-controller (Flux), expected the pre-scaler alone."),
        (a_scaled_object_beside, "ScaledObjects that scale support-bot: got vllm beside HPA vllm, expected one object"),
        (no_scaling_up, "expected Max, or load above the floor gets no replicas. Take it out of its manifest."),
        (
            resting,
            "hpa: replicas of support-bot: got 0, expected 1 or more: at 0 HPA vllm rests, and no floor of it is",
        ),
        (without_a_budget, "expected one. Add one with maxUnavailable: 1 where its Deployment is made: without one a"),
        (not_adopted, "target: HorizontalPodAutoscaler: got HorizontalPodAutoscaler vllm does not carry the labels"),
    ],
)
def test_what_would_keep_its_floor_from_it(adopted: World, spoil: Callable[[World], None], words: str) -> None:
    spoil(adopted)
    assert any(words in one for one in said(adopted)), said(adopted)
