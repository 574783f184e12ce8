"""The alert rules and the metrics, judged by Prometheus' own promtool: each fires when it should, and only then."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from prescale.runs.exposition import exposition
from prescale.schedule.alerts import RunnerKind, Watched, rules_file
from sandbox.toolchain.ensure import ensure
from stacks.loader import Stack, load_stack
from tests.core.stack_files import swap, write_stack
from tests.core.test_runs import FAILED, REPORT

pytestmark = pytest.mark.sandbox

OF_STACK = '{stack="local"}'
OF_SERVICE = '{stack="local",serving_namespace="serving",serving_service="support-bot"}'
HPA = (
    'kube_horizontalpodautoscaler_spec_min_replicas{namespace="serving",horizontalpodautoscaler="keda-hpa-support-bot"}'
)
READY = 'kube_deployment_status_replicas_ready{namespace="serving",deployment="support-bot"}'
JOB = '{namespace="serving",cronjob="warmline-prescale-local"}'
SCHEDULED = f"kube_cronjob_status_last_schedule_time{JOB}"
SUCCESSFUL = f"kube_cronjob_status_last_successful_time{JOB}"


def own(name: str, *, of: str = OF_STACK) -> str:
    return f"warmline_prescale_{name}{of}"


def service(name: str) -> str:
    return own(name, of=OF_SERVICE)


# promtool's clock starts at 0 with a sample each minute; `0+60x99` is a time that keeps up with it.
NOW = "0+60x99"

WELL: dict[str, str] = {
    own("last_run_timestamp_seconds"): NOW,
    own("last_success_timestamp_seconds"): NOW,
    own("run_exit_code"): "0x99",
    own("run_findings"): "0x99",
    service("floor_wanted_replicas"): "7x99",
    service("floor_in_force_replicas"): "7x99",
    service("ready_replicas"): "7x99",
    service("event_start_timestamp_seconds"): "3600x99",
    service("floor_until_timestamp_seconds"): "9000x99",
    HPA: "7x99",
    READY: "7x99",
}
JOB_WELL = {SCHEDULED: NOW, SUCCESSFUL: NOW, HPA: "7x99", READY: "7x99"}


@dataclass(frozen=True)
class Case:
    """An alert must not fire yet at minute `quiet`, and at `loud` it must, where all is well but for `changes`."""

    runner: RunnerKind
    alert: str
    changes: Mapping[str, str | None]
    quiet: int
    loud: int


CASES = [
    Case("cron", "WarmlineRunnerSilent", {own("last_run_timestamp_seconds"): "0+60x10 600x89"}, 15, 20),
    Case("cron", "WarmlineRunnerSilent", {own("last_run_timestamp_seconds"): None}, 1, 3),
    Case("cron", "WarmlineRunFailing", {own("run_exit_code"): "0x10 3x89"}, 15, 18),
    Case("cron", "WarmlineRunFindings", {own("run_exit_code"): "1x99", own("run_findings"): "2x99"}, 5, 7),
    Case("cron", "WarmlineFloorNotInForce", {service("floor_in_force_replicas"): "2x99"}, 4, 6),
    Case("cron", "WarmlineFloorNotInForce", {service("floor_in_force_replicas"): None}, 4, 6),
    # 750 s before T0, which is minute 60, and after it.
    Case("cron", "WarmlineNotWarm", {service("ready_replicas"): "6x99"}, 47, 48),
    Case("cron", "WarmlineNotWarm", {service("ready_replicas"): "6x99"}, 0, 75),
    Case("cron", "WarmlineNotWarm", {service("ready_replicas"): None}, 47, 48),
    # Killed at minute 10; the end is at minute 15, and a quarter of an hour later nobody has let go.
    Case(
        "cron",
        "WarmlineFloorOutlivesItsEnd",
        {
            own("last_success_timestamp_seconds"): "0+60x10 600x89",
            service("floor_until_timestamp_seconds"): "900x99",
        },
        39,
        41,
    ),
    # Its machine is gone, and with it every metric of ours: the cluster alone says that a floor is up.
    Case("cron", "WarmlineFloorOutlivesItsEnd", {name: None for name in WELL if name.startswith("warmline")}, 14, 16),
    Case("cronjob", "WarmlineRunnerSilent", {SCHEDULED: "0+60x10 600x89"}, 15, 20),
    Case("cronjob", "WarmlineRunnerSilent", {SCHEDULED: None}, 1, 3),
    Case("cronjob", "WarmlineRunFailing", {SUCCESSFUL: "0+60x10 600x89"}, 20, 25),
    Case("cronjob", "WarmlineRunFailing", {SUCCESSFUL: None}, 1, 3),
    Case("cronjob", "WarmlineNotWarm", {READY: "6x99"}, 4, 6),
    Case("cronjob", "WarmlineFloorOutlivesItsEnd", {SCHEDULED: "600x99", SUCCESSFUL: "600x99"}, 38, 42),
]


@pytest.fixture(scope="module")
def promtool() -> Path:
    return ensure(["promtool"], print)["promtool"]


def run(promtool: Path, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([promtool, *arguments], input=text, capture_output=True, text=True, check=False)


def rules(kind: RunnerKind, stack: Stack | None = None) -> dict[str, Any]:
    return rules_file(Watched(stack or load_stack("local"), kind, 2))


def played(
    tmp_path: Path,
    kind: RunnerKind,
    series: Mapping[str, str],
    checks: list[dict[str, Any]],
    stack: Stack | None = None,
) -> Path:
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules(kind, stack)))
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": checks,
    }
    path = tmp_path / "test.yaml"
    path.write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [test]}))
    return path


def firing(alert: str, minute: int, labels: list[str], by: str = "alertname, stack") -> dict[str, Any]:
    """How many of an alert's series fire then; Prometheus keeps them as the series ALERTS."""
    samples = [{"labels": text, "value": 1} for text in labels]
    expr = f'count by ({by}) (ALERTS{{alertstate="firing",alertname="{alert}"}}) > bool 0'
    return {"expr": expr, "eval_time": f"{minute}m", "exp_samples": samples}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.runner}-{case.alert}")
