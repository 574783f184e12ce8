"""The runner inside the cluster: its objects, what its account may do, and that a pod reads the stack as it is here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from infra.render import render
from infra.runner.component import PrescaleRunner
from infra.runner.files import StackFiles, stack_files
from infra.runner.manifests import RunnerSite, manifests
from infra.schemas.check import faults
from stacks import runner
from stacks.faults import InputError
from stacks.folders import STACK_NAME
from stacks.loader import load_platform, load_stack
from stacks.spec import Runner
from tests.cli.stack_folder import copied_stacks, edit
from tests.components.recorded import plain, registrations

Object = dict[str, Any]

IMAGE = "registry.example/warmline@sha256:" + "1" * 64
FILES = StackFiles({"platform.yaml": "a: 1\n"}, (("platform.yaml", "platform.yaml"),))


def site(stack: str = "prod", **changes: Any) -> RunnerSite:
    settings = Runner.model_validate({"image": IMAGE, "webhook_secret": "warmline-webhook"} | changes)
    return RunnerSite(stack, "serving", ("support-bot", "search-bot"), settings, FILES, "warmline")


def of_kind(kind: str, objects: list[Object]) -> list[Object]:
    return [item for item in objects if item["kind"] == kind]


def pod(objects: list[Object]) -> Object:
    (job,) = of_kind("CronJob", objects)
    spec: Object = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return spec


def test_manifests(golden: SnapshotAssertion) -> None:
    assert manifests(site()) == golden


def _component() -> None:
    PrescaleRunner("warmline-prescale-prod", site(), "serving")


def test_component_registers_what_is_printed(golden: SnapshotAssertion) -> None:
    registered = registrations(_component)
    objects = [item.inputs for item in registered if item.type.startswith("kubernetes:")]
    key = "metadata", "name"
    by_name = {(item["kind"], item[key[0]][key[1]]): item for item in objects}
    assert by_name == {(item["kind"], item[key[0]][key[1]]): item for item in manifests(site())}
    assert [{"urn": item["urn"]} for item in plain(registered)] == golden


def test_every_object_is_one_of_its_schema() -> None:
    assert [fault for item in manifests(site()) for fault in faults(item)] == []


VERBS_THAT_CHANGE = {"create", "update", "patch", "delete", "deletecollection"}


def test_the_account_may_do_what_its_calls_need_and_no_more() -> None:
    objects = manifests(site())
    allowed = {
        (rule["apiGroups"][0], resource, verb, name)
        for role in of_kind("Role", objects)
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", ["*"])
    }
    assert allowed == {
        ("keda.sh", "scaledobjects", "list", "*"),
        ("autoscaling", "horizontalpodautoscalers", "list", "*"),
        ("", "pods", "list", "*"),
        *(("keda.sh", "scaledobjects", verb, name) for verb in ("get", "patch") for name in site().scaled_objects),
        *(("", "configmaps", verb, "warmline-prescale-prod-findings") for verb in ("get", "patch")),
        *(("", "configmaps", verb, "warmline-starts-prod") for verb in ("get", "patch")),
    } | {item for item in allowed if item[3] == "warmline-orders-prod"}


def test_nothing_that_changes_is_allowed_without_a_name() -> None:
    for capability, rules in runner.CAPABILITIES.items():
        for rule in rules:
            assert not set(rule.verbs) & VERBS_THAT_CHANGE or rule.of != "any", capability
            assert "*" not in {rule.group, rule.resource, *rule.verbs}, capability
            assert rule.resource not in {"secrets", "roles", "rolebindings", "serviceaccounts"}, capability


def test_a_role_for_each_capability_bound_to_the_account_and_nobody_else() -> None:
    objects = manifests(site())
    roles = [item["metadata"]["name"] for item in of_kind("Role", objects)]
    assert roles == [f"warmline-prescale-prod-{name}" for name in runner.CAPABILITIES if name != "adopted-hpas"]
    bindings = of_kind("RoleBinding", objects)
    assert [item["roleRef"]["name"] for item in bindings] == roles
    for item in bindings:
        assert item["roleRef"]["kind"] == "Role", "a ClusterRole would hold in every namespace"
        assert item["subjects"] == [
            {"kind": "ServiceAccount", "name": "warmline-prescale-prod", "namespace": "serving"}
        ]


def test_what_it_may_patch_is_there_from_the_start_and_empty() -> None:
    """An account that may make ConfigMaps may make any; and what runs write in them is no builder's."""
    objects = manifests(site())
    made = {item["metadata"]["name"]: item for item in of_kind("ConfigMap", objects)}
    rules = [rule for role in of_kind("Role", objects) for rule in role["rules"] if "configmaps" in rule["resources"]]
    written = {name for rule in rules if "patch" in rule["verbs"] for name in rule["resourceNames"]}
    assert written == {"warmline-starts-prod", "warmline-prescale-prod-findings"}
    assert all("data" not in made[name] for name in written)


def test_without_a_webhook_nothing_is_remembered_of_it() -> None:
    objects = manifests(site(webhook_secret=None))
    assert not [item for item in objects if "findings" in item["metadata"]["name"]]
    assert [variable["name"] for variable in pod(objects)["containers"][0]["env"]] == ["WARMLINE_STACKS_DIR"]


