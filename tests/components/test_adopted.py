"""A service that others built: nothing of it is registered, what others made is not taken along, its floor may be."""

from __future__ import annotations

from typing import Any

import pytest

from infra import checks
from infra.manifests import is_manifest
from infra.overview import notes, service_numbers
from infra.render import Render, render
from infra.runner.files import StackFiles
from infra.runner.manifests import manifests, runner_site
from stacks.fit import misfits
from stacks.spec import Platform, Runner
from tests.components.specs import platform, service_data

IMAGE = "registry.example/warmline@sha256:" + "1" * 64
FRAUD_IMAGE = "registry.example/fraud@sha256:" + "3" * 64
MODEL = {"name": "fraud-8b", "source": "s3://weights/fraud-8b", "revision": "1"}


def adopted(kind: str = "HorizontalPodAutoscaler", name: str = "fraud-hpa", **changes: Any) -> dict[str, Any]:
    engine = {**service_data()["engine"], "image": FRAUD_IMAGE}
    target = {"kind": kind, "name": name, "pod_labels": {"app": "fraud"}}
    return service_data(model=MODEL, engine=engine, adopted=target) | changes


def given(fraud: dict[str, Any] | None = None, **more: Any) -> Platform:
    return platform({"support-bot": service_data(), "fraud-bot": fraud or adopted(), **more})


def objects(rendered: Render) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (item.inputs["kind"], item.inputs["metadata"]["name"]): item.inputs
        for item in rendered.objects
        if is_manifest(item)
    }


def test_nothing_of_it_is_built_and_all_of_the_others() -> None:
    both, alone = objects(render("test", given())), objects(render("test", platform()))
    assert both == alone
    assert "fraud" not in str(both)


def test_a_namespace_that_holds_what_others_built_outlives_a_destroy() -> None:
    def retained(given: Platform) -> list[bool]:
        found = (item for item in render("test", given).objects if is_manifest(item))
        return [item.options.get("retainOnDelete", False) for item in found if item.inputs["kind"] == "Namespace"]

    assert retained(given()) == [True]
    assert retained(platform()) == [False]


def test_the_runner_may_write_its_hpa_and_no_other() -> None:
    fraud = adopted("ScaledObject", "fraud-scaler")
    settings = Runner.model_validate({"image": IMAGE})

    def written(given: Platform) -> dict[str, set[str]]:
        made = manifests(runner_site("test", given, settings, StackFiles({}, ()), "warmline"))
        rules = [rule for item in made if item["kind"] == "Role" for rule in item["rules"]]
        writes = (rule for rule in rules if "patch" in rule["verbs"] and rule["resources"] != ["configmaps"])
        return {rule["resources"][0]: {*rule["resourceNames"]} for rule in writes}

    assert written(given()) == {"scaledobjects": {"support-bot"}, "horizontalpodautoscalers": {"fraud-hpa"}}
    assert written(given(fraud)) == {"scaledobjects": {"support-bot", "fraud-scaler"}}
    # An empty list of names would mean every ScaledObject.
    only = platform({"fraud-bot": adopted()})
    assert written(only) == {"horizontalpodautoscalers": {"fraud-hpa"}}


def test_how_others_start_their_engine_is_theirs() -> None:
    engine = {**service_data()["engine"], "version": "0.11.0", "args": {"port": "9000"}}
    assert list(checks.misfits(given(adopted(engine=engine)))) == []
    assert list(checks.misfits(platform({"support-bot": service_data(engine=engine)})))


def test_a_model_that_two_services_serve_is_a_fault_whoever_built_them() -> None:
    (found,) = checks.misfits(given(adopted(model=service_data()["model"])))
    assert found.path == ("services", "fraud-bot", "model", "name")


def test_preview_counts_what_is_built_and_says_who_takes_the_rest() -> None:
    both = given()
    assert [each["service"] for each in service_numbers(render("test", both), both)] == ["support-bot"]
    (said,) = [note for note in notes("test", both) if "fraud-bot: nothing" in note]
    assert "`warmline prescale adopt` takes HorizontalPodAutoscaler fraud-hpa" in said


@pytest.mark.parametrize(
    ("fraud", "more", "path", "expected"),
    [
        (adopted("ScaledObject", "support-bot"), {}, ("adopted", "name"), "an object of other hands"),
        (adopted(), {"third-bot": adopted()}, ("adopted", "name"), "services.fraud-bot has this one"),
        (adopted(replicas={"min": 0, "max": 4}), {}, ("replicas", "min"), "1 or more"),
    ],
)
def test_what_cannot_be_adopted(fraud: dict[str, Any], more: dict[str, Any], path: Any, expected: str) -> None:
    (found,) = misfits(given(fraud, **more))
    assert found.path[2:] == path
    assert expected in found.expected


def test_an_hpa_may_be_called_as_a_scaled_object_is() -> None:
    assert list(misfits(given(adopted("HorizontalPodAutoscaler", "support-bot")))) == []
    assert list(misfits(given(adopted("ScaledObject", "x", replicas={"min": 0, "max": 4})))) == []
