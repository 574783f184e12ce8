"""Two plans' room compared: what of it is this change's doing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from whenever import Instant

from prescale.room_change import Room, Short, findings, read

SINCE = "2027-10-29T14:00:00Z"


def room(pools: dict[str, int], *shortages: tuple[str, tuple[str, ...], int, int]) -> Room:
    since = Instant.parse_iso(SINCE)
    return Room(pools, {(pool, events): Short(since, needed, has) for pool, events, needed, has in shortages})


ROOMS = st.builds(
    lambda pools, short: room(pools, *short),
    st.dictionaries(st.sampled_from("ab"), st.integers(1, 9)),
    st.lists(
        st.tuples(
            st.sampled_from("ab"), st.sampled_from([(), ("x",), ("x", "y")]), st.integers(10, 19), st.integers(1, 9)
        )
    ),
)


@given(ROOMS)
def test_nothing_that_stays_is_a_finding(one: Room) -> None:
    assert list(findings(one, one)) == []


@given(ROOMS, ROOMS)
def test_a_shortage_is_told_where_it_was_not_there_or_was_smaller(before: Room, after: Room) -> None:
    told = [text for text in findings(before, after) if " need " in text]
    missing = {key: short.missing for key, short in before.shortages.items()}
    assert len(told) == sum(short.missing > missing.get(key, 0) for key, short in after.shortages.items())


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (room({"a": 8}), room({"a": 9}), []),
        (room({"a": 8}), room({"a": 7}), ["pool a: at most 7 GPUs instead of 8."]),
        (room({"a": 8}), room({"b": 8}), ["pool a: removed, with its 8 GPUs."]),
        (
            room({"a": 8}),
            room({"a": 8}, ("a", (), 9, 8)),
            [f"pool a: the baselines need 9 GPUs from {SINCE} on, its nodes have at most 8."],
        ),
        (
            room({"a": 8}, ("a", ("x",), 9, 8)),
            room({"a": 8}, ("a", ("x", "y"), 9, 8)),
            [f"pool a: the floors of x, y need 9 GPUs from {SINCE} on, its nodes have at most 8."],
        ),
    ],
)
def test_findings(before: Room, after: Room, told: list[str]) -> None:
    assert list(findings(before, after)) == told


def test_a_plan_of_an_older_revision_says_nothing_of_pools() -> None:
    assert read({"events": []}) == Room({}, {})


@pytest.mark.parametrize(
    "printed",
    [
        [],
        {"node_pools": 5},
        {"node_pools": [{"name": "a"}]},
        {"node_pools": [{"name": "a", "gpus": "8"}]},
        {"gpu_shortages": [{"pool": "a", "since": SINCE, "events": [1], "needed": 9, "available": 8}]},
        {"gpu_shortages": [{"pool": "a", "since": "soon", "events": ["x"], "needed": 9, "available": 8}]},
        {"gpu_shortages": [{"pool": "a", "since": SINCE, "events": ["x"], "needed": -9, "available": 8}]},
    ],
)
def test_what_is_no_plan(printed: object) -> None:
    with pytest.raises(ValueError, match="not a plan"):
        read(printed)
