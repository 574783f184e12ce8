"""What the runner's account may do, asked of the real API server, and that it is enough for a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from whenever import Instant

from infra.runner.files import stack_files
from infra.runner.manifests import RunnerSite, manifests
from prescale.clock import now
from prescale.lead_time.history import parse_data
from sandbox import lifecycle
from sandbox.layout import Layout, free_ports
from stacks import ownership, runner
from stacks.spec import Runner
from tests.cli.stack_folder import copied_stacks, edit
from tests.core import start_cases

pytestmark = pytest.mark.sandbox

SPACE, NAME, HPA = "serving", "support-bot", "vllm-hpa"
ACCOUNT = f"system:serviceaccount:{SPACE}:{runner.object_name('local')}"
ORDERS = ownership.orders_name("local")
FINDINGS = runner.findings_name("local")
STARTS = ownership.starts_name("local")

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": NAME, "namespace": SPACE},
    "spec": {
        "selector": {"matchLabels": {"app": NAME}},
        "template": {
            "metadata": {"labels": {"app": NAME}},
            "spec": {"containers": [{"name": "engine", "image": "none"}]},
        },
    },
}
SCALED_OBJECT = {
    "apiVersion": "keda.sh/v1alpha1",
    "kind": "ScaledObject",
    "metadata": {
        "name": NAME,
        "namespace": SPACE,
        "labels": {ownership.STACK_LABEL: "local", ownership.SERVICE_LABEL: NAME},
        "annotations": {ownership.BASELINE_ANNOTATION: "2"},
    },
    "spec": {
        "scaleTargetRef": {"name": NAME},
        # Below the baseline, so that a run has something to write.
        "minReplicaCount": 1,
        "maxReplicaCount": 16,
        "triggers": [
            {
                "type": "prometheus",
                "metadata": {"serverAddress": "http://127.0.0.1:1", "query": "none", "threshold": "40"},
            }
        ],
    },
}


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    directory = tmp_path_factory.mktemp("sandbox")
    made = lifecycle.up((), print, directory, prometheus_port=free_ports(1)[0], with_pulumi=False)
    settings = Runner.model_validate({"image": "x@sha256:" + "1" * 64, "webhook_secret": "warmline-webhook"})
    site = RunnerSite("local", SPACE, (NAME,), settings, stack_files("local"), "warmline", (HPA,))
    namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (SPACE, "other")]
    objects = [*namespaces, DEPLOYMENT, SCALED_OBJECT, *manifests(site)]
    kubectl(made, "apply", "-f", "-", text=yaml.safe_dump_all(objects))
    yield made
    lifecycle.down(print, directory)


def kubectl(layout: Layout, *arguments: str, text: str | None = None, check: bool = True) -> str:
    done = subprocess.run(
        [layout.bin / "kubectl", f"--kubeconfig={layout.kubeconfig}", *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("verb", "what", "space", "allowed"),
    [
        ("list", "scaledobjects.keda.sh", SPACE, True),
        ("get", f"scaledobjects.keda.sh/{NAME}", SPACE, True),
        ("patch", f"scaledobjects.keda.sh/{NAME}", SPACE, True),
        ("list", "horizontalpodautoscalers.autoscaling", SPACE, True),
        ("get", f"horizontalpodautoscalers.autoscaling/{HPA}", SPACE, True),
        ("patch", f"horizontalpodautoscalers.autoscaling/{HPA}", SPACE, True),
        ("list", "pods", SPACE, True),
        ("get", f"configmaps/{ownership.orders_name('local')}", SPACE, True),
        ("get", f"configmaps/{FINDINGS}", SPACE, True),
        ("patch", f"configmaps/{FINDINGS}", SPACE, True),
        ("get", f"configmaps/{STARTS}", SPACE, True),
        ("patch", f"configmaps/{STARTS}", SPACE, True),
        ("update", f"configmaps/{STARTS}", SPACE, False),
        ("delete", f"configmaps/{STARTS}", SPACE, False),
        ("patch", "configmaps/warmline-starts-another", SPACE, False),
        ("get", "configmaps/warmline-starts-another", SPACE, False),
        ("get", f"configmaps/{ORDERS}", SPACE, True),
        ("patch", f"configmaps/{ORDERS}", SPACE, False),
        # Somebody else's object, other verbs, other kinds, other places.
        ("patch", "scaledobjects.keda.sh/somebodys-bot", SPACE, False),
        ("patch", "scaledobjects.keda.sh", SPACE, False),
        ("create", "scaledobjects.keda.sh", SPACE, False),
        ("delete", f"scaledobjects.keda.sh/{NAME}", SPACE, False),
        ("patch", "horizontalpodautoscalers.autoscaling", SPACE, False),
        ("patch", f"horizontalpodautoscalers.autoscaling/keda-hpa-{NAME}", SPACE, False),
        ("delete", f"horizontalpodautoscalers.autoscaling/{HPA}", SPACE, False),
        ("patch", "deployments.apps", SPACE, False),
        ("delete", "pods", SPACE, False),
        ("create", "pods/exec", SPACE, False),
        ("list", "configmaps", SPACE, False),
        ("create", "configmaps", SPACE, False),
        ("patch", f"configmaps/{ownership.orders_name('local')}", SPACE, False),
        ("get", "secrets", SPACE, False),
        ("get", "secrets/warmline-webhook", SPACE, False),
        ("create", "rolebindings.rbac.authorization.k8s.io", SPACE, False),
        ("create", "serviceaccounts/token", SPACE, False),
        ("list", "scaledobjects.keda.sh", "other", False),
        ("list", "pods", "kube-system", False),
        ("list", "nodes", SPACE, False),
    ],
)
def test_what_the_account_may_do(layout: Layout, verb: str, what: str, space: str, *, allowed: bool) -> None:
    # An answer of "no" ends with 1 as well.
    said = kubectl(layout, "auth", "can-i", verb, what, f"--as={ACCOUNT}", f"--namespace={space}", check=False)
    assert said.splitlines()[-1] == ("yes" if allowed else "no")


def sync(layout: Layout, folder: Path, stacks: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A run with the account's token and nothing else."""
    token = kubectl(layout, "create", "token", runner.object_name("local"), f"--namespace={SPACE}")
    admin = json.loads(layout.kubeconfig.read_text())
    admin["users"] = [{"name": "runner", "user": {"token": token}}]
    admin["contexts"][0]["context"]["user"] = "runner"
    (folder / "config").write_text(json.dumps(admin))
    program = [sys.executable, "-c", "from cli.main import main; main()"]
    place = {"WARMLINE_STACKS_DIR": str(stacks)} if stacks else {}
    done = subprocess.run(
        [*program, "prescale", "sync", "-s", "local", "--log-file", "-"],
        env={**os.environ, **place, "KUBECONFIG": str(folder / "config")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "orbidden" not in done.stdout + done.stderr
    return done


def test_it_is_enough_for_a_run(layout: Layout, tmp_path: Path) -> None:
    line = json.loads(sync(layout, tmp_path).stdout)
    assert [each["service"] for each in line["services"]] == [NAME]
    minimum = kubectl(
        layout, "get", "scaledobject", NAME, f"--namespace={SPACE}", "-o=jsonpath={.spec.minReplicaCount}"
    )
    assert minimum == "2", "the baseline, which it had to write"


def test_it_is_enough_to_see_an_event_warm_and_to_keep_what_its_starts_took(layout: Layout, tmp_path: Path) -> None:
    stacks = copied_stacks(tmp_path)
    start = now().subtract(minutes=5).to_tz("Asia/Kolkata").to_fixed_offset().format_iso()
    edit(stacks / "local" / "events.yaml", "2027-10-29 20:00", start)
    assert sync(layout, tmp_path, stacks).returncode == 1, "late"
    pods = [start_cases.pod(f"{NAME}-5c9-p{number}") for number in range(7)]
    for pod in pods:
        del pod["metadata"]["creationTimestamp"]
        made = {"apiVersion": "v1", "kind": "Pod", **pod}
        made["metadata"]["namespace"] = SPACE
        created = json.loads(kubectl(layout, "create", "-o=json", "-f", "-", text=json.dumps(made)))
        began = Instant.parse_iso(created["metadata"]["creationTimestamp"])
        # As start_cases has it of a pod that was made then, within two seconds.
        at_s = (began - start_cases.BEGAN).total("seconds")
        started = start_cases.pod(
            created=at_s,
            scheduled=at_s,
            loads=(at_s, at_s + 1),
            engine=at_s + 1,
            containers_ready=at_s + 2,
            ready=at_s + 2,
        )
        patch = ["patch", "pod", pod["metadata"]["name"], f"--namespace={SPACE}", "--subresource=status"]
        kubectl(layout, *patch, "--type=merge", "-p", json.dumps({"status": started["status"]}))
    done = sync(layout, tmp_path, stacks)
    assert done.returncode == 0, done.stdout + done.stderr
    kept = json.loads(kubectl(layout, "get", f"configmap/{STARTS}", f"--namespace={SPACE}", "-o=json"))["data"]
    assert [one.total_s for one in parse_data(kept).starts[NAME]] == [2] * 7
    record = json.loads(kubectl(layout, "get", f"scaledobject/{NAME}", f"--namespace={SPACE}", "-o=json"))
    assert json.loads(record["metadata"]["annotations"][ownership.FLOOR_ANNOTATION])["warm"] == 7
