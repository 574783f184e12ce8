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
from stacks.loader import load_stack
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


def rules(kind: RunnerKind) -> dict[str, Any]:
    return rules_file(Watched(load_stack("local"), kind, 2))


def played(tmp_path: Path, kind: RunnerKind, series: Mapping[str, str], checks: list[dict[str, Any]]) -> Path:
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules(kind)))
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": checks,
    }
    path = tmp_path / "test.yaml"
    path.write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [test]}))
    return path


def firing(alert: str, minute: int, labels: list[str]) -> dict[str, Any]:
    """How many of an alert's series fire then; Prometheus keeps them as the series ALERTS."""
    samples = [{"labels": text, "value": 1} for text in labels]
    expr = f'count by (alertname, stack) (ALERTS{{alertstate="firing",alertname="{alert}"}}) > bool 0'
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


@pytest.mark.parametrize("kind", ["cron", "cronjob"])
def test_the_rules_are_valid(promtool: Path, tmp_path: Path, kind: RunnerKind) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump(rules(kind)))
    result = run(promtool, "check", "rules", "--lint=all", "--lint-fatal", str(path))
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_metrics_are_valid(promtool: Path) -> None:
    staging = replace(REPORT, stack='sta"g\\ing\nx')
    for reports in ([REPORT], [REPORT, staging], [FAILED]):
        result = run(promtool, "check", "metrics", text=exposition(reports))
        assert (result.returncode, result.stdout + result.stderr) == (0, "")