def test_a_rule_fires_when_it_should(promtool: Path, tmp_path: Path, case: Case) -> None:
    well = WELL if case.runner == "cron" else JOB_WELL
    series = {name: values for name, values in {**well, **case.changes}.items() if values is not None}
    fired = f'{{alertname="{case.alert}", stack="local"}}'
    checks = [firing(case.alert, case.quiet, []), firing(case.alert, case.loud, [fired])]
    result = run(promtool, "test", "rules", str(played(tmp_path, case.runner, series, checks)))
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("kind", ["cron", "cronjob"])
def test_nothing_fires_while_all_is_well(promtool: Path, tmp_path: Path, kind: RunnerKind) -> None:
    expr = 'ALERTS{alertstate="firing"}'
    checks = [{"expr": expr, "eval_time": f"{minute}m", "exp_samples": []} for minute in (1, 10, 45, 59, 61, 90)]
    series = WELL if kind == "cron" else JOB_WELL
    result = run(promtool, "test", "rules", str(played(tmp_path, kind, series, checks)))
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_run_that_fails_is_told_as_that_and_not_as_a_floor(promtool: Path, tmp_path: Path) -> None:
    """A failed run leaves no floors in the file: nobody looked, so nothing is claimed of them."""
    series = {name: values for name, values in WELL.items() if "serving_service" not in name}
    series[own("run_exit_code")] = "3x99"
    checks = [
        firing("WarmlineRunFailing", 10, ['{alertname="WarmlineRunFailing", stack="local"}']),
        firing("WarmlineFloorNotInForce", 10, []),
        firing("WarmlineNotWarm", 10, []),
    ]
    result = run(promtool, "test", "rules", str(played(tmp_path, "cron", series, checks)))
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture
def several(tmp_path: Path) -> Stack:
    """Three services: one that is built, and two whose ScaledObject and HPA others made."""
    folder = write_stack(tmp_path / "stacks", platform=swap("max_nodes: 18", "max_nodes: 60"))
    text = (folder / "platform.yaml").read_text()
    body = text[text.index("  support-bot:") :]
    for name, kind, held in (("a", "ScaledObject", "their-object"), ("b", "HorizontalPodAutoscaler", "their-hpa")):
        adopted = f"    adopted: {{kind: {kind}, name: {held}, pod_labels: {{app: x}}}}\n"
        text += body.replace("  support-bot:\n", f"  {name}:\n{adopted}").replace("support-8b\n", f"{name}-8b\n", 1)
    (folder / "platform.yaml").write_text(text)
    return load_stack("local", tmp_path / "stacks")


def test_what_others_made_is_watched_by_its_own_name_and_one_service_hides_no_other(
    promtool: Path, tmp_path: Path, several: Stack
) -> None:
    """No run for long. The one that is built has its event still; the other two floors are nobody's any more."""
    hpas = {"support-bot": "keda-hpa-support-bot", "a": "keda-hpa-their-object", "b": "their-hpa"}
    series = {HPA.replace("keda-hpa-support-bot", hpa): "7x99" for hpa in hpas.values()}
    series |= {own("last_success_timestamp_seconds"): "0x99", service("floor_until_timestamp_seconds"): "9000x99"}
    alert = "WarmlineFloorOutlivesItsEnd"
    fired = [f'{{alertname="{alert}", service="{name}"}}' for name in ("a", "b")]
    checks = [firing(alert, 32, fired, by="alertname, service")]
    result = run(promtool, "test", "rules", str(played(tmp_path, "cron", series, checks, several)))
    assert result.returncode == 0, result.stdout + result.stderr


def test_of_what_others_made_the_hpa_knows_the_deployment(promtool: Path, tmp_path: Path, several: Stack) -> None:
    info = 'kube_horizontalpodautoscaler_info{namespace="serving",horizontalpodautoscaler="%s",scaletargetref_kind='
    series = {
        HPA.replace("keda-hpa-support-bot", "their-hpa"): "7x99",
        HPA.replace("keda-hpa-support-bot", "keda-hpa-their-object"): "7x99",
        info % "their-hpa" + '"Deployment",scaletargetref_name="x"}': "1x99",
        info % "keda-hpa-their-object" + '"Deployment",scaletargetref_name="y"}': "1x99",
        READY.replace("support-bot", "x"): "6x99",
        READY.replace("support-bot", "y"): "7x99",
    }
    checks = [firing("WarmlineNotWarm", 6, ['{alertname="WarmlineNotWarm", service="b"}'], by="alertname, service")]
    result = run(promtool, "test", "rules", str(played(tmp_path, "cronjob", series, checks, several)))
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("are_several", [False, True])
@pytest.mark.parametrize("kind", ["cron", "cronjob"])
def test_the_rules_are_valid(
    promtool: Path, tmp_path: Path, several: Stack, kind: RunnerKind, *, are_several: bool
) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump(rules(kind, several if are_several else None)))
    result = run(promtool, "check", "rules", "--lint=all", "--lint-fatal", str(path))
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_metrics_are_valid(promtool: Path) -> None:
    staging = replace(REPORT, stack='sta"g\\ing\nx')
    for reports in ([REPORT], [REPORT, staging], [FAILED]):
        result = run(promtool, "check", "metrics", text=exposition(reports))
        assert (result.returncode, result.stdout + result.stderr) == (0, "")
