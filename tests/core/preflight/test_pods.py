"""Preflight of nodes, quotas, priorities, volumes, budgets, images, lifetimes, rollouts and the servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prescale.clock import Clock
from prescale.preflight.checks import (
    budgets,
    images,
    lifetimes,
    nodes,
    priorities,
    quotas,
    rollouts,
    servers,
    volumes,
)
from prescale.preflight.checks.table import CHECKS
from prescale.preflight.finding import Report
from tests.core.preflight import test_scaling
from tests.core.preflight.cases import Case, both, holds, setting
from tests.core.preflight.world import FLOOR, NAME, NOW, World, world
from tests.core.stack_files import stack

BUDGETS, CLASSES = "poddisruptionbudgets.policy", "priorityclasses.scheduling.k8s.io"
CLAIMS, VOLUMES, STORAGE = "persistentvolumeclaims", "persistentvolumes", "storageclasses.storage.k8s.io"
QUOTAS, RANGES = "resourcequotas", "limitranges"
ZONE = "topology.kubernetes.io/zone"


def only_nodes(count: int) -> Any:
    return lambda bent: bent.keep_nodes(count)


def nodes_again(count: int) -> Any:
    def bend(bent: World) -> None:
        bent.nodes.extend(world().nodes[len(bent.nodes) : count])
        bent.keep_nodes(count)

    return bend


def cordoned(*numbers: int, on: bool = True) -> Any:
    def bend(bent: World) -> None:
        for number in numbers:
            bent.nodes[number]["spec"]["unschedulable"] = on

    return bend


def every_node(bend_one: Any) -> Any:
    def bend(bent: World) -> None:
        for node in bent.nodes:
            bend_one(node)

    return bend


def allocatable(name: str, value: str) -> Any:
    return every_node(lambda node: node["status"]["allocatable"].__setitem__(name, value))


def tainted(key: str, effect: str = "NoSchedule") -> Any:
    return every_node(lambda node: node["spec"]["taints"].append({"key": key, "effect": effect}))


def tolerated(key: str) -> Any:
    def bend(bent: World) -> None:
        bent.template["tolerations"].append({"key": key, "operator": "Exists"})

    return both(bend)


def ready(number: int, value: str) -> Any:
    return lambda bent: bent.nodes[number]["status"].__setitem__(
        "conditions", [{"type": "Ready", "status": value, "reason": "Kubelet"}]
    )


def spread(**changes: Any) -> Any:
    """The zones' constraint, as `zones: 3` of the service would have it."""

    def bend(bent: World) -> None:
        one = bent.template["topologySpreadConstraints"][0]
        one |= {"whenUnsatisfiable": "DoNotSchedule", "minDomains": 3, **changes}

    return bend


def zones(*names: str) -> Any:
    """Nodes in turn in these zones."""

    def bend(bent: World) -> None:
        for number, node in enumerate(bent.nodes):
            node["metadata"]["labels"][ZONE] = names[number % len(names)]

    return bend


def apart(key: str) -> Any:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app.kubernetes.io/name": NAME}}}
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return lambda bent: bent.template["affinity"].update(rule)


def guests(count: int, **given: Any) -> Any:
    """Others' pods on the nodes behind those of the two replicas."""

    def bend(bent: World) -> None:
        for number in range(count):
            bent.guest(bent.nodes[2 + number]["metadata"]["name"], f"guest-{number}", **given)

    return bend


def quota(**hard: str) -> Any:
    names = {"gpus": "requests.nvidia.com/gpu", "limits_cpu": "limits.cpu"}
    used = {"requests.nvidia.com/gpu": "2", "pods": "20", "cpu": "12", "memory": "96Gi"}

    def bend(bent: World) -> None:
        bent.objects[QUOTAS] = []
        bent.add(QUOTAS, "team", spec={"hard": {names.get(k, k): v for k, v in hard.items()}}, status={"used": used})

    return bend


def scoped(operator: str, *values: str) -> Any:
    scope = {"scopeName": "PriorityClass", "operator": operator, "values": list(values)}
    return lambda bent: bent.one(QUOTAS, "team")["spec"].__setitem__("scopeSelector", {"matchExpressions": [scope]})