def test_the_webhooks_address_is_in_no_object() -> None:
    variables = {item["name"]: item for item in pod(manifests(site()))["containers"][0]["env"]}
    key = {"secretKeyRef": {"name": "warmline-webhook", "key": "url"}}
    assert variables["WARMLINE_WEBHOOK_URL"]["valueFrom"] == key


def test_the_pod_is_restricted() -> None:
    spec = pod(manifests(site()))
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"]["memory"]
    assert re.search("@sha256:[0-9a-f]{64}$", container["image"])
    assert all(set(volume) == {"name", "configMap"} for volume in spec["volumes"])
    assert "hostNetwork" not in spec


@pytest.mark.parametrize("every_min", runner.PERIODS_MIN)
def test_one_run_at_a_time_and_none_into_the_next(every_min: int) -> None:
    (job,) = of_kind("CronJob", manifests(site(every_min=every_min)))
    spec = job["spec"]
    assert spec["schedule"] == f"*/{every_min} * * * *"
    assert (spec["timeZone"], spec["concurrencyPolicy"]) == ("Etc/UTC", "Forbid")
    # Source: Kubernetes 1.34: below 10 s a CronJob may never start.
    assert 10 <= spec["startingDeadlineSeconds"] <= every_min * 60
    job_spec = spec["jobTemplate"]["spec"]
    assert job_spec["backoffLimit"] == 0
    assert 30 < job_spec["activeDeadlineSeconds"] < every_min * 60, "longer than the slowest credential plugin"


def test_the_periods_are_those_of_the_spec() -> None:
    assert get_args(Runner.model_fields["every_min"].annotation) == runner.PERIODS_MIN
    assert all(60 % period == 0 for period in runner.PERIODS_MIN), "cron's steps begin anew with each hour"


@given(st.from_regex(STACK_NAME, fullmatch=True))
def test_any_stack_has_names_that_kubernetes_takes(stack: str) -> None:
    for item in manifests(site(stack)):
        name = item["metadata"]["name"]
        # A ConfigMap's may have dots. Source: Kubernetes 1.34, DNS-1123 subdomain.
        parts = name.split(".") if item["kind"] == "ConfigMap" else [name]
        assert all(re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", part) for part in parts)
        assert len(name) <= (253 if item["kind"] == "ConfigMap" else 63)
        assert faults(item) == []
    assert len(runner.object_name(stack)) <= 52


@given(st.lists(st.from_regex(STACK_NAME, fullmatch=True), min_size=2, max_size=2, unique=True))
def test_two_stacks_have_two_names(stacks: list[str]) -> None:
    first, second = map(runner.object_name, stacks)
    assert first != second


class TestFiles:
    @pytest.fixture
    def root(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        root = copied_stacks(tmp_path)
        monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))
        return root

    def test_a_pod_reads_the_stack_as_it_is_here(self, root: Path, tmp_path: Path) -> None:
        with (root / "local" / "events.yaml").open("a") as file:
            file.write("calendars:\n  - file: shared/holidays.ics\n")
        (root / "local" / "shared").mkdir()
        lines = ("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:test", "END:VCALENDAR", "")
        (root / "local" / "shared" / "holidays.ics").write_bytes("\r\n".join(lines).encode())
        files = stack_files("local")
        mounted = tmp_path / "pod" / "local"
        for key, path in files.paths:
            (mounted / path).parent.mkdir(parents=True, exist_ok=True)
            (mounted / path).write_bytes(files.data[key].encode())
        here, there = load_stack("local"), load_stack("local", tmp_path / "pod")
        assert (there.platform, there.calendar) == (here.platform, here.calendar)
        assert there.calendar.source == here.calendar.source, "what cron raised, the CronJob may let go of"

    def test_more_than_a_config_map_holds(self, root: Path) -> None:
        events = root / "local" / "events.yaml"
        text = events.read_text()
        events.write_text(f"#{'x' * (2**20 - len(text) - 2)}\n{text}")
        assert load_stack("local"), "one file of a MiB is read; both together are too much"
        with pytest.raises(InputError, match="at most 1048576 bytes in all"):
            stack_files("local")

    def test_evidence_that_a_pod_would_not_see(self, root: Path) -> None:
        (root / "elsewhere.md").write_text("x")
        edit(root / "local" / "platform.yaml", "benchmarks/support-8b-l40s.md", "../elsewhere.md")
        with pytest.raises(InputError, match=r"the file \.\./elsewhere\.md, expected every file in the stack"):
            stack_files("local")

    def test_pulumi_installs_it_where_the_platform_says_so(self, root: Path) -> None:
        before = render("local", load_platform("local"))
        assert not [item for item in before.objects if "runner" in item.urn.lower()]
        with (root / "local" / "platform.yaml").open("a") as file:
            file.write(f"runner: {{image: '{IMAGE}', every_min: 5}}\n")
        platform = load_platform("local")
        after = render("local", platform)
        added = {item.urn for item in after.objects} - {item.urn for item in before.objects}
        kinds = sorted(item.inputs["kind"] for item in after.objects if item.urn in added and item.custom)
        assert kinds.count("CronJob") == 1
        without_webhook_and_hpas = len(runner.CAPABILITIES) - 2
        assert kinds.count("Role") == kinds.count("RoleBinding") == without_webhook_and_hpas
        for item in after.objects:
            if item.urn in added and item.custom:
                assert faults(item.inputs) == []
                assert item.inputs["metadata"]["namespace"] == platform.namespace
                assert item.options["provider"].endswith("::pulumi:providers:kubernetes::cluster")
