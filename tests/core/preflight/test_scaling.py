"""Preflight of the ScaledObject, its HPA, its triggers, and who else writes their fields."""

from __future__ import annotations

import json
from typing import Any

import pytest

from prescale.preflight.checks import autoscalers, owners, scaled_objects, targets, triggers
from prescale.preflight.finding import NotChecked, Report
from stacks import ownership
from tests.core.preflight.cases import Case, annotated, both, holds, setting
from tests.core.preflight.world import NAME, World, world

HPAS, OBJECTS, DEPLOYMENTS = "horizontalpodautoscalers.autoscaling", "scaledobjects.keda.sh", "deployments.apps"
APPLICATIONS = "applications.argoproj.io"


def spec(bent: World) -> dict[str, Any]:
    part: dict[str, Any] = bent.scaled_object["spec"]
    return part


def status(bent: World) -> dict[str, Any]:
    part: dict[str, Any] = bent.scaled_object["status"]
    return part


def metadata(bent: World) -> dict[str, Any]:
    part: dict[str, Any] = bent.scaled_object["metadata"]
    return part


def hpa_spec(bent: World) -> dict[str, Any]:
    part: dict[str, Any] = bent.hpa["spec"]
    return part


def query(bent: World) -> dict[str, Any]:
    part: dict[str, Any] = bent.trigger["metadata"]
    return part


def said(kind: str, value: str, reason: str = "Because") -> dict[str, str]:
    return {"type": kind, "status": value, "reason": reason, "message": "why"}


def conditions(*given: dict[str, str]) -> Any:
    return setting(status, conditions=list(given))


def another_hpa(bent: World) -> None:
    bent.add(HPAS, "by-hand", spec={**bent.hpa["spec"]}, status={})


def without_the_other(kind: str, name: str) -> Any:
    def bend(bent: World) -> None:
        bent.objects[kind].remove(bent.one(kind, name))

    return bend


def another_object(bent: World) -> None:
    bent.add(OBJECTS, "weekend", spec={**bent.scaled_object["spec"]})


def cron(**changes: str) -> Any:
    data = {"timezone": "Asia/Kolkata", "start": "0 19 * * 5", "end": "0 6 * * 6", "desiredReplicas": "5", **changes}

    def bend(bent: World) -> None:
        spec(bent)["triggers"][1:] = [{"type": "cron", "metadata": data}]

    return bend


def in_query(metric: str, form: str = "sum({})", **data: str) -> Any:
    return setting(query, query=form.format(metric + '{namespace="serving"}'), **data)


def authenticated(kind: str | None = None) -> Any:
    ref = {"name": "prometheus-token", **({"kind": kind} if kind else {})}
    return setting(lambda bent: bent.trigger, authenticationRef=ref)


def owned_by(manager: str, *path: str, operation: str = "Update", subresource: str = "", of: Any = metadata) -> Any:
    def bend(bent: World) -> None:
        fields: Any = {}
        for part in reversed(path):
            fields = {f"f:{part}": fields}
        entry = {"manager": manager, "operation": operation, "subresource": subresource, "fieldsV1": fields}
        part = of(bent)
        part["managedFields"] = [*part.get("managedFields", []), entry]

    return bend


def disowned(of: Any = metadata) -> Any:
    return lambda bent: of(bent)["managedFields"].pop()


def tracked(bent: World) -> None:
    ident = f"shop:keda.sh/ScaledObject:serving/{NAME}"
    metadata(bent)["annotations"]["argocd.argoproj.io/tracking-id"] = ident


def application(**application_spec: Any) -> Any:
    def bend(bent: World) -> None:
        bent.objects[APPLICATIONS] = []
        bent.add(APPLICATIONS, "shop", spec=application_spec)

    return bend


IGNORES = {"group": "keda.sh", "kind": "ScaledObject", "jsonPointers": ["/spec/minReplicaCount"]}
RESPECTED = {"syncOptions": ["RespectIgnoreDifferences=true"]}
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def applied(**applied_spec: Any) -> Any:
    text = json.dumps({"kind": "ScaledObject", "spec": applied_spec})
    return lambda bent: metadata(bent)["annotations"].__setitem__(LAST_APPLIED, text)


def deployment_metadata(bent: World) -> dict[str, Any]:
    part: dict[str, Any] = bent.deployment["metadata"]
    return part