def limit_range(**fields: Any) -> Any:
    def bend(bent: World) -> None:
        bent.objects[RANGES] = []
        bent.add(RANGES, "team", spec={"limits": [{"type": "Container", **fields}]})

    return bend


def mounts(claim: str) -> Any:
    volume = {"name": "weights", "persistentVolumeClaim": {"claimName": claim}}
    return lambda bent: bent.template["volumes"].__setitem__(0, volume)


def claims(*modes: str, zone: str | None = None, storage: str = "") -> Any:
    """A claim, bound to a volume in `zone`; with a storage class it is not bound yet."""

    def bend(bent: World) -> None:
        for kind in (CLAIMS, VOLUMES):
            bent.objects[kind] = []
        name = "" if storage else "pv-1"
        claim_spec = {"accessModes": list(modes), "storageClassName": storage, "volumeName": name}
        bent.add(CLAIMS, "weights", spec=claim_spec, status={"phase": "Pending" if storage else "Bound"})
        required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]}
        bent.add(VOLUMES, "pv-1", spec={"nodeAffinity": {"required": required}} if zone else {})

    return both(mounts("weights"), bend)


def storage_class(mode: str) -> Any:
    return lambda bent: bent.add(STORAGE, "gp3", volumeBindingMode=mode)


def waits(reason: str, number: int = 0) -> Any:
    def bend(bent: World) -> None:
        bent.pods[number]["status"]["containerStatuses"][0]["state"] = {"waiting": {"reason": reason, "message": "so"}}

    return bend


def holder(**status: int) -> Any:
    return lambda bent: bent.objects["daemonsets.apps"][0]["status"].update(status)


def deployment(**status: Any) -> Any:
    return setting(lambda bent: bent.deployment["status"], **status)


def deployment_spec(bent: World) -> dict[str, Any]:
    part: dict[str, Any] = bent.deployment["spec"]
    return part


def said(kind: str, value: str, reason: str) -> Any:
    return deployment(conditions=[{"type": kind, "status": value, "reason": reason, "message": "why"}])


def budget(**fields: Any) -> Any:
    def bend(bent: World) -> None:
        bent.budget["spec"].pop("maxUnavailable", None)
        bent.budget["spec"].pop("minAvailable", None)
        bent.budget["spec"] |= fields

    return bend


def second_budget(bent: World) -> None:
    bent.add(BUDGETS, "by-hand", spec={"maxUnavailable": 1, "selector": {}})


def engine(**fields: Any) -> Any:
    return setting(lambda bent: bent.engine, **fields)


def template(**fields: Any) -> Any:
    return setting(lambda bent: bent.template, **fields)


def clock_off(seconds: int) -> Any:
    return lambda bent: setattr(bent, "clock", Clock(NOW, NOW.add(seconds=seconds)))


def available(value: str) -> Any:
    said_so = [{"type": "Available", "status": value, "reason": "FailedDiscoveryCheck", "message": "no answer"}]
    return lambda bent: bent.objects["apiservices.apiregistration.k8s.io"][0]["status"].__setitem__(
        "conditions", said_so
    )


def webhooks(group: str) -> Any:
    def bend(bent: World) -> None:
        (one,) = bent.objects["validatingwebhookconfigurations.admissionregistration.k8s.io"]
        one["webhooks"][0]["rules"][0]["apiGroups"] = [group]

    return bend


