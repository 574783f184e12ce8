"""Alert rules for a stack's pre-scaler: it fell silent, it fails, its floor is not in force, not warm, or outlived.

A runner on a machine leaves metrics (`--metrics-file`); of a CronJob only kube-state-metrics tells. That a floor stays
up with nobody to let it go is asked of the cluster in both cases: a runner that is gone cannot say so.

Source: Prometheus 3, alerting rules; kube-state-metrics 2, metrics of CronJobs, Deployments and HPAs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from prescale.observed import FIELDS
from prescale.runs.exposition import PREFIX
from prescale.schedule import kube_state
from stacks import runner
from stacks.loader import Stack

RunnerKind = Literal["cron", "cronjob"]

# Periods without a run until it counts as silent: one may be missed, two are no accident.
SILENT_PERIODS = 3
# What is late by less is the next run's business.
PATIENCE_S = 300
FORGOTTEN_S = 900


@dataclass(frozen=True)
class _Rule:
    alert: str
    severity: Literal["critical", "warning"]
    expr: str
    for_s: int
    summary: str
    runbook: str
    service: str | None = None


@dataclass(frozen=True)
class Watched:
    """Whose pre-scaler is watched, and how it is run."""

    stack: Stack
    kind: RunnerKind
    every_min: int

    @property
    def silent_s(self) -> int:
        return SILENT_PERIODS * self.every_min * 60

    def own(self, name: str, service: str | None = None) -> str:
        """A metric of the run's, of this stack, or of one service of it."""
        of_one = "" if service is None else f',serving_service="{service}"'
        return f'{PREFIX}{name}{{stack="{self.stack.name}"{of_one}}}'

    def of_job(self, name: str) -> str:
        """A metric of the CronJob, as kube-state-metrics has it."""
        where = f'namespace="{self.stack.platform.namespace}",cronjob="{runner.object_name(self.stack.name)}"'
        return f"{name}{{{where}}}"


def rules_file(watched: Watched) -> dict[str, Any]:
    """The rules as a file of Prometheus has them: one group for the stack."""
    of_runner = [*_of_runs(watched), *_of_floors(watched)] if watched.kind == "cron" else _of_cronjob(watched)
    rules = [_rule(watched, one) for one in (*of_runner, *_outlived(watched))]
    return {"groups": [{"name": runner.object_name(watched.stack.name), "rules": rules}]}


def prometheus_rule(watched: Watched) -> dict[str, Any]:
    """The same as an object of the Prometheus Operator."""
    name, namespace = runner.object_name(watched.stack.name), watched.stack.platform.namespace
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": name, "namespace": namespace},
        "spec": rules_file(watched),
    }


def _rule(watched: Watched, rule: _Rule) -> dict[str, Any]:
    return {
        "alert": rule.alert,
        "expr": rule.expr,
        **({"for": f"{rule.for_s}s"} if rule.for_s else {}),
        "labels": {
            "severity": rule.severity,
            "stack": watched.stack.name,
            **({"service": rule.service} if rule.service else {}),
        },
        "annotations": {"summary": rule.summary, "runbook": rule.runbook},
    }


def _of_runs(watched: Watched) -> Iterator[_Rule]:
    name = watched.stack.name
    last = watched.own("last_run_timestamp_seconds")
    yield _Rule(
        "WarmlineRunnerSilent",
        "critical",
        f"time() - max({last}) > {watched.silent_s} or absent({last})",
        120,
        f"No run of the pre-scaler over stack {name} for more than {SILENT_PERIODS} periods.",
        f"Floors stay as they are: none is raised, none let go. Run `warmline prescale sync -s {name}` by hand now, "
        "from anywhere: any number of runners do each other no harm. Then see why the machine's cron does not: is it "
        "up, does the lock's holder hang, does node_exporter read the file?",
    )
    yield _Rule(
        "WarmlineRunFailing",
        "critical",
        f"max({watched.own('run_exit_code')}) >= 2",
        watched.silent_s,
        f"The pre-scaler's runs over stack {name} fail with {{{{ $value }}}} (2: bad input, 3: cluster out of reach).",
        "Nothing is changed by a run that fails: floors stay. Its log says which file and line, or which address. "
        "After 2, correct the file or take its last change back; after 3, see whether the API server answers and the "
        "credentials still hold.",
    )
    yield _Rule(
        "WarmlineRunFindings",
        "warning",
        f"max({watched.own('run_findings')}) > 0 and max({watched.own('run_exit_code')}) == 1",
        watched.silent_s,
        f"The pre-scaler found {{{{ $value }}}} things in stack {name} that need a person.",
        f"Run `warmline prescale sync -s {name} --dry-run`: each line with `!` says what is wrong and what to do.",
    )


