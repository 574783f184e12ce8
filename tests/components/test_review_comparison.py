"""What a review says of a change, on real renders that were changed."""

from __future__ import annotations

import copy
import json
from dataclasses import asdict
from typing import Any

import pytest

from infra.render import render
from infra.review.comparison import Comparison, compare
from infra.review.fields import ABSENT, FieldChange, field_changes
from infra.review.markdown import LIMIT, Incomplete, document, incomplete_document
from infra.review.redaction import MASK, shown
from tests.components.specs import platform, service_data

Objects = list[dict[str, Any]]


def _render(**changes: Any) -> Objects:
    """As `infra.render` prints it, of the service `support-bot` with some of its fields changed."""
    rendered = render("test", platform({"support-bot": service_data(**changes)}))
    objects: Objects = json.loads(json.dumps(asdict(rendered)))["objects"]
    return objects


@pytest.fixture(scope="module")
def base() -> Objects:
    return _render()


def _of_kind(objects: Objects, kind: str) -> dict[str, Any]:
    return next(item for item in objects if item["inputs"].get("kind") == kind)


def _spoilt(objects: Objects, kind: str, path: str, value: Any) -> Objects:
    """A copy in which `path` of one object has another value."""
    spoilt = copy.deepcopy(objects)
    place = _of_kind(spoilt, kind)["inputs"]
    *parents, last = path.split(".")
    for part in parents:
        place = place[int(part)] if part.isdigit() else place[part]
    place[last] = value
    return spoilt


def test_nothing_changed(base: Objects) -> None:
    comparison = compare(base, base)
    assert (comparison.added, comparison.removed, comparison.changed, comparison.findings) == ((), (), (), ())
    assert "**no object changes** · GPUs at baseline 2, at ceiling 16 · no findings" in document("t", comparison)


def test_a_raised_ceiling_is_no_finding(base: Objects) -> None:
    text = document("t", compare(base, _render(replicas={"min": 2, "max": 32})))
    assert "GPUs at baseline 2, at ceiling 16 → 32 · no findings" in text
    assert "| changed | `ScaledObject serving/support-bot` | `spec.maxReplicaCount` | `16` | `32` |" in text
    assert "| `serving/support-bot` | 2 | 16 → 32 | 2 | 16 → 32 |" in text


def test_lowered_numbers_are_findings(base: Objects) -> None:
    comparison = compare(base, _render(replicas={"min": 1, "max": 8}))
    assert [text.partition(",")[0] for text in comparison.findings] == [
        "serving/support-bot: baseline lowered from 2 to 1",
        "serving/support-bot: ceiling lowered from 16 to 8",
    ]
    assert "| ignored by `pulumi up` | `ScaledObject serving/support-bot` | `spec.minReplicaCount`" in document(
        "t", comparison
    )


def test_a_service_that_goes_is_a_finding_for_each_object(base: Objects) -> None:
    both = render("test", platform({"support-bot": service_data(), "b": service_data(model=_model("b"))}))
    objects = json.loads(json.dumps(asdict(both)))["objects"]
    comparison = compare(objects, base)
    assert len(comparison.removed) == 5
    assert {text.split(" ")[0] for text in comparison.findings} == {
        "Deployment",
        "Service",
        "PodDisruptionBudget",
        "ScaledObject",
    }
    assert compare(base, objects).findings == ()
    assert len(compare(base, objects).added) == 5


def _model(name: str) -> dict[str, str]:
    return {"name": name, "source": "s3://w/x", "revision": "1"}


@pytest.mark.parametrize(
    ("kind", "path", "value", "is_finding"),
    [
        ("Deployment", "spec.selector.matchLabels.tier", "x", True),
        ("Deployment", "metadata.namespace", "other", True),
        ("Service", "spec.clusterIP", "10.0.0.1", True),
        ("Namespace", "metadata.name", "other", True),
        ("DaemonSet", "spec.selector.matchLabels.tier", "x", False),
        ("Deployment", "spec.progressDeadlineSeconds", 1, False),
        ("Service", "spec.ports.0.port", 81, False),
    ],
)
def test_predicted_replacement(base: Objects, kind: str, path: str, value: Any, is_finding: bool) -> None:
    comparison = compare(base, _spoilt(base, kind, path, value))
    assert any("is replaced (predicted)" in text for text in comparison.findings) is is_finding
    is_replaced = is_finding or kind == "DaemonSet"
    assert any(item.replaced_by for item in comparison.changed) is is_replaced
    assert ("1 replaced (predicted)" in document("t", comparison)) is is_replaced


