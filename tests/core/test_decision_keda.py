"""What KEDA makes of a floor: nothing at 0 replicas, at a ceiling, when it is paused or idle."""

from __future__ import annotations

from typing import Any

import pytest

from prescale import record as book
from prescale.record import Held, Record
from stacks import ownership
from tests.core.cluster_double import scaled_object
from tests.core.decision_cases import HERE, HOUR, at, minimum, run, window


class TestZero:
    def test_activation_comes_and_goes_in_the_same_patches(self) -> None:
        target, decision = run(scaled_object(minimum=0, baseline="0"), [window()])
        assert decision.patch
        assert decision.patch["metadata"]["annotations"][ownership.FORCE_ACTIVATION] == "true"
        assert decision.patch["spec"] == {"minReplicaCount": 7}
        target, _ = run(target, [window()], 4 * HOUR)
        assert ownership.FORCE_ACTIVATION not in target["metadata"]["annotations"]
        assert minimum(target) == 0

    def test_every_event_has_it_for_a_pause_may_have_left_no_replicas(self) -> None:
        target, decision = run(scaled_object(), [window()])
        assert decision.patch
        assert decision.patch["metadata"]["annotations"][ownership.FORCE_ACTIVATION] == "true"
        target, _ = run(target, [window()], 4 * HOUR)
        assert target["metadata"]["annotations"] == {ownership.BASELINE_ANNOTATION: "2"}

    def test_a_baseline_is_brought_up_from_no_replicas_too(self) -> None:
        resting = {"conditions": [{"type": "HPAActive", "status": "True", "reason": "ScalingDisabled"}]}
        target, decision = run({**scaled_object(), "status": resting}, [])
        assert "at 0 replicas" in decision.notes[0]
        assert target["metadata"]["annotations"][ownership.FORCE_ACTIVATION] == "true"
        assert run(target, [])[1].patch is None
        target, _ = run({**target, "status": {}}, [])
        assert target["metadata"]["annotations"] == {ownership.BASELINE_ANNOTATION: "2"}

    @pytest.mark.parametrize(
        "start",
        [
            scaled_object(minimum=0, baseline="0"),
            scaled_object(idle=0),
            scaled_object(annotations={ownership.PAUSED: "true"}),
        ],
    )
    def test_what_is_meant_to_have_no_replicas_is_left_alone(self, start: dict[str, Any]) -> None:
        resting = {"conditions": [{"type": "HPAActive", "status": "True", "reason": "ScalingDisabled"}]}
        assert run({**start, "status": resting}, [])[1].patch is None

    def test_activation_of_somebody_else_stays(self) -> None:
        theirs = {ownership.FORCE_ACTIVATION: "true"}
        target, _ = run(scaled_object(minimum=0, baseline="0", annotations=theirs), [window()])
        target, _ = run(target, [window()], 4 * HOUR)
        assert target["metadata"]["annotations"][ownership.FORCE_ACTIVATION] == "true"

    def test_activation_as_go_reads_it(self) -> None:
        theirs = {ownership.FORCE_ACTIVATION: "True"}
        decision = run(scaled_object(minimum=0, baseline="0", annotations=theirs), [window()])[1]
        assert decision.patch
        assert ownership.FORCE_ACTIVATION not in decision.patch["metadata"]["annotations"]

    def test_absent_minimum_is_zero(self) -> None:
        assert run(scaled_object(minimum=None, baseline="0"), [])[1].patch is None


class TestRefused:
    def test_a_floor_above_the_live_ceiling(self) -> None:
        target, decision = run(scaled_object(maximum=5), [window()])
        assert minimum(target) == 2
        assert "a floor of 7 was refused, it is above the live ceiling of 5" in decision.findings[0]

    def test_the_event_that_fits_is_raised(self) -> None:
        target, _ = run(scaled_object(maximum=5), [window(), window("small", 4)])
        assert minimum(target) == 4

    @pytest.mark.parametrize("calendar", [HERE, "staging/events.yaml"])
    def test_one_that_a_lowered_ceiling_refuses_keeps_no_other_down(self, calendar: str) -> None:
        """Raised to 12, then somebody's manifest put 2 and a ceiling of 10 in place, in one apply."""
        noted = Record(12, (Held(calendar, "large", 12, at(HOUR)),), activated=True).text()
        target = scaled_object(2, 10, annotations={ownership.FLOOR_ANNOTATION: noted})
        target, decision = run(target, [window("small", 8)])
        assert (minimum(target), decision.target) == (8, 8)
        assert "a minReplicaCount of 12 was refused, it is above the live ceiling of 10" in decision.findings[0]
        left = book.parse(target["metadata"]["annotations"][ownership.FLOOR_ANNOTATION])
        assert {held.event for held in left.events} == {"large", "small"}
        target, decision = run(target, [window("small", 8)], 60)
        assert (minimum(target), decision.patch, len(decision.findings)) == (8, None, 1)
        target, decision = run(target, [], 60)
        assert (minimum(target), decision.patch) == (8, None), (
            "nothing is lowered, and nobody is said to have raised it"
        )
        assert not any("raised again" in note for note in decision.notes)

    def test_a_ceiling_lowered_under_a_raised_floor_changes_nothing(self) -> None:
        target, _ = run(scaled_object(), [window()])
        target["spec"]["maxReplicaCount"] = 5
        target, decision = run(target, [window()], 60)
        assert minimum(target) == 7
        assert "refused" in decision.findings[0]
        assert minimum(run(target, [window()], 4 * HOUR)[0]) == 2

    def test_never_touches_the_ceiling(self) -> None:
        for maximum in (5, 16, None):
            decision = run(scaled_object(maximum=maximum), [window()])[1]
            assert "maxReplicaCount" not in (decision.patch or {}).get("spec", {})


class TestNotInForce:
    @pytest.mark.parametrize(
        "annotations", [{ownership.PAUSED: "true"}, {ownership.PAUSED: "yes"}, {ownership.PAUSED_REPLICAS: "3"}]
    )
    def test_paused(self, annotations: dict[str, str]) -> None:
        decision = run(scaled_object(annotations=annotations), [window()])[1]
        assert "KEDA is paused" in decision.findings[0]
        assert not run(scaled_object(annotations=annotations), [])[1].findings

    def test_paused_false_is_not_paused(self) -> None:
        for text in ("false", "False", "0"):
            assert not run(scaled_object(annotations={ownership.PAUSED: text}), [window()])[1].findings

    def test_idle(self) -> None:
        target, decision = run(scaled_object(idle=0), [window()])
        assert "idleReplicaCount 0" in decision.findings[0]
        assert target["metadata"]["annotations"][ownership.FORCE_ACTIVATION] == "true"
