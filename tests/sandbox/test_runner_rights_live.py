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

from infra.runner.files import stack_files
from infra.runner.manifests import RunnerSite, manifests
from sandbox import lifecycle
from sandbox.layout import Layout, free_ports
from stacks import ownership, runner
from stacks.spec import Runner

pytestmark = pytest.mark.sandbox

SPACE, NAME = "serving", "support-bot"
ACCOUNT = f"system:serviceaccount:{SPACE}:{runner.object_name('local')}"
ORDERS = ownership.orders_name("local")
FINDINGS = runner.findings_name("local")

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
    site = RunnerSite("local", SPACE, (NAME,), settings, stack_files("local"), "warmline")
    namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (SPACE, "other")]
    kubectl(made, "apply", "-f", "-", text=yaml.safe_dump_all([*namespaces, SCALED_OBJECT, *manifests(site)]))
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
        ("list", "pods", SPACE, True),
        ("get", f"configmaps/{ownership.orders_name('local')}", SPACE, True),
        ("get", f"configmaps/{FINDINGS}", SPACE, True),
        ("patch", f"configmaps/{FINDINGS}", SPACE, True),
        ("get", f"configmaps/{ORDERS}", SPACE, True),
        ("patch", f"configmaps/{ORDERS}", SPACE, False),
        # Somebody else's object, other verbs, other kinds, other places.
        ("patch", "scaledobjects.keda.sh/somebodys-bot", SPACE, False),
        ("patch", "scaledobjects.keda.sh", SPACE, False),
        ("create", "scaledobjects.keda.sh", SPACE, False),
        ("delete", f"scaledobjects.keda.sh/{NAME}", SPACE, False),
        ("patch", "horizontalpodautoscalers.autoscaling", SPACE, False),
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


def test_it_is_enough_for_a_run(layout: Layout, tmp_path: Path) -> None:
    """The run itself, with the account's token and nothing else."""
    token = kubectl(layout, "create", "token", runner.object_name("local"), f"--namespace={SPACE}")
    admin = json.loads(layout.kubeconfig.read_text())
    admin["users"] = [{"name": "runner", "user": {"token": token}}]
    admin["contexts"][0]["context"]["user"] = "runner"
    (tmp_path / "config").write_text(json.dumps(admin))
    program = [sys.executable, "-c", "from cli.main import main; main()"]
    done = subprocess.run(
        [*program, "prescale", "sync", "-s", "local", "--log-file", "-"],
        env={**os.environ, "KUBECONFIG": str(tmp_path / "config")},
        capture_output=True,
        text=True,
        check=False,
    )
    line = json.loads(done.stdout)
    assert "orbidden" not in done.stdout + done.stderr
    assert [each["service"] for each in line["services"]] == [NAME]
    minimum = kubectl(
        layout, "get", "scaledobject", NAME, f"--namespace={SPACE}", "-o=jsonpath={.spec.minReplicaCount}"
    )
    assert minimum == "2", "the baseline, which it had to write"