def test_a_renamed_object_without_an_alias_is_a_finding(base: Objects) -> None:
    renamed = copy.deepcopy(base)
    item = _of_kind(renamed, "Service")
    item["urn"], item["name"] = item["urn"] + "-2", item["name"] + "-2"
    comparison = compare(base, renamed)
    assert comparison.renamed == (("Service serving/support-bot", "support-bot-service-2"),)
    assert len(comparison.findings) == 1
    item["options"]["aliases"] = [{"name": "support-bot-service"}]
    assert compare(base, renamed).findings == ()


def test_another_cluster_is_a_finding(base: Objects) -> None:
    """One that had no name may be the same; one of another name is not, and Pulumi builds all of it there."""
    named, moved = _in_context(base, "prod"), _in_context(base, "prod-2")
    assert compare(base, named).findings == ("Provider cluster changes: the stack may go to another cluster.",)
    comparison = compare(named, moved)
    assert comparison.findings == (
        "Provider cluster is another cluster's: every object is made anew there, and deleted here (predicted).",
    )
    text = document("t", comparison)
    assert "| replaced (predicted) | `Provider cluster` | `clusterIdentifier` | `prod` | `prod-2` |" in text
    assert "1 replaced (predicted)" in text


def test_a_cluster_that_is_only_named_as_one_is_no_finding(base: Objects) -> None:
    """As it is where a program of before is compared with one that names it."""
    before = _in_context(base, "prod")
    provider = next(item for item in before if item["type"] == "pulumi:providers:kubernetes")
    del provider["inputs"]["clusterIdentifier"]
    comparison = compare(before, _in_context(base, "prod"))
    assert comparison.findings == ()
    assert [item.replaced_by for item in comparison.changed] == [()]


def _in_context(base: Objects, context: str) -> Objects:
    moved = copy.deepcopy(base)
    provider = next(item for item in moved if item["type"] == "pulumi:providers:kubernetes")
    provider["inputs"] |= {"context": context, "clusterIdentifier": context}
    return moved


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ({}, {"a": {"b": 1, "c": {}}}, [("a.b", ABSENT, 1), ("a.c", ABSENT, {})]),
        ({"a": [1]}, {}, [("a", [1], ABSENT)]),
        ({"a": []}, {"a": [{"name": "x", "v": 1}]}, [("a[x].name", ABSENT, "x"), ("a[x].v", ABSENT, 1)]),
        ({"a": [{"v": 1}]}, {"a": [{"v": 2}]}, [("a[0].v", 1, 2)]),
        ({"a": 1}, {"a": True}, [("a", 1, True)]),
        ({"a": None}, {}, [("a", None, ABSENT)]),
        ({"a": {"b": 1}}, {"a": [1]}, [("a", {"b": 1}, [1])]),
        (
            {"a": [{"name": "x"}, {"name": "y"}]},
            {"a": [{"name": "y"}, {"name": "x"}]},
            [("a (order)", ["x", "y"], ["y", "x"])],
        ),
        (
            {"x.args": ["--a=1", "--b"]},
            {"x.args": ["--b", "--a=1"]},
            [("x.args (order)", ["--a", "--b"], ["--b", "--a"])],
        ),
    ],
)
def test_field_changes(before: Any, after: Any, changes: list[tuple[str, Any, Any]]) -> None:
    assert list(field_changes(before, after)) == [FieldChange(*change) for change in changes]


def test_containers_and_flags_are_told_by_name(base: Objects) -> None:
    engine = service_data()["engine"]
    after = _render(engine=engine | {"max_num_seqs": 96, "args": {"max-model-len": "8192"}})
    (changed,) = [item for item in compare(base, after).changed if item.object.startswith("Deployment")]
    args = "spec.template.spec.containers[engine].args"
    assert [
        (item.path, item.before, item.after) for item in changed.fields if item.path != f"{args}[--max-model-len]"
    ] == [
        (f"{args}[--max-num-seqs]", "64", "96"),
    ]
    assert f"| `{args}[--max-model-len]` | `absent` | `8192` |" in document("t", compare(base, after))


