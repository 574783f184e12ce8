"""Taken and let go: after any history in between, nothing of ours is left, and all of the others' is."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from prescale.adoption import marks
from prescale.orders.uninstall import at_baseline
from stacks import ownership
from tests.core.cluster_double import foreign, minimum_of, patched, seen
from tests.core.test_decision_history import RUNS, play

WORDS = st.dictionaries(st.sampled_from(["app", "team", "argocd.argoproj.io/instance"]), st.just("x"), max_size=2)
FOREIGN = st.builds(
    foreign,
    kind=st.sampled_from(["ScaledObject", "HorizontalPodAutoscaler"]),
    minimum=st.integers(1, 12),
    maximum=st.integers(12, 20),
    labels=WORDS,
    annotations=WORDS,
)


def adopted(item: dict[str, Any], baseline: int, by: str = "alice") -> dict[str, Any]:
    given = {"stack": "local", "service": "support-bot", "baseline": baseline, "by": by}
    labels = item["metadata"]["labels"]
    return patched(item, marks.put_on(seen(item), labels, **given))  # type: ignore[arg-type]


@settings(max_examples=200, deadline=None)
@given(FOREIGN, st.integers(1, 12), st.lists(RUNS, max_size=4))
def test_let_go_it_is_as_it_was_but_for_its_minimum(item: dict[str, Any], baseline: int, runs: list[Any]) -> None:
    assume(all(person is None or person >= 1 for *_, person in runs))
    before = copy.deepcopy(item)
    after = play(adopted(item, baseline), runs)
    released = patched(after, at_baseline(seen(after)).patch)
    assert released["metadata"]["labels"] == before["metadata"]["labels"]
    assert released["metadata"]["annotations"] == before["metadata"]["annotations"]
    assert released["spec"] == before["spec"] | {minimum_of(item): baseline}


@settings(max_examples=100, deadline=None)
@given(FOREIGN, st.integers(1, 12), st.integers(1, 12))
def test_again_by_somebody_else_only_the_baseline_may_change(item: dict[str, Any], one: int, other: int) -> None:
    once = adopted(item, one)
    twice = adopted(once, other, by="bob")
    changed = {ownership.BASELINE_ANNOTATION: str(other)}
    assert twice["metadata"]["annotations"] == once["metadata"]["annotations"] | changed
    assert twice["spec"] == item["spec"]
    assert (one == other) == (twice is once)
