"""Triggers: nobody but the scaler itself looks at their metadata, and it does so when the first poll fails.

Source: KEDA 2.21, pkg/scalers/prometheus_scaler.go, cron_scaler.go; Kubernetes 1.34, the HPA's tolerance of 10 %.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from zoneinfo import ZoneInfo

from prescale.observed import FALSE
from prescale.preflight.checks import cron
from prescale.preflight.finding import Found
from prescale.preflight.kinds.workload import Trigger
from prescale.preflight.scene import Target
from prescale.preflight.seen import AUTHENTICATIONS, CLUSTER_AUTHENTICATIONS

TOLERANCE = Decimal("1.1")
"""An HPA does nothing while the metric is within 10 % of the target."""

ENGINE_METRIC = re.compile(r"\b(?:vllm|sglang):\w+")
SHARES = {"vllm:kv_cache_usage_perc", "sglang:token_usage"}
"""Gauges from 0 to 1, whatever their names say."""
RENAMED = {"vllm:gpu_cache_usage_perc": "vllm:kv_cache_usage_perc"}
"""Source: vLLM PR 27341."""
RUNNING = {"vllm:num_requests_running", "sglang:num_running_reqs"}
"""Bounded by max_num_seqs: what is above it waits."""


def _named(trigger: Trigger, index: int) -> str:
    return f"trigger {trigger.name or f'{index} ({trigger.type})'}"


def _of(target: Target, kind: str) -> Iterator[tuple[str, Trigger]]:
    for index, trigger in enumerate(target.scaled_object.spec.triggers):
        if trigger.type == kind:
            yield _named(trigger, index), trigger


def failing(target: Target) -> Iterator[Found]:
    for name, health in sorted(target.scaled_object.status.health.items()):
        if health.status == "Failing":
            yield Found(
                what=f"metric {name}",
                got=f"{health.number_of_failures} failed reads in a row",
                expected="a value",
                fix="See that its server answers the query, and that the operator reaches it.",
            )


def authentications(target: Target) -> Iterator[Found]:
    """One that is missing breaks all triggers of the object."""
    for index, trigger in enumerate(target.scaled_object.spec.triggers):
        ref = trigger.authentication_ref
        if ref is None:
            continue
        kind = CLUSTER_AUTHENTICATIONS if ref.kind == "ClusterTriggerAuthentication" else AUTHENTICATIONS
        if all(one.metadata.name != ref.name for one in target.seen.of(kind)):
            yield Found(
                what=_named(trigger, index),
                got=f"no {kind.name} {ref.name}",
                expected="the one it names",
                fix="Create it: while it is missing KEDA leaves the HPA as it was, floor and all.",
            )


def cron_fields(target: Target) -> Iterator[Found]:
    for name, trigger in _of(target, "cron"):
        zone, replicas = trigger.metadata.get("timezone", ""), trigger.metadata.get("desiredReplicas", "")
        schedules = []
        for field in ("start", "end"):
            try:
                schedules.append(cron.parse(trigger.metadata.get(field, "")))
            except ValueError as error:
                fix = "Correct it: while one trigger is broken KEDA leaves the HPA as it was."
                yield Found(f"{name}, {field}", str(error), "minute hour day month weekday", fix)
        if not _is_zone(zone):
            fix = "Correct it: KEDA loads it at the first poll, and fails from then on."
            yield Found(f"{name}, timezone", repr(zone), "a zone of the IANA's, as Asia/Kolkata", fix)
        if not replicas.isdigit() or int(replicas) == 0:
            yield Found(f"{name}, desiredReplicas", repr(replicas), "a whole number from 1 on", "Correct it.")
        elif int(replicas) > target.observed.max_replicas:
            most = f"at most maxReplicaCount ({target.observed.max_replicas})"
            yield Found(f"{name}, desiredReplicas", replicas, most, "Lower it, or raise replicas.max.")
        if len(schedules) == 2 and not cron.takes_turns(*schedules):
            yield Found(
                what=f"{name}, start and end",
                got=f"{trigger.metadata['start']!r} and {trigger.metadata['end']!r}, which do not take turns",
                expected="one end after each start: KEDA counts it active whenever an end comes before the next start",
                fix="Name the same days in both, or move the window into events.yaml.",
            )


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # not found is a KeyError
        return False
    return bool(name)


def prometheus_fields(target: Target) -> Iterator[Found]:
    for name, trigger in _of(target, "prometheus"):
        data = trigger.metadata
        if not data.get("query", "").strip():
            yield Found(f"{name}, query", "nothing", "a PromQL query", "Write it.")
        if not re.match(r"https?://[^/]", data.get("serverAddress", "")):
            got = repr(data.get("serverAddress", ""))
            yield Found(f"{name}, serverAddress", got, "http://host:port", "Correct prometheus.url.")
        if _decimal(data.get("threshold", "")) is None:
            yield Found(f"{name}, threshold", repr(data.get("threshold", "")), "a number", "Correct it.")
        if data.get("ignoreNullValues", "true") not in FALSE:
            yield Found(
                what=f"{name}, ignoreNullValues",
                got=data.get("ignoreNullValues", "nothing, which is true"),
                expected="'false': no data is no zero, and at the peak it scales to the floor",
                fix="Set it to 'false'.",
            )


def metric_names(target: Target) -> Iterator[Found]:
    for name, trigger in _of(target, "prometheus"):
        for metric in sorted(set(ENGINE_METRIC.findall(trigger.metadata.get("query", ""))) & RENAMED.keys()):
            fix = "Change the query: a series that no engine has is no data."
            yield Found(f"{name}, query", metric, RENAMED[metric], fix)


def threshold_is_reached(target: Target) -> Iterator[Found]:
    """A metric with an upper bound that lies below the threshold never scales anything up."""
    for name, trigger in _of(target, "prometheus"):
        threshold = _decimal(trigger.metadata.get("threshold", ""))
        most = _most(trigger, target.service.engine.max_num_seqs)
        if threshold is not None and most is not None and threshold * TOLERANCE >= most:
            yield Found(
                what=f"{name}, threshold",
                got=f"{threshold} where a replica shows at most {most}",
                expected=f"below {most / TOLERANCE:.4g}: an HPA acts from 10 % above the threshold on",
                fix="Lower it, or ask for running and waiting requests together.",
            )


def _most(trigger: Trigger, max_num_seqs: int) -> Decimal | None:
    """What the metric can come to for one replica; None where that is not known, or there is no bound."""
    query = trigger.metadata.get("query", "")
    metrics = set(ENGINE_METRIC.findall(query))
    is_of_one = trigger.metric_type == "AverageValue" or re.match(r"\s*(avg|max|min)\b", query)
    if len(metrics) != 1 or not is_of_one or re.search(r"[*/+]", re.sub(r"\{.*?\}", "", query)):
        return None
    if metrics <= RUNNING:
        return Decimal(max_num_seqs)
    return Decimal(1) if metrics <= SHARES else None


def _decimal(text: str) -> Decimal | None:
    try:
        found = Decimal(text)
    except InvalidOperation:
        return None
    return found if found.is_finite() else None
