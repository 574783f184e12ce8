from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.yaml_edit import Edit, NotEditable, changed
from stacks.yaml_text import parse
from tests.core.stack_files import LOCAL

PLATFORM = (LOCAL / "platform.yaml").read_text()
BOT = ("services", "support-bot")


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        ("a: 1\n", Edit(("a",), 2), "a: 2\n"),
        ("a: 1  # why\nb: 3\n", Edit(("a",), 2, "new"), "a: 2  # why\nb: 3\n"),
        ("a: 1\nb: 3\n", Edit(("a",), 2, "new"), "a: 2  # new\nb: 3\n"),
        ("a: {b: 1, c: 2}  # c\n", Edit(("a", "b"), 10, "new"), "a: {b: 10, c: 2}  # c\n"),
        ("a: {b: 1}\n", Edit(("a", "c"), "2"), 'a: {b: 1, c: "2"}\n'),
        ("a: {}\n", Edit(("a", "c"), "2"), 'a: {c: "2"}\n'),
        ("a:\nb: 1\n", Edit(("a", "c"), "2"), 'a: {c: "2"}\nb: 1\n'),
        (
            "a:\n  b: 1\n\n# of c\nc: 2\n",
            Edit(("a", "d", "e"), 3, "n"),
            "a:\n  b: 1\n  d: {e: 3}  # n\n\n# of c\nc: 2\n",
        ),
        ("a:\n  - 1\n  - {x: 2}\nb: 1", Edit(("c",), 2), "a:\n  - 1\n  - {x: 2}\nb: 1\nc: 2"),
        ("a:\r\n  b: 1\r\nc: 2\r\n", Edit(("a", "d"), 3), "a:\r\n  b: 1\r\n  d: 3\r\nc: 2\r\n"),
        ("a: 'x'\n", Edit(("a",), "y"), 'a: "y"\n'),
        ("a: ä\nb: 1\n", Edit(("b",), 2), "a: ä\nb: 2\n"),
    ],
)
def test_one_value_and_nothing_else(before: str, edit: Edit, after: str) -> None:
    assert changed(before, [edit]) == after


@pytest.mark.parametrize(
    ("text", "path", "why"),
    [
        ("a: &x {b: 1}\nc: *x\n", ("a", "b"), "a is shared by an alias"),
        ("a: [1]\n", ("a",), "a is no plain value"),
        ("a: |\n  text\n", ("a",), "a is no plain value"),
        ("a: [1]\n", ("a", "b"), "a is no mapping"),
        ("a: x\n", ("a", "b"), "a is no mapping"),
    ],
)
def test_what_a_program_leaves_alone(text: str, path: tuple[str, ...], why: str) -> None:
    with pytest.raises(NotEditable, match=why):
        changed(text, [Edit(path, 1)])


FIELDS = st.sampled_from(
    [
        (*BOT, "engine", "max_num_seqs"),
        (*BOT, "engine", "args", "max-num-queued-reqs"),
        (*BOT, "engine", "args", "max-model-len"),
        (*BOT, "replicas", "min"),
        (*BOT, "replicas", "max"),
        (*BOT, "rollout", "surge"),
        (*BOT, "cost_center"),
        ("node_pools", "l40s", "max_nodes"),
        ("production",),
    ]
)
VALUES = st.integers(0, 10**6) | st.text("0123456789abc", min_size=1)


@given(st.lists(st.builds(Edit, FIELDS, VALUES, st.sampled_from(["", "a reason"])), max_size=8))
def test_the_shipped_platform_keeps_every_comment(edits: list[Edit]) -> None:
    text = changed(PLATFORM, edits)
    data = parse(text, "").data
    for edit in {edit.path: edit for edit in edits}.values():
        value = data
        for key in edit.path:
            value = value[key]
        assert value == edit.value
    comments = [line.split("#", 1)[1] for line in PLATFORM.splitlines() if "#" in line]
    assert [comment for comment in comments if comment not in text] == []
    assert len(text.splitlines()) - len(PLATFORM.splitlines()) <= len({edit.path[:3] for edit in edits})


def test_no_edits_change_nothing() -> None:
    assert changed(PLATFORM, []) == PLATFORM
