"""Preflight of nodes: room for whole replicas, where it may be, and who holds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prescale.preflight.checks import nodes
from prescale.preflight.finding import Report
from tests.core.preflight.bends import claims, deployment, spread, template, zones
from tests.core.preflight.cases import Case, both, holds, setting
from tests.core.preflight.world import FLOOR, NAME, World, world
from tests.core.stack_files import stack

CLASSES = "priorityclasses.scheduling.k8s.io"
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

    return bend


def ready(number: int, value: str) -> Any:
    return lambda bent: bent.nodes[number]["status"].__setitem__(
        "conditions", [{"type": "Ready", "status": value, "reason": "Kubelet"}]
    )


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
        "a taint that evicts",
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
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_found_and_gone_when_mended(case: Case) -> None:
    holds(case)


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