def _of_floors(watched: Watched) -> Iterator[_Rule]:
    name = watched.stack.name
    status = f"`warmline prescale status -s {name}`"
    wanted = watched.own("floor_wanted_replicas")
    in_force = watched.own("floor_in_force_replicas")
    yield _Rule(
        "WarmlineFloorNotInForce",
        "critical",
        f"{wanted} > 0 unless {in_force} >= {wanted}",
        PATIENCE_S,
        f"{{{{ $labels.serving_service }}}} of stack {name}: the floor of {{{{ $value }}}} is not in force on its HPA.",
        f"Without it the peak meets cold starts. {status} says what is missing. Usual causes: a broken trigger (KEDA "
        "keeps the old HPA: `kubectl describe scaledobject`), a pause annotation, a ceiling below the floor, GitOps "
        "that takes minReplicaCount back. In need, `kubectl patch` of minReplicaCount by hand is kept by the next run.",
    )
    warm_by_s = max(watched.stack.calendar.ready_margin_s // 2, PATIENCE_S)
    ready = watched.own("ready_replicas")
    to_start = f"{watched.own('event_start_timestamp_seconds')} - time()"
    yield _Rule(
        "WarmlineNotWarm",
        "critical",
        f"({wanted} unless {ready} >= {wanted}) and {to_start} < {warm_by_s}",
        0,
        f"{{{{ $labels.serving_service }}}} of stack {name}: fewer than {{{{ $value }}}} replicas Ready {warm_by_s} s "
        "before the start, or after it.",
        f"{status} says what is missing and by when it will be there. Pending pods: `kubectl describe pod`, then "
        "nodes, quota and capacity. Pods that do not get Ready: their logs; a crash loop is not mended by waiting. If "
        "it will be late, say so to the event's owner now, and have the gateway shed or divert load.",
    )


def _of_cronjob(watched: Watched) -> Iterator[_Rule]:
    name, job = watched.stack.name, runner.object_name(watched.stack.name)
    space = watched.stack.platform.namespace
    scheduled = watched.of_job("kube_cronjob_status_last_schedule_time")
    yield _Rule(
        "WarmlineRunnerSilent",
        "critical",
        f"time() - max({scheduled}) > {watched.silent_s} or absent({scheduled})",
        120,
        f"CronJob {space}/{job} started no run over stack {name} for more than {SILENT_PERIODS} periods.",
        f"Floors stay as they are: none is raised, none let go. Run `warmline prescale sync -s {name}` by hand now. "
        f"Then `kubectl -n {space} describe cronjob {job}`: is it there, suspended, is a Job of it still active, does "
        "the namespace's quota leave room for its pod?",
    )
    success = watched.of_job("kube_cronjob_status_last_successful_time")
    yield _Rule(
        "WarmlineRunFailing",
        "critical",
        f"count({scheduled}) unless time() - max({success}) <= {watched.silent_s + PATIENCE_S}",
        120,
        f"The runs of CronJob {space}/{job} start and do not end well.",
        f"The log of its last pod is one line of JSON (`kubectl -n {space} logs job/...`): exit_code 1 lists findings "
        "that need a person, 2 names file and line, 3 the address that did not answer.",
    )
    for service_name, service in watched.stack.platform.services.items():
        raised = kube_state.raised(watched.stack, service_name, service)
        ready = kube_state.ready(watched.stack, service_name, service)
        yield _Rule(
            "WarmlineNotWarm",
            "critical",
            f"{raised} > on (namespace) {ready}",
            service.cold_start.total_s,
            f"{service_name} of stack {name}: a floor of {{{{ $value }}}} is in force for its whole cold start, and "
            "fewer replicas are Ready.",
            f"`warmline prescale status -s {name}` says what is missing and by when it will be there; the calendar's "
            f"margin ({watched.stack.calendar.ready_margin_s} s) is what is left before the start. Pending pods: "
            "`kubectl describe pod`, then nodes, quota and capacity. Pods that do not get Ready: their logs.",
            service_name,
        )


def _outlived(watched: Watched) -> Iterator[_Rule]:
    name = watched.stack.name
    if watched.kind == "cron":
        success = watched.own("last_success_timestamp_seconds")
    else:
        success = watched.of_job("kube_cronjob_status_last_successful_time")
    for service_name, service in watched.stack.platform.services.items():
        raised = kube_state.raised(watched.stack, service_name, service)
        # As long as the last word of a run is that the service's event goes on, its floor is where it should be.
        until = watched.own("floor_until_timestamp_seconds", service_name)
        known = f" unless on () max({until}) > time()" if watched.kind == "cron" else ""
        kind, held = kube_state.held_by(service_name, service)
        back = f"set {FIELDS[kind].minimum} of {kind} {held} back to its baseline annotation"
        yield _Rule(
            "WarmlineFloorOutlivesItsEnd",
            "warning",
            f"{raised} unless on () time() - max({success}) < {FORGOTTEN_S}{known}",
            FORGOTTEN_S,
            f"{service_name} of stack {name}: a floor of {{{{ $value }}}} is up, and no runner to let it go.",
            f"It costs GPUs and takes no harm else. `warmline prescale sync -s {name}` lets go of what is over; if "
            f"nobody is to run it any more, {back}.",
            service_name,
        )