@pytest.mark.parametrize(
    ("path", "is_shown"),
    [
        ("spec.maxReplicaCount", True),
        ("spec.template.spec.containers[engine].image", True),
        ("spec.template.spec.containers[engine].resources.limits.nvidia.com/gpu", True),
        ("spec.template.spec.containers[engine].args[--max-num-seqs]", True),
        ("spec.template.spec.containers[engine].args[--api-key]", False),
        ("spec.template.spec.containers[engine].args[--hf-token]", False),
        ("spec.template.spec.containers[engine].args[--whatever-is-new]", False),
        ("spec.template.spec.containers[engine].env[TOKEN].value", False),
        ("spec.template.spec.containers[engine].env[TOKEN].name", True),
        ("spec.template.spec.containers[engine].livenessProbe.httpGet.path", True),
        ("spec.template.spec.containers[engine].livenessProbe.httpGet.httpHeaders[0].value", False),
        ("spec.template.spec.containers[engine].livenessProbe.exec.command", False),
        ("spec.template.spec.initContainers[weights].command", False),
        ("spec.triggers[in-flight].metadata.query", True),
        ("spec.triggers[in-flight].metadata.customHeaders", False),
        ("spec.triggers[in-flight].metadata.serverAddress", False),
        ("metadata.annotations.warmline.dev/baseline", True),
        ("metadata.annotations.example.com/note", False),
        ("data.password", False),
        ("stringData.password", False),
        ("kubeconfig", False),
        ("options.customTimeouts.create", True),
    ],
)
def test_only_what_is_known_to_be_harmless_is_shown(path: str, is_shown: bool) -> None:
    before, after = shown(FieldChange(path, "hunter2", "hunter3"))
    assert ("hunter2" in before, "hunter3" in after) == (is_shown, is_shown)
    assert is_shown or {before, after} == {MASK}


def test_a_secret_value_is_masked_and_its_change_told(base: Objects) -> None:
    env = _of_kind(base, "Deployment")["inputs"]["spec"]["template"]["spec"]["containers"][0]["env"]
    path = f"spec.template.spec.containers.0.env.{len(env) - 1}.value"
    text = document("t", compare(base, _spoilt(base, "Deployment", path, "hunter2")))
    assert "hunter2" not in text
    assert "`(masked)` | `(masked)`" in text


@pytest.mark.parametrize(
    "hostile",
    ["a|b", "a\nb\n# c", "`x`", "``", "<img src=x>", "@everyone", "[a](http://b)", "| a | b |", "x" * 9000, ""],
)
def test_values_cannot_leave_their_cell(base: Objects, hostile: str) -> None:
    text = document("t", compare(base, _spoilt(base, "Deployment", "metadata.labels.evil", hostile)))
    (row,) = [line for line in text.splitlines() if "metadata.labels.evil" in line]
    assert row.replace("\\|", "").count("|") == 6
    assert len(row) < 1000


def test_a_title_is_text() -> None:
    text = document("a|b <script> @team #1", Comparison())
    assert text.startswith("## a\\|b \\<script\\> @\u200bteam #\u200b1\n")


def test_long_reviews_are_cut_after_the_totals(base: Objects) -> None:
    after = copy.deepcopy(base)
    labels = _of_kind(after, "Deployment")["inputs"]["metadata"]["labels"]
    labels |= {f"label-{number}": "x" * 60 for number in range(2000)}
    text = document("t", compare(base, after))
    assert len(text) <= LIMIT
    assert "**1 changed**" in text.splitlines()[2]
    assert "more rows are not shown" in text.splitlines()[-1]


def test_more_findings_than_fit_are_cut_too() -> None:
    findings = tuple(f"finding {number} {'x' * 80}" for number in range(2000))
    text = document("t", Comparison(findings=findings))
    assert len(text) <= LIMIT
    assert "2000 findings" in text.splitlines()[2]


def test_incomplete_is_said_first_and_quoted_safely() -> None:
    text = incomplete_document("t", [Incomplete("main", "x\n```\n# not a heading\n" + "y" * 9000)])
    assert "**INCOMPLETE**" in text.splitlines()[2]
    assert "````text" in text
    assert len(text) < 3000
