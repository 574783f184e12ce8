"""An HPA that others made is decided on as a ScaledObject is; what only KEDA has, it has not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from prescale import record as book
from prescale.clock import Clock
from prescale.decision import decide
from prescale.orders.order import Orders
from prescale.record import Record
from stacks import ownership
from tests.core.cluster_double import adopted_hpa, by_a_person, foreign, patched, seen
from tests.core.decision_cases import HERE, HOUR, at, remembered, run, window
from tests.core.order_cases import now
from tests.core.test_decision_history import CALENDARS, MOMENTS, RUNS, play

SALE = Clock(at(0))


def minimum(target: dict[str, Any]) -> int:
    value: int = target["spec"].get("minReplicas", 1)
    return value


def test_a_floor_is_its_min_replicas_and_nothing_of_kedas_is_written() -> None:
    target, decision = run(adopted_hpa(), [window()])
    assert decision.patch
    assert decision.patch["spec"] == {"minReplicas": 7}
    assert {*decision.patch["metadata"]["annotations"]} == {ownership.FLOOR_ANNOTATION}
    assert decision.patch["metadata"]["resourceVersion"] == "1"
    target, _ = run(target, [window()], 4 * HOUR)
    assert (minimum(target), remembered(target)) == (2, None)
    assert not {key for key in target["metadata"]["annotations"] if "keda" in key}


def test_without_min_replicas_it_has_one() -> None:
    assert seen(adopted_hpa(minimum=None)).live == 1
    assert minimum(run(adopted_hpa(minimum=None, baseline="1"), [window()])[0]) == 7
    assert run(adopted_hpa(minimum=None, baseline="1"), [])[1].patch is None


def test_an_order_raises_it() -> None:
    decision = decide(seen(adopted_hpa()), [], HERE, SALE, Orders((now(12),)))
    assert decision.target == 12


def test_what_a_chart_had_above_the_baseline_is_kept_as_a_persons_and_told() -> None:
    target, decision = run(adopted_hpa(minimum=4), [])
    assert minimum(target) == 4
    assert "a person's 4 is kept until" in decision.notes[0]
    assert minimum(run(target, [], 4 * HOUR)[0]) == 2


def test_a_chart_that_puts_its_number_back_in_the_sale_is_raised_again() -> None:
    target, _ = run(adopted_hpa(), [window()])
    target = patched(target, {"spec": {"minReplicas": 2}}, "helm")
    target, decision = run(target, [window()], 60)
    assert minimum(target) == 7
    assert decision.notes == ("somebody lowered 7 to 2; raised again",)


def test_above_its_ceiling_names_whose_the_ceiling_is() -> None:
    _, decision = run(adopted_hpa(maximum=5), [window()])
    (finding,) = decision.findings
    assert decision.patch is None
    assert "a floor of 7 was refused, it is above the live ceiling of 5" in finding
    assert "Raise maxReplicas of HPA vllm where it is made, and replicas.max in platform.yaml with it" in finding


def test_without_a_baseline_nothing_is_lowered_and_adopt_writes_it() -> None:
    target = adopted_hpa(minimum=7)
    del target["metadata"]["annotations"][ownership.BASELINE_ANNOTATION]
    _, decision = run(target, [])
    assert decision.target == 7
    assert "Run `warmline prescale adopt` again, which writes it." in decision.findings[0]


@pytest.mark.parametrize(("windows", "is_told"), [([window()], True), ([], False)], ids=["event", "no event"])
def test_at_zero_replicas_it_rests_whatever_the_floor(windows: list[Any], is_told: bool) -> None:
    target = adopted_hpa()
    target["status"] = {
        "currentReplicas": 0,
        "conditions": [{"type": "ScalingActive", "status": "False", "reason": "ScalingDisabled"}],
    }
    decision = decide(seen(target), windows, HERE, SALE)
    assert bool(decision.findings) == is_told
    assert is_told == ("the target of HPA vllm has 0 replicas, so the HPA rests" in " ".join(decision.findings))
    assert decision.notes == (), "nothing is forced"


HPAS = st.builds(
    adopted_hpa,
    minimum=st.none() | st.integers(1, 12),
    maximum=st.integers(12, 20),
    baseline=st.sampled_from(["1", "2", "3", "x"]),
)


def as_scaled_object(hpa: dict[str, Any]) -> dict[str, Any]:
    """A ScaledObject that says the same."""
    metadata = hpa["metadata"]
    made = foreign("ScaledObject", minimum(hpa), hpa["spec"]["maxReplicas"], name=metadata["name"])
    made["metadata"] |= {"labels": metadata["labels"], "annotations": dict(metadata["annotations"])}
    return made


@settings(max_examples=300, deadline=None)
@given(HPAS, st.lists(RUNS, min_size=1, max_size=5))
def test_after_any_history_it_is_where_a_scaled_object_would_be(hpa: dict[str, Any], runs: list[Any]) -> None:
    # An HPA that a person takes below 1 does not exist; a ScaledObject does.
    assume(all(person is None or person >= 1 for *_, person in runs))
    there, here = play(as_scaled_object(hpa), runs), play(hpa, runs)
    assert minimum(here) == there["spec"]["minReplicaCount"]
    ours, theirs = (_remembered(one["metadata"]["annotations"]) for one in (here, there))
    assert ours == theirs


def _remembered(annotations: dict[str, str]) -> Record | None:
    """Without force-activation, which an HPA has not; what it alone keeps a record for is none."""
    text = annotations.get(ownership.FLOOR_ANNOTATION)
    record = replace(book.parse(text), activated=False) if text else None
    return record if record and (record.events or record.kept) else None


@settings(max_examples=200, deadline=None)
@given(HPAS, st.lists(RUNS, max_size=4), CALENDARS, MOMENTS)
def test_a_second_run_has_nothing_to_do_and_no_patch_goes_below_one(
    hpa: dict[str, Any], before: list[Any], windows: list[Any], seconds: int
) -> None:
    assume(all(person is None or person >= 1 for *_, person in before))
    target, decision = run(play(hpa, before), windows, seconds)
    assert decision.patch is None or decision.patch.get("spec", {}).get("minReplicas", 1) >= 1
    assert run(target, windows, seconds)[1].patch is None


def test_a_person_is_known_by_the_servers_book() -> None:
    assert seen(foreign("HorizontalPodAutoscaler")).min_writer == "person"
    raised, _ = run(adopted_hpa(), [window()])
    assert seen(raised).min_writer == "prescale"
    assert seen(by_a_person(raised, 9)).min_writer == "person"
    assert seen(by_a_person(raised, 9)).live == 9
