"""What a replica asks of its node, what a stack may take, and what a preview warns of."""

from __future__ import annotations

from typing import Any

import pytest

from infra import engine_size
from infra.footprint import Footprint, footprints
from infra.manifests import manifests
from infra.overview import notes, short_image
from infra.render import render
from infra.scaled_object import plain
from stacks.field_types import Number
from stacks.node_contract import node_facts
from stacks.spec import NodePool, Service
from tests.components.specs import platform, service_data


@pytest.mark.parametrize(
    ("pool", "gpus", "asked"),
    [
        # 75 % of 8 vCPUs and 64 GiB.
        ("l40s", 1, {"cpu": "6", "memory": "48Gi", "nvidia.com/gpu": "1"}),
        # The smaller share: a quarter of 48 vCPUs and 384 GiB, an eighth of 192 and 1536 is twice that.
        ("l40s-by-4", 1, {"cpu": "9", "memory": "72Gi", "nvidia.com/gpu": "1"}),
        ("l40s-by-4", 4, {"cpu": "36", "memory": "288Gi", "nvidia.com/gpu": "4"}),
        # Unknown hardware: 4 vCPUs and 16 GiB a GPU are assumed.
        ("own", 2, {"cpu": "6", "memory": "24Gi", "nvidia.com/gpu": "2"}),
    ],
)
def test_requests_are_a_share_of_the_smallest_fitting_node(pool: str, gpus: int, asked: dict[str, str]) -> None:
    service = Service.model_validate(service_data(node_pool=pool, gpus_per_replica=gpus))
    assert engine_size.requests(service, platform().node_pools[pool]) == asked


def test_types_that_hold_no_whole_replica_do_not_count() -> None:
    mixed = NodePool.model_validate({"instance_types": ["g6e.2xlarge", "g6e.12xlarge"], "max_nodes": 1})
    service = Service.model_validate(service_data(gpus_per_replica=4))
    assert engine_size.requests(service, mixed)["nvidia.com/gpu"] == "4"
    assert engine_size.requests(service, mixed)["cpu"] == "36"


def test_a_node_is_told_from_its_type() -> None:
    facts = node_facts("l40s", platform().node_pools["l40s"], "g6e.2xlarge")
    assert facts.labels == {"warmline.dev/node-pool": "l40s", "node.kubernetes.io/instance-type": "g6e.2xlarge"}
    assert facts.capacity == {"nvidia.com/gpu": "1", "cpu": "8", "memory": "64Gi"}
    assert [(taint.key, taint.value, taint.effect) for taint in facts.taints] == [
        ("nvidia.com/gpu", "present", "NoSchedule")
    ]


def test_footprint_is_read_from_the_objects() -> None:
    given = platform({"big": service_data(node_pool="l40s-by-4", gpus_per_replica=4, replicas={"min": 1, "max": 6})})
    found = footprints(manifests(render("test", given).objects))
    assert found == {"serving/big": Footprint(baseline=1, ceiling=6, gpus=4, surge=1)}
    assert (found["serving/big"].gpus_at_baseline, found["serving/big"].gpus_at_ceiling) == (4, 24)


def test_a_percentage_of_surge_counts_as_none() -> None:
    objects = manifests(render("test", platform()).objects)
    deployment = next(item for item in objects if item["kind"] == "Deployment")
    deployment["spec"]["strategy"]["rollingUpdate"]["maxSurge"] = "25%"
    assert footprints(objects)["serving/support-bot"].surge == 0


def _said(services: dict[str, Any], max_nodes: int = 64) -> str:
    pools = {"l40s": {"instance_types": ["g6e.2xlarge"], "max_nodes": max_nodes}}
    return "\n".join(notes("test", platform(services, node_pools=pools)))


def _other(name: str) -> dict[str, Any]:
    return service_data(model={"name": name, "source": "s3://w/x", "revision": "1"})


def test_notes_warn_of_what_the_objects_do_not_say() -> None:
    usual = _said({"a": service_data()})
    assert "illustrative, not measured" in usual
    assert "pool l40s" not in usual
    assert "a: rests at 0" in _said({"a": service_data(replicas={"min": 0, "max": 4})})
    rollout = {"surge": 0, "unavailable": 2}
    assert "may take every replica of the baseline away" in _said({"a": service_data(rollout=rollout)})


def test_notes_count_the_pools_gpus() -> None:
    assert "a rollout finds no GPU for its surge" in _said({"a": service_data()}, max_nodes=16)
    assert "need 32 GPUs, its nodes have at most 17" in _said({"a": service_data(), "b": _other("b")}, max_nodes=17)


@pytest.mark.parametrize(("number", "text"), [("40", "40"), ("4E+1", "40"), ("37.50", "37.5"), ("0.5", "0.5")])
def test_thresholds_are_plain_numbers(number: str, text: str) -> None:
    assert plain(Number(number)) == text


def test_short_images_still_tell_two_digests_apart() -> None:
    assert short_image("a/b@sha256:" + "12345678" * 8) == "a/b@12345678"
    assert short_image("a/b:tag") == "a/b:tag"
