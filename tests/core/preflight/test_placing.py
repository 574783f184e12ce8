"""Whole replicas on nodes: never room that is not there, never less of it with more nodes or fewer pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prescale.preflight.admitted import requests, with_defaults
from prescale.preflight.kinds.meta import LabelSelector, Requirement, typed
from prescale.preflight.kinds.node import Node, Taint
from prescale.preflight.kinds.pod import PodSpec
from prescale.preflight.placing import place
from prescale.preflight.quantity import amount, shown
from prescale.preflight.room import Held, Replica, Room
from prescale.preflight.selecting import kept_off_by, meets, selects

GPU = "nvidia.com/gpu"
Size = tuple[int, int]
"""GPUs and cores."""


def node(name: str, size: Size, zone: str = "a") -> Node:
    labels = {"zone": zone, "kubernetes.io/hostname": name}
    amounts = {GPU: str(size[0]), "cpu": str(size[1]), "pods": "110"}
    ready = [{"type": "Ready", "status": "True"}]
    return typed(
        {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": amounts, "conditions": ready}}, Node
    )


def amounts(size: Size) -> dict[str, Fraction]:
    return {GPU: Fraction(size[0]), "cpu": Fraction(size[1]), "pods": Fraction(1)}


def replica(name: str, size: Size, count: int, **spec: Any) -> Replica:
    made = typed({"containers": [{"name": "engine"}], **spec}, PodSpec)
    return Replica(name, "serving", {"app": name}, made, amounts(size), count)


def rooms(nodes: Sequence[Size], others: Mapping[int, Sequence[Size]] | None = None) -> list[Room]:
    others = others or {}
    return [
        Room.of(node(f"n{index}", size), [Held("batch", {}, amounts(one)) for one in others.get(index, ())])
        for index, size in enumerate(nodes)
    ]


def most_by_brute_force(nodes: Sequence[Size], wanted: Sequence[tuple[Size, int]]) -> set[tuple[int, ...]]:
    """Every number of replicas of each kind that some packing reaches, node after node."""
    reached = {tuple(0 for _ in wanted)}
    for gpus, cores in nodes:
        fits = [
            counts
            for counts in product(*(range(count + 1) for _, count in wanted))
            if sum(n * size[0] for n, (size, _) in zip(counts, wanted, strict=True)) <= gpus
            and sum(n * size[1] for n, (size, _) in zip(counts, wanted, strict=True)) <= cores
        ]
        reached = {
            tuple(min(a + b, count) for a, b, (_, count) in zip(before, more, wanted, strict=True))
            for before in reached
            for more in fits
        }
    return reached


def count(nodes: Sequence[Size], wanted: Sequence[tuple[Size, int]]) -> tuple[int, ...]:
    kinds = [replica(f"s{index}", size, number) for index, (size, number) in enumerate(wanted)]
    placed = place(kinds, rooms(nodes)).placed
    return tuple(placed.get(one.service, 0) for one in kinds)


SIZES = st.tuples(st.integers(0, 8), st.integers(0, 16))
ASKED = st.tuples(st.tuples(st.integers(1, 4), st.integers(1, 6)), st.integers(0, 3))


@given(st.lists(SIZES, max_size=3), st.lists(ASKED, min_size=1, max_size=3))
def test_never_room_that_no_packing_has(nodes: list[Size], wanted: list[tuple[Size, int]]) -> None:
    assert count(nodes, wanted) in most_by_brute_force(nodes, wanted)


@given(st.lists(SIZES, max_size=4), st.tuples(st.integers(1, 4), st.integers(1, 6)), st.integers(0, 12))
def test_of_one_service_all_the_room_there_is(nodes: list[Size], size: Size, wanted: int) -> None:
    whole = sum(min(gpus // size[0], cores // size[1]) for gpus, cores in nodes)
    assert count(nodes, [(size, wanted)]) == (min(whole, wanted),)


@given(
    st.lists(SIZES, min_size=1, max_size=4),
    st.lists(SIZES, max_size=3),
    st.tuples(st.integers(1, 4), st.integers(1, 6)),
    st.integers(0, 12),
)
def test_more_nodes_or_fewer_pods_never_make_less_room(
    nodes: list[Size], others: list[Size], size: Size, wanted: int
) -> None:
    def placed(sizes: Sequence[Size], held: Sequence[Size]) -> int:
        return place([replica("s", size, wanted)], rooms(sizes, {0: held})).placed.get("s", 0)

    now = placed(nodes, others)
    assert placed([*nodes, (4, 8)], others) >= now
    assert placed(nodes, others[:-1]) >= now
    assert placed(nodes, [*others, size]) <= now


@given(st.lists(st.sampled_from([1, 2, 4, 8]), max_size=4), st.lists(st.integers(0, 4), min_size=3, max_size=3))
def test_of_sizes_that_divide_each_other_all_the_room_there_is(nodes: list[int], counts: list[int]) -> None:
    """As GPUs come: 1, 2, 4 or 8 a replica. What fits in some way fits in this one."""
    wanted = [((size, 1), number) for size, number in zip((1, 2, 4), counts, strict=True)]
    sizes = [(gpus, 100) for gpus in nodes]
    if tuple(counts) in most_by_brute_force(sizes, wanted):
        assert count(sizes, wanted) == tuple(counts)


ZONES = st.lists(st.integers(0, 4), min_size=1, max_size=4)


def most_under_skew(room: Sequence[int], skew: int, least_domains: int) -> int:
    """By trying every way to fill the zones, each step within the skew."""
    seen, frontier = set(), [tuple(0 for _ in room)]
    while frontier:
        counts = frontier.pop()
        if counts in seen:
            continue
        seen.add(counts)
        least = min(counts) if len(counts) >= least_domains else 0
        for index, there in enumerate(counts):
            if there < room[index] and there + 1 - least <= skew:
                frontier.append((*counts[:index], there + 1, *counts[index + 1 :]))
    return max(sum(counts) for counts in seen)


@settings(max_examples=50)
@given(ZONES, st.integers(1, 2), st.integers(1, 5))
def test_zones_are_filled_as_far_as_the_skew_allows(room: list[int], skew: int, least_domains: int) -> None:
    constraint = {
        "maxSkew": skew,
        "minDomains": least_domains,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "s"}},
    }
    places = [Room(node(f"n{index}", (gpus, 100), zone=str(index))) for index, gpus in enumerate(room)]
    placed = place([replica("s", (1, 1), 20, topologySpreadConstraints=[constraint])], places).placed.get("s", 0)
    assert placed == most_under_skew(room, skew, least_domains)


@given(st.lists(SIZES, max_size=3), st.lists(ASKED, min_size=1, max_size=3))
def test_a_bad_order_is_one_of_the_packings_too(nodes: list[Size], wanted: list[tuple[Size, int]]) -> None:
    kinds = [replica(f"s{index}", size, number) for index, (size, number) in enumerate(wanted)]
    placed = place(kinds, rooms(nodes), at_worst=True).placed
    assert tuple(placed.get(one.service, 0) for one in kinds) in most_by_brute_force(nodes, wanted)


def test_small_ones_first_leave_no_node_whole() -> None:
    kinds = [replica("large", (8, 1), 1), replica("small", (1, 1), 8)]
    assert place(kinds, rooms([(8, 100), (8, 100)])).placed == {"large": 1, "small": 8}
    assert place(kinds, rooms([(8, 100), (8, 100)]), at_worst=True).placed == {"small": 8}


def test_what_others_replicas_take_is_gone() -> None:
    large, small = replica("large", (8, 1), 1), replica("small", (1, 1), 9)
    placement = place([small, large], rooms([(8, 100), (8, 100)]))
    assert placement.placed == {"large": 1, "small": 8}
    assert placement.refused == {"small": {f"too little {GPU} left": 2}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("6", 6),
        ("500m", Fraction(1, 2)),
        ("48Gi", 48 * 2**30),
        ("1e3", 1000),
        ("2E", 2 * 10**18),
        ("1.5", Fraction(3, 2)),
    ],
)
def test_quantities(text: str, value: Fraction) -> None:
    assert amount(text) == value


@pytest.mark.parametrize("text", ["", "x", "1Gb", "1 Gi", "--1", "1e1234", "inf"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="no quantity"):
        amount(text)


@given(st.integers(0, 10**15) | st.integers(1, 10**6).map(lambda number: Fraction(number, 1000)))
def test_a_quantity_is_shown_as_one(value: int | Fraction) -> None:
    assert amount(shown(Fraction(value))) == value


def test_a_pod_requests_its_containers_or_its_largest_init_container() -> None:
    def container(name: str, cpu: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}

    spec = typed(
        {
            "initContainers": [
                container("first", "9"),
                container("side", "1", restartPolicy="Always"),
                container("last", "9"),
            ],
            "containers": [container("a", "2"), container("b", "3")],
            "overhead": {"cpu": "250m"},
        },
        PodSpec,
    )
    assert requests(spec) == {"cpu": Fraction(41, 4), "pods": 1}, "the sidecar runs beside the last init container"
    limited = typed({"containers": [{"name": "a", "resources": {"limits": {GPU: "2"}}}]}, PodSpec)
    assert with_defaults(limited, ()).containers[0].resources.requests == {GPU: 2}


@pytest.mark.parametrize(
    ("operator", "values", "value", "is_met"),
    [
        ("In", ["a"], "a", True),
        ("In", ["a"], None, False),
        ("NotIn", ["a"], None, True),
        ("NotIn", ["a"], "a", False),
        ("Exists", [], "", True),
        ("DoesNotExist", [], "a", False),
        ("Gt", ["4"], "8", True),
        ("Gt", ["8"], "8", False),
        ("Lt", ["8"], "many", False),
    ],
)
def test_expressions(operator: str, values: list[str], value: str | None, is_met: bool) -> None:
    labels = {} if value is None else {"k": value}
    assert meets(Requirement(key="k", operator=operator, values=tuple(values)), labels) == is_met


def test_an_absent_selector_means_nothing_and_an_empty_one_all() -> None:
    assert not selects(None, {"a": "b"})
    assert selects(LabelSelector(), {})


@pytest.mark.parametrize(
    ("toleration", "is_kept_off"),
    [
        ({"operator": "Exists"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "gpu", "value": "yes"}, False),
        ({"key": "gpu", "value": "no"}, True),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, True),
        ({"key": "cpu", "operator": "Exists"}, True),
        ({"value": "yes"}, True),
    ],
)
def test_tolerations(toleration: dict[str, str], is_kept_off: bool) -> None:
    spec = typed({"containers": [{"name": "a"}], "tolerations": [toleration]}, PodSpec)
    tainted = typed(
        {"metadata": {"name": "n"}, "spec": {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}}, Node
    )
    found = kept_off_by(spec, tainted)
    assert found == (Taint(key="gpu", value="yes", effect="NoSchedule") if is_kept_off else None)