CASES = [
    Case(
        "an object that is not there",
        targets.has_deployment,
        "Deployment other: got nothing",
        both(
            setting(lambda w: spec(w)["scaleTargetRef"], name="other"),
            setting(lambda w: hpa_spec(w)["scaleTargetRef"], name="other"),
        ),
        both(
            setting(lambda w: spec(w)["scaleTargetRef"], name=NAME),
            setting(lambda w: hpa_spec(w)["scaleTargetRef"], name=NAME),
        ),
    ),
    Case(
        "paused",
        scaled_objects.paused,
        "autoscaling.keda.sh/paused: true",
        both(annotated(paused="true"), without_the_other(HPAS, f"keda-hpa-{NAME}")),
        both(annotated(paused="false"), lambda w: w.objects[HPAS].extend(world().objects[HPAS])),
    ),
    Case(
        "paused at replicas",
        scaled_objects.paused,
        "paused-replicas: 7",
        annotated(paused_replicas="7"),
        annotated(paused_replicas=None),
    ),
    Case(
        "scaling out paused",
        scaled_objects.paused,
        "load above the floor gets no replicas",
        annotated(paused_scale_out="true"),
        annotated(paused_scale_out="false"),
    ),
    Case(
        "idle",
        scaled_objects.idle,
        "idleReplicaCount: got 0",
        setting(spec, idleReplicaCount=0),
        setting(spec, idleReplicaCount=None),
    ),
    Case(
        "a ceiling below the floor",
        scaled_objects.ceiling,
        "maxReplicaCount: got 6, expected at least the floor of 7",
        both(setting(spec, maxReplicaCount=6), setting(hpa_spec, maxReplicas=6)),
        both(setting(spec, maxReplicaCount=7), setting(hpa_spec, maxReplicas=7)),
    ),
    Case(
        "not Ready",
        scaled_objects.conditions,
        "condition Ready of the ScaledObject: got False, Because: why",
        conditions(said("Ready", "False")),
        conditions(said("Ready", "Unknown")),
    ),
    Case(
        "in fallback",
        scaled_objects.conditions,
        "it scales by its fallback",
        conditions(said("Fallback", "True")),
        conditions(said("Fallback", "False")),
    ),
    Case(
        "two of one target",
        scaled_objects.second_owner,
        "weekend beside ScaledObject support-bot",
        another_object,
        setting(lambda w: w.one(OBJECTS, "weekend")["spec"], scaleTargetRef={"name": "other"}),
    ),
    Case(
        "a static fallback below the floor",
        scaled_objects.fallback,
        "got static 2, below the floor of 7",
        setting(lambda w: spec(w)["fallback"], behavior=None),
        setting(lambda w: spec(w)["fallback"], replicas=7),
    ),
    Case(
        "a lower fallback",
        scaled_objects.fallback,
        "currentReplicasIfLower 2",
        setting(lambda w: spec(w)["fallback"], behavior="currentReplicasIfLower"),
        setting(lambda w: spec(w)["fallback"], behavior="currentReplicas"),
    ),
    Case(
        "a fallback above the ceiling",
        scaled_objects.fallback,
        "fallback.replicas: got 17, expected at most maxReplicaCount (16)",
        setting(lambda w: spec(w)["fallback"], replicas=17),
        setting(lambda w: spec(w)["fallback"], replicas=16),
    ),
    Case(
        "a formula without a whole target",
        scaled_objects.modifiers,
        "got '2.5'",
        setting(lambda w: spec(w)["advanced"], scalingModifiers={"formula": "max(a, b)", "target": "2.5"}),
        setting(lambda w: spec(w)["advanced"]["scalingModifiers"], target="2"),
    ),
    Case(
        "no HPA",
        autoscalers.is_there,
        "HPA keda-hpa-support-bot: got nothing",
        without_the_other(HPAS, f"keda-hpa-{NAME}"),
        lambda w: w.objects[HPAS].extend(world().objects[HPAS]),
    ),
    Case(
        "an HPA of nobody",
        autoscalers.owner,
        "got nobody, expected ScaledObject support-bot",
        setting(lambda w: w.hpa["metadata"], ownerReferences=None),
        setting(lambda w: w.hpa["metadata"], ownerReferences=[{"kind": "ScaledObject", "name": NAME}]),
    ),
    Case(
        "a second HPA",
        autoscalers.others_on_the_target,
        "by-hand beside keda-hpa-support-bot",
        another_hpa,
        setting(lambda w: w.one(HPAS, "by-hand")["spec"], scaleTargetRef={"kind": "Deployment", "name": "other"}),
    ),
    Case(
        "an HPA left behind",
        autoscalers.follows,
        "got minReplicas 2, maxReplicas 12, expected 2 and 16",
        setting(hpa_spec, maxReplicas=12),
        setting(hpa_spec, maxReplicas=16),
    ),
    Case(
        "scaling up disabled",
        autoscalers.may_scale_up,
        "scaleUp.selectPolicy Disabled",
        setting(lambda w: hpa_spec(w)["behavior"]["scaleUp"], selectPolicy="Disabled"),
        setting(lambda w: hpa_spec(w)["behavior"]["scaleUp"], selectPolicy="Min"),
    ),
    Case(
        "an HPA without its metric",
        autoscalers.is_active,
        "condition ScalingActive of HPA keda-hpa-support-bot: got False, FailedGetExternalMetric",
        setting(lambda w: w.hpa["status"], conditions=[said("ScalingActive", "False", "FailedGetExternalMetric")]),
        setting(lambda w: w.hpa["status"], conditions=[said("ScalingActive", "False", "ScalingDisabled")]),
    ),
    Case(
        "a metric that fails",
        triggers.failing,
        "metric s0-prometheus: got 4 failed reads",
        setting(status, health={"s0-prometheus": {"numberOfFailures": 4, "status": "Failing"}}),
        setting(status, health={"s0-prometheus": {"numberOfFailures": 1, "status": "Happy"}}),
    ),
    Case(
        "no authentication",
        triggers.authentications,
        "no TriggerAuthentication prometheus-token",
        authenticated(),
        lambda w: w.add("triggerauthentications.keda.sh", "prometheus-token"),
    ),
    Case(
        "no authentication of the cluster",
        triggers.authentications,
        "no ClusterTriggerAuthentication prometheus-token",
        both(
            authenticated("ClusterTriggerAuthentication"),
            lambda w: w.add("triggerauthentications.keda.sh", "prometheus-token"),
        ),
        lambda w: w.add("clustertriggerauthentications.keda.sh", "prometheus-token"),
    ),
    Case(
        "a schedule of four fields", triggers.cron_fields, "start: got 4 fields, not 5", cron(start="30 6 * *"), cron()
    ),
    Case("an hour there is not", triggers.cron_fields, "25 is no hour", cron(end="0 25 * * 6"), cron()),
    Case("a zone nobody has", triggers.cron_fields, "timezone: got 'IST5'", cron(timezone="IST5"), cron()),
    Case("no zone", triggers.cron_fields, "timezone: got ''", cron(timezone=""), cron()),
    Case(
        "no replicas by schedule", triggers.cron_fields, "desiredReplicas: got '0'", cron(desiredReplicas="0"), cron()
    ),
    Case(
        "a schedule above the ceiling",
        triggers.cron_fields,
        "at most maxReplicaCount (16)",
        cron(desiredReplicas="17"),
        cron(desiredReplicas="16"),
    ),
    Case(
        "weekdays to every day",
        triggers.cron_fields,
        "which do not take turns",
        cron(start="30 6 * * 1-5", end="10 22 * * *"),
        cron(start="30 6 * * 1-5", end="10 22 * * 1-5"),
    ),
    Case(
        "a query of nothing",
        triggers.prometheus_fields,
        "query: got nothing",
        setting(query, query=" "),
        setting(query, query="sum(up)"),
    ),
    Case(
        "a server of nothing",
        triggers.prometheus_fields,
        "serverAddress: got 'prometheus:9090'",
        setting(query, serverAddress="prometheus:9090"),
        setting(query, serverAddress="http://prometheus:9090"),
    ),
    Case(
        "a threshold in words",
        triggers.prometheus_fields,
        "threshold: got 'forty'",
        setting(query, threshold="forty"),
        setting(query, threshold="40.5"),
    ),
    Case(
        "no data read as zero",
        triggers.prometheus_fields,
        "ignoreNullValues: got nothing, which is true",
        setting(query, ignoreNullValues=None),
        setting(query, ignoreNullValues="false"),
    ),
    Case(
        "a metric of an older engine",
        triggers.metric_names,
        "got vllm:gpu_cache_usage_perc, expected vllm:kv_cache_usage_perc",
        in_query("vllm:gpu_cache_usage_perc", "avg({})", threshold="0.8"),
        in_query("vllm:kv_cache_usage_perc", "avg({})", threshold="0.8"),
    ),
    Case(
        "a bound that is not passed",
        triggers.threshold_is_reached,
        "got 60 where a replica shows at most 64",
        in_query("vllm:num_requests_running", threshold="60"),
        in_query("vllm:num_requests_running", threshold="58"),
    ),
    Case(
        "a share read as percent",
        triggers.threshold_is_reached,
        "got 80 where a replica shows at most 1",
        in_query("vllm:kv_cache_usage_perc", "avg({})", threshold="80"),
        in_query("vllm:kv_cache_usage_perc", "100 * avg({})", threshold="80"),
    ),
    Case(
        "Flux owns the floor",
        owners.field_managers,
        "owner of minReplicaCount: got kustomize-controller (Flux)",
        owned_by("kustomize-controller", "spec", "minReplicaCount", operation="Apply"),
        both(disowned(), owned_by("kustomize-controller", "spec", "maxReplicaCount", operation="Apply")),
    ),
    Case(
        "Argo CD owns our annotation",
        owners.field_managers,
        f"owner of {ownership.FLOOR_ANNOTATION}",
        owned_by("argocd-controller", "metadata", "annotations", ownership.FLOOR_ANNOTATION),
        both(disowned(), owned_by("argocd-controller", "metadata", "annotations", "team")),
    ),
    Case(
        "kubectl applied the floor",
        owners.last_applied,
        "last-applied-configuration: got minReplicaCount 2",
        applied(minReplicaCount=2),
        applied(maxReplicaCount=16),
    ),
    Case(
        "Argo CD heals the floor",
        owners.argo,
        "Argo CD Application shop: got no ignoreDifferences",
        both(tracked, application(ignoreDifferences=[IGNORES])),
        application(ignoreDifferences=[IGNORES], syncPolicy=RESPECTED),
    ),
    Case(
        "Argo CD ignores another field",
        owners.argo,
        "Argo CD Application shop",
        both(
            tracked,
            application(
                ignoreDifferences=[{**IGNORES, "jsonPointers": ["/spec/maxReplicaCount"]}], syncPolicy=RESPECTED
            ),
        ),
        application(
            ignoreDifferences=[{**IGNORES, "jsonPointers": [], "managedFieldsManagers": [ownership.FIELD_MANAGER]}],
            syncPolicy=RESPECTED,
        ),
    ),
    Case(
        "Argo CD owns the floor and heals it",
        owners.field_managers,
        "owner of minReplicaCount: got argocd-controller",
        both(owned_by("argocd-controller", "spec", "minReplicaCount"), applied(minReplicaCount=2)),
        both(tracked, application(ignoreDifferences=[IGNORES], syncPolicy=RESPECTED)),
    ),
    Case(
        "replicas by hand",
        owners.replicas,
        "got kubectl (Update), expected the HPA alone",
        owned_by("kubectl", "spec", "replicas", of=deployment_metadata),
        both(
            disowned(deployment_metadata),
            owned_by("kubectl", "spec", "replicas", subresource="scale", of=deployment_metadata),
        ),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_found_and_gone_when_mended(case: Case) -> None:
    holds(case)


def test_argo_cd_of_another_cluster_cannot_be_asked() -> None:
    bent = world()
    tracked(bent)
    report = bent.report()
    assert report.findings == ()
    assert report.not_checked == (
        NotChecked(
            "owner",
            NAME,
            "Argo CD's Application shop is not in this cluster: "
            "see that it has ignoreDifferences for /spec/minReplicaCount",
        ),
    )


def test_a_mark_of_argo_cds_that_names_no_application_is_said() -> None:
    bent = world()
    metadata(bent)["annotations"]["argocd.argoproj.io/sync-wave"] = "3"
    report = bent.report()
    assert report.findings == ()
    (unsure,) = report.not_checked
    assert (unsure.check, unsure.because.partition(":")[0]) == ("owner", "Argo CD's Application is not named on it")


def test_helms_label_is_not_argo_cds() -> None:
    bent = world()
    metadata(bent)["labels"]["app.kubernetes.io/instance"] = "keda-objects"
    assert bent.report() == Report((), ())


def test_a_target_of_another_kind_is_said_not_to_be_looked_at() -> None:
    bent = world()
    spec(bent)["scaleTargetRef"]["kind"] = hpa_spec(bent)["scaleTargetRef"]["kind"] = "StatefulSet"
    (said_of_it,) = bent.report().not_checked
    assert (said_of_it.check, said_of_it.service) == ("target", NAME)
    assert "it scales a StatefulSet" in said_of_it.because


def test_a_stack_that_is_not_built_is_found() -> None:
    bent = world()
    bent.objects[OBJECTS].clear()
    (found, *more) = bent.report().findings
    assert (found.check, found.service, found.what) == ("target", NAME, "ScaledObject")
    assert "nothing of stack local is in the cluster yet" in found.got
    assert more == []