ROOM = nodes.room_for_the_floors
CASES = [
    Case(
        "too few nodes",
        ROOM,
        "room for 5 of 7 replicas (5 x too little nvidia.com/gpu left), expected 7 whole replicas. Uncordon or mend "
        "nodes, or free their GPUs; else it would need 2 more nodes; the pool has 5 of at most 18 (max_nodes).",
        only_nodes(5),
        nodes_again(7),
    ),
    Case(
        "others hold the GPUs",
        ROOM,
        "room for 4 of 7 replicas (18 x too little nvidia.com/gpu left)",
        guests(14),
        lambda w: w.pods.__delitem__(slice(-3, None)),
    ),
    Case(
        "more than the pool may have",
        ROOM,
        "need 3 more nodes, and the pool has 18 of at most 18 (max_nodes): raise max_nodes, or lower the floor.",
        guests(14),
        lambda w: w.pods.__delitem__(slice(-3, None)),
    ),
    Case(
        "a node cordoned",
        ROOM,
        "room for 6 of 7 replicas (6 x too little nvidia.com/gpu left, 1 x cordoned)",
        both(only_nodes(7), cordoned(6)),
        cordoned(6, on=False),
    ),
    Case(
        "a node with a replica is not Ready",
        ROOM,
        "room for 6 of 7 replicas (6 x too little nvidia.com/gpu left, 1 x not Ready)",
        both(only_nodes(7), ready(0, "Unknown")),
        ready(0, "True"),
    ),
    Case(
        "a taint",
        ROOM,
        "room for 2 of 7 replicas (18 x taint team:NoSchedule), expected 7 whole replicas. Correct labels and taints",
        tainted("team"),
        tolerated("team"),
    ),
    Case(
        "a taint that only asks",
        ROOM,
        "(18 x taint team:NoExecute)",
        tainted("team", "NoExecute"),
        every_node(lambda node: node["spec"]["taints"][-1].update(effect="PreferNoSchedule")),
    ),
    Case(
        "another instance type",
        ROOM,
        "room for 2 of 7 replicas (no node has its labels)",
        every_node(lambda node: node["metadata"]["labels"].update({"node.kubernetes.io/instance-type": "g6.2xlarge"})),
        every_node(lambda node: node["metadata"]["labels"].update({"node.kubernetes.io/instance-type": "g6e.2xlarge"})),
    ),
    Case(
        "too little memory",
        ROOM,
        "(16 x too little memory left, 2 x too little nvidia.com/gpu left), expected 7 whole replicas. "
        "Even empty, no node of the pool holds a replica",
        allocatable("memory", "47Gi"),
        allocatable("memory", "48Gi"),
    ),
    Case(
        "an ephemeral request above the root disk",
        ROOM,
        "16 x too little ephemeral-storage left",
        both(
            allocatable("ephemeral-storage", "18Gi"),
            setting(lambda w: w.engine["resources"]["requests"], **{"ephemeral-storage": "200Gi"}),
        ),
        allocatable("ephemeral-storage", "420Gi"),
    ),
    Case(
        "no place for one more pod",
        ROOM,
        "16 x offers no pods",
        allocatable("pods", "0"),
        allocatable("pods", "2"),
    ),
    Case(
        "a GPU for each pod of one host",
        ROOM,
        "18 x too little nvidia.com/gpu left",
        both(only_nodes(18), guests(16)),
        lambda w: w.pods.__delitem__(slice(-5, None)),
    ),
    Case(
        "fewer zones than must be",
        ROOM,
        "There is room, but not where it may be (spread over topology.kubernetes.io/zone): add nodes in other domains",
        both(zones("a", "b"), spread()),
        zones("a", "b", "c"),
    ),
    Case(
        "a zone that is full",
        ROOM,
        "spread over topology.kubernetes.io/zone",
        both(
            zones("a", "b", "c"),
            spread(),
            only_nodes(9),
            lambda w: [w.guest(w.nodes[n]["metadata"]["name"], f"g{n}") for n in (5, 8)],
        ),
        lambda w: w.pods.pop(),
    ),
    Case(
        "replicas apart by zone",
        ROOM,
        "anti-affinity over topology.kubernetes.io/zone",
        apart(ZONE),
        apart("kubernetes.io/hostname"),
    ),
    Case(
        "a volume in one zone",
        ROOM,
        "x out of reach of its volumes",
        both(only_nodes(14), zones("a", "b", "c"), claims("ReadOnlyMany", zone="a")),
        zones("a", "a"),
    ),
    Case(
        "replicas on a cordoned node",
        nodes.on_cordoned_nodes,
        "cordoned nodes l40s-01: got 1 of its replicas there",
        cordoned(1),
        both(cordoned(1, on=False), cordoned(17)),
    ),
    Case(
        "a node without its device plugin",
        nodes.without_gpus,
        "nodes l40s-17 of pool l40s: got no allocatable nvidia.com/gpu",
        lambda w: w.nodes[17]["status"]["allocatable"].pop("nvidia.com/gpu"),
        lambda w: w.nodes[17]["status"]["allocatable"].update({"nvidia.com/gpu": "1"}),
    ),
    Case(
        "a quota of GPUs",
        quotas.quota_of_the_floors,
        "team: got requests.nvidia.com/gpu: 6, of which 2 are used, expected 7 for the floors of support-bot",
        quota(gpus="6"),
        quota(gpus="7"),
    ),
    Case(
        "a quota of pods",
        quotas.quota_of_the_floors,
        "pods: 24, of which 20 are used, expected 25",
        quota(pods="24"),
        quota(pods="25"),
    ),
    Case(
        "a quota of memory",
        quotas.quota_of_the_floors,
        "memory: 335Gi, of which 96Gi are used, expected 336Gi",
        quota(memory="335Gi"),
        quota(memory="336Gi"),
    ),
    Case(
        "a quota of another priority",
        quotas.quota_of_the_floors,
        "requests.nvidia.com/gpu: 6",
        both(quota(gpus="6"), scoped("DoesNotExist")),
        scoped("In", "batch"),
    ),
    Case(
        "a quota of CPU limits",
        quotas.quota_needs_words,
        "no limits.cpu in container weights, engine",
        quota(limits_cpu="500"),
        both(quota(limits_cpu="500"), limit_range(default={"cpu": "8"}, defaultRequest={"cpu": "1"})),
    ),
    Case(
        "a range below the request",
        quotas.limit_ranges,
        "LimitRange team, container engine: got request memory 48Gi, expected at most 32Gi",
        both(
            limit_range(max={"memory": "32Gi"}, default={"memory": "32Gi"}),
            setting(lambda w: w.engine["resources"]["limits"], memory="48Gi"),
        ),
        limit_range(max={"memory": "48Gi"}, default={"memory": "48Gi"}),
    ),
    Case(
        "a range above the request",
        quotas.limit_ranges,
        "container weights: got request cpu 1, expected at least 2",
        limit_range(min={"cpu": "2"}),
        limit_range(min={"cpu": "1"}),
    ),
    Case(
        "a ratio of limit to request",
        quotas.limit_ranges,
        "limit memory 48Gi of request 1Gi, expected at most 4 x the request",
        limit_range(maxLimitRequestRatio={"memory": "4"}, default={"memory": "48Gi"}),
        limit_range(maxLimitRequestRatio={"memory": "48"}, default={"memory": "48Gi"}),
    ),
    Case(
        "a default limit below the request",
        quotas.requests_above_limits,
        "request cpu 6 above its limit 4",
        limit_range(default={"cpu": "4"}),
        limit_range(default={"cpu": "6"}),
    ),
    Case(
        "a class nobody made",
        priorities.class_is_there,
        "PriorityClass serving: got nothing",
        template(priorityClassName="serving"),
        lambda w: w.add(CLASSES, "serving", value=1000),
    ),
    Case(
        "others above ours",
        priorities.taken_by_others,
        "got 0, below that of batch/guest (1000)",
        lambda w: w.guest("l40s-17", priority=1000),
        both(template(priorityClassName="serving"), lambda w: w.add(CLASSES, "serving", value=1000)),
    ),
    Case(
        "others above ours that wait",
        priorities.taken_by_others,
        "batch/guest (1000)",
        lambda w: w.guest("", priority=1000)["spec"].update(tolerations=[{"operator": "Exists"}]),
        lambda w: w.pods[-1]["spec"].update(preemptionPolicy="Never"),
    ),
    Case(
        "a claim nobody made",
        volumes.missing_claims,
        "PersistentVolumeClaim weights: got nothing",
        mounts("weights"),
        claims("ReadOnlyMany"),
    ),
    Case(
        "a claim that lost its volume",
        volumes.missing_claims,
        "got Lost, expected Bound",
        both(claims("ReadOnlyMany"), lambda w: w.one(CLAIMS, "weights")["status"].update(phase="Lost")),
        claims("ReadOnlyMany"),
    ),
    Case(
        "a claim of one node",
        volumes.unshared_claims,
        "got ReadWriteOnce: the pods of one node, expected ReadWriteMany or ReadOnlyMany for 7 replicas",
        claims("ReadWriteOnce"),
        claims("ReadWriteOnce", "ReadOnlyMany"),
    ),
    Case(
        "a volume in fewer zones than must be",
        volumes.zones_of_claims,
        "zones of its volumes: got a, expected at least 2 zones",
        both(spread(minDomains=2, maxSkew=9), zones("a"), claims("ReadOnlyMany", zone="a")),
        both(spread(minDomains=1, maxSkew=9), claims("ReadOnlyMany")),
    ),
    Case(
        "a class of storage nobody made",
        volumes.storage_classes,
        "no class 'gp3'",
        claims("ReadOnlyMany", storage="gp3"),
        storage_class("WaitForFirstConsumer"),
    ),
    Case(
        "a class that does not wait",
        volumes.storage_classes,
        "volumeBindingMode Immediate",
        both(claims("ReadOnlyMany", storage="gp3"), storage_class("Immediate")),
        setting(lambda w: w.one(STORAGE, "gp3"), volumeBindingMode="WaitForFirstConsumer"),
    ),
    Case(
        "no budget",
        budgets.one_budget,
        "got none, expected one",
        lambda w: w.objects[BUDGETS].clear(),
        lambda w: w.objects[BUDGETS].extend(world().objects[BUDGETS]),
    ),
    Case(
        "two budgets",
        budgets.one_budget,
        "got by-hand, support-bot, expected one",
        second_budget,
        lambda w: w.one(BUDGETS, "by-hand")["spec"].update(selector={"matchLabels": {"app": "other"}}),
    ),
    Case(
        "a budget of all replicas at the floor",
        budgets.drains_are_possible,
        "minAvailable 7 at 2 and 7 replicas",
        budget(minAvailable=7),
        budget(minAvailable="50%"),
    ),
    Case(
        "a budget of the baseline",
        budgets.drains_are_possible,
        "minAvailable 2 at 2 replicas",
        budget(minAvailable=2),
        budget(minAvailable=1),
    ),
    Case(
        "a budget of nothing",
        budgets.drains_are_possible,
        "maxUnavailable 0%",
        budget(maxUnavailable="0%"),
        budget(maxUnavailable="10%"),
    ),
    Case(
        "a budget of no pods",
        budgets.budgets_mean_something,
        "a selector that means no pod",
        lambda w: w.add(BUDGETS, "old", spec={"maxUnavailable": 1, "selector": {"matchLabels": {"app": "gone"}}})[
            "metadata"
        ].update(labels=w.budget["metadata"]["labels"]),
        lambda w: w.one(BUDGETS, "old")["metadata"].update(labels={}),
    ),
    Case(
        "a tag",
        images.by_digest,
        "image of container engine: got vllm/vllm-openai:latest",
        both(
            engine(image="vllm/vllm-openai:latest"),
            template(x=None),
            lambda w: w.objects["daemonsets.apps"][0]["spec"]["template"]["spec"]["containers"][0].update(
                image="vllm/vllm-openai:latest"
            ),
        ),
        both(
            engine(image="vllm@sha256:" + "2" * 64),
            lambda w: w.objects["daemonsets.apps"][0]["spec"]["template"]["spec"]["containers"][0].update(
                image="vllm@sha256:" + "2" * 64
            ),
        ),
    ),
    Case(
        "an image that is not pulled",
        images.stuck,
        "container engine of 1 pods (support-bot-6d5f8c7b9-0): got ImagePullBackOff: so",
        waits("ImagePullBackOff"),
        waits("ContainerCreating"),
    ),
    Case(
        "a secret the container needs",
        images.stuck,
        "got CreateContainerConfigError: so",
        waits("CreateContainerConfigError", 1),
        waits("PodInitializing", 1),
    ),
    Case(
        "no holder of the image",
        images.pre_pulled,
        "no DaemonSet that holds it",
        lambda w: w.objects["daemonsets.apps"].clear(),
        lambda w: w.objects["daemonsets.apps"].extend(world().objects["daemonsets.apps"]),
    ),
    Case(
        "a holder that is not Ready everywhere",
        images.pre_pulled,
        "got 16 of 18 Ready with the image",
        holder(numberReady=16),
        holder(numberReady=18),
    ),
    Case(
        "a holder on its way to the new image",
        images.pre_pulled,
        "got 3 of 18 Ready with the image",
        holder(updatedNumberScheduled=3),
        holder(updatedNumberScheduled=18),
    ),
    Case(
        "a holder that leaves nodes out",
        images.pre_pulled,
        "got 12 nodes, expected the 18 Ready nodes",
        holder(desiredNumberScheduled=12, numberReady=12, updatedNumberScheduled=12),
        holder(desiredNumberScheduled=18, numberReady=18, updatedNumberScheduled=18),
    ),
    Case(
        "a startup probe that gives up",
        lifetimes.startup,
        "startupProbe of container engine: got 174 s (29 x 6 s), expected at least the 180 s",
        setting(lambda w: w.engine["startupProbe"], failureThreshold=29),
        setting(lambda w: w.engine["startupProbe"], failureThreshold=30),
    ),
    Case(
        "a liveness probe that does not wait",
        lifetimes.startup,
        "livenessProbe of container engine: got 60 s",
        engine(startupProbe=None),
        setting(lambda w: w.engine["livenessProbe"], initialDelaySeconds=120),
    ),
    Case(
        "weights that the engine loads",
        lifetimes.startup,
        "at least the 300 s of a start's p95 (engine and weights)",
        both(template(initContainers=[]), setting(lambda w: w.engine["startupProbe"], failureThreshold=49)),
        setting(lambda w: w.engine["startupProbe"], failureThreshold=50),
    ),
    Case(
        "a grace that cuts streams",
        lifetimes.grace,
        "got 195 s, expected more than 195 s: preStop 15 s and the longest stream",
        template(terminationGracePeriodSeconds=195),
        template(terminationGracePeriodSeconds=196),
    ),
    Case(
        "a grace that a shell's sleep eats",
        lifetimes.grace,
        "preStop 60 s",
        engine(lifecycle={"preStop": {"exec": {"command": ["sh", "-c", "sleep 60 && true"]}}}),
        template(terminationGracePeriodSeconds=241),
    ),
    Case(
        "a deadline within a cold start",
        lifetimes.progress_deadline,
        "got 300 s, expected more than a cold start of 300 s",
        setting(deployment_spec, progressDeadlineSeconds=300),
        setting(deployment_spec, progressDeadlineSeconds=301),
    ),
    Case(
        "a Deployment paused",
        rollouts.paused,
        "got spec.paused",
        setting(deployment_spec, paused=True),
        setting(deployment_spec, paused=False),
    ),
    Case(
        "a rollout",
        rollouts.in_progress,
        "1 of 3 pods are of the new template",
        deployment(updatedReplicas=1, replicas=3),
        deployment(updatedReplicas=2, replicas=2),
    ),
    Case(
        "a template nobody has looked at",
        rollouts.in_progress,
        "a rollout in progress: a template that its controller has not looked at yet",
        setting(lambda w: w.deployment["metadata"], generation=2),
        deployment(observedGeneration=2),
    ),
    Case(
        "a rollout given up",
        rollouts.failed,
        "ProgressDeadlineExceeded: why",
        said("Progressing", "False", "ProgressDeadlineExceeded"),
        said("Progressing", "True", "ReplicaSetUpdated"),
    ),
    Case(
        "pods refused",
        rollouts.failed,
        "FailedCreate: why",
        said("ReplicaFailure", "True", "FailedCreate"),
        said("ReplicaFailure", "False", ""),
    ),
    Case("a clock behind", servers.clock, "got 301 s behind the API server's", clock_off(301), clock_off(300)),
    Case(
        "no metrics server",
        servers.external_metrics,
        "got not available, FailedDiscoveryCheck: no answer",
        available("False"),
        available("True"),
    ),
    Case("no webhook", servers.webhook, "KEDA's admission webhook: got nothing", webhooks("apps"), webhooks("keda.sh")),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_found_and_gone_when_mended(case: Case) -> None:
    holds(case)


def test_every_check_has_been_wrong_in_some_way() -> None:
    shown = {case.by for case in (*CASES, *test_scaling.CASES)}
    elsewhere = {"is_built", "are_readable", "not_reckoned", "argo", "pull_secrets", "is_awake"}
    assert {check.judge.__name__ for check in CHECKS if check.judge not in shown} <= elsewhere


def test_a_rollout_needs_its_surge_beside_the_floor() -> None:
    bent = world()
    bent.keep_nodes(FLOOR)
    deployment(updatedReplicas=1)(bent)
    by_check = {found.check: found for found in bent.report().findings}
    assert by_check.keys() == {"nodes", "rollout"}
    assert by_check["nodes"].got.startswith("room for 7 of 8 replicas")
    assert by_check["nodes"].expected == "8 whole replicas: the floor, and 1 of the rollout in progress"
    bent = world()
    bent.keep_nodes(FLOOR + 1)
    deployment(updatedReplicas=1)(bent)
    assert {found.check for found in bent.report().findings} == {"rollout"}


@pytest.mark.parametrize(
    ("ends", "is_short"),
    [("2027-10-20T12:03:45Z", False), ("2027-10-29T14:00:01Z", True), ("2027-10-20T11:00:00Z", True)],
    ids=["gone by the raise", "there beyond it", "kept by something"],
)
def test_a_pod_on_its_way_out_holds_its_gpu_for_its_time(ends: str, is_short: bool) -> None:
    bent = world()
    bent.keep_nodes(FLOOR)
    bent.guest(bent.nodes[-1]["metadata"]["name"], deletionTimestamp=ends)
    assert bool(bent.report().findings) == is_short


def test_lower_pods_make_room_for_a_class_that_preempts() -> None:
    """Pause pods that hold a node for the raise."""
    bent = world()
    bent.keep_nodes(FLOOR)
    bent.guest(bent.nodes[-1]["metadata"]["name"], "pause", priority=-10)
    assert bent.report() == Report((), ())
    bent.add(CLASSES, "patient", value=0, preemptionPolicy="Never")
    template(priorityClassName="patient")(bent)
    assert {found.check for found in bent.report().findings} == {"nodes"}


def test_a_pull_secret_is_believed_once_a_pod_has_pulled() -> None:
    bent = world()
    template(imagePullSecrets=[{"name": "registry"}])(bent)
    assert bent.report() == Report((), ())
    for pod in bent.pods:
        pod["status"]["containerStatuses"][0]["imageID"] = ""
    (unsure,) = bent.report().not_checked
    assert "see that registry is there" in unsure.because


def test_required_affinity_to_other_pods_is_said_not_to_be_reckoned() -> None:
    bent = world()
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "cache"}}}
    bent.template["affinity"]["podAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    (unsure,) = bent.report().not_checked
    assert (unsure.check, unsure.service) == ("nodes", NAME)


def two_sizes(text: str) -> str:
    """Beside support-bot's one GPU a service of four, on nodes of four."""
    begin = text.index("  support-bot:")
    other = text[begin:].replace("support-bot:", "fraud-bot:").replace("name: support-8b", "name: fraud-8b")
    other = other.replace("gpus_per_replica: 1", "gpus_per_replica: 4")
    return text.replace("instance_types: [g6e.2xlarge]", "instance_types: [g6e.12xlarge]") + other


@pytest.mark.parametrize(("count", "found"), [(4, {"fraud-bot"}), (3, {"fraud-bot"}), (9, set())])
def test_small_replicas_may_leave_no_node_whole(tmp_path: Path, count: int, found: set[str]) -> None:
    """5 small ones are to come, and 2 large ones; the first two nodes have a small one each."""
    stack(tmp_path, platform=two_sizes)
    bent = world(tmp_path)
    bent.keep_nodes(count)
    bent.objects["pods"] = [pod for pod in bent.pods if pod["metadata"]["name"].startswith("support-bot")]
    findings = bent.report().findings
    assert {one.service for one in findings if one.check == "nodes"} == found
    if count == 4:
        (one,) = findings
        assert one.got == "room for 2 replicas if the large ones come first, else for as few as 0"
