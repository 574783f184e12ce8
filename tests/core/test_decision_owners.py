"""Whose number counts: a person's, the program's baseline, or what an earlier run wrote down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from whenever import Instant

from prescale import record as book
from prescale.record import Held, Record
from stacks import ownership
from tests.core.cluster_double import by_a_person, scaled_object
from tests.core.decision_cases import HOUR, minimum, remembered, run, window


class TestAPerson:
    def test_higher_value_is_kept_to_the_windows_end(self) -> None:
        target, _ = run(scaled_object(), [window()])
        target, decision = run(by_a_person(target, 9), [window()], 60)
        assert minimum(target) == 9
        assert "a person's 9 is kept until 2027-10-29T18:30:00Z" in decision.notes[0]
        assert not decision.findings
        assert run(target, [window()], 3 * HOUR)[1].patch is None
        assert minimum(run(target, [window()], 4 * HOUR)[0]) == 2

    def test_higher_value_outside_of_a_window_is_kept_four_hours(self) -> None:
        target, _ = run(by_a_person(scaled_object(), 4), [], 0)
        assert minimum(target) == 4
        assert run(target, [], 4 * HOUR - 1)[1].patch is None
        assert minimum(run(target, [], 4 * HOUR)[0]) == 2

    def test_a_window_that_opens_meanwhile_keeps_it_to_its_end(self) -> None:
        target, _ = run(by_a_person(scaled_object(), 9), [window()], -3 * HOUR)
        target, _ = run(target, [window()], -1800)
        assert minimum(run(target, [window()], 3 * HOUR)[0]) == 9
        assert minimum(run(target, [window()], 4 * HOUR)[0]) == 2

    def test_lower_value_is_raised_again(self) -> None:
        target, _ = run(scaled_object(), [window()])
        target, decision = run(by_a_person(target, 3), [window()], 60)
        assert minimum(target) == 7
        assert decision.notes == ("somebody lowered 7 to 3; raised again",)

    def test_more_than_ours_and_less_than_an_event_asks_is_no_lowering(self) -> None:
        target, _ = run(scaled_object(), [window(event="a", floor=5)])
        target, decision = run(by_a_person(target, 6), [window(event="a", floor=5), window(event="b", floor=9)], 60)
        assert minimum(target) == 9
        assert decision.notes == ()

    def test_a_second_thought_takes_the_first_ones_place(self) -> None:
        target, _ = run(by_a_person(scaled_object(), 9), [])
        target, _ = run(by_a_person(target, 5), [], HOUR)
        assert minimum(target) == 5
        target, _ = run(by_a_person(target, 1), [], 2 * HOUR)
        assert minimum(target) == 2
        assert remembered(target) is None

    def test_taken_back_to_ours_is_not_raised_to_the_old_one(self) -> None:
        target, _ = run(scaled_object(), [window()])
        target, _ = run(by_a_person(target, 9), [window()], 60)
        target, _ = run(by_a_person(target, 7), [window()], 120)
        assert minimum(target) == 7

    def test_kept_beneath_an_event_that_is_higher(self) -> None:
        target, _ = run(by_a_person(scaled_object(), 5), [], -HOUR)
        target, _ = run(target, [window(end_s=HOUR)])
        assert minimum(target) == 7
        target, _ = run(target, [window(end_s=HOUR)], HOUR)
        assert minimum(target) == 5
        assert minimum(run(target, [window(end_s=HOUR)], 3 * HOUR)[0]) == 2

    def test_known_by_value_where_the_server_names_no_owner(self) -> None:
        target, _ = run(scaled_object(owner=None), [window()])
        target, _ = run(by_a_person(target, 9), [window()], 60)
        assert minimum(target) == 9


def test_a_window_of_another_calendar_that_is_over_does_not_say_how_long_a_persons_value_is_kept() -> None:
    target, _ = run(scaled_object(), [window()], calendar="laptop/events.yaml")
    target, _ = run(by_a_person(target, 9), [], 5 * HOUR)
    assert minimum(run(target, [], 8 * HOUR)[0]) == 9
    assert minimum(run(target, [], 9 * HOUR)[0]) == 7


class TestBaseline:
    def test_a_change_takes_effect_at_the_next_run(self) -> None:
        assert minimum(run(scaled_object(minimum=2, baseline="3"), [])[0]) == 3
        assert minimum(run(scaled_object(minimum=3, baseline="2"), [])[0]) == 2
        ours = scaled_object(minimum=3, baseline="2", owner=(ownership.FIELD_MANAGER, "Update"))
        assert minimum(run(ours, [])[0]) == 2

    def test_a_change_under_an_event_waits_for_its_end(self) -> None:
        target, _ = run(scaled_object(), [window()])
        target["metadata"]["annotations"][ownership.BASELINE_ANNOTATION] = "4"
        assert minimum(run(target, [window()], 60)[0]) == 7
        assert minimum(run(target, [window()], 4 * HOUR)[0]) == 4

    @pytest.mark.parametrize("text", [None, "", "two", "-1", "2.0", "٣", "1" * 9])
    def test_unreadable_raises_but_does_not_lower(self, text: str | None) -> None:
        target, decision = run(scaled_object(baseline=text), [window()])
        assert minimum(target) == 7
        assert "pulumi up" in decision.findings[0]
        assert minimum(run(target, [window()], 5 * HOUR)[0]) == 7

    def test_lowers_once_it_can_be_read_again(self) -> None:
        target, _ = run(scaled_object(baseline=None), [window()])
        target, _ = run(target, [window()], 5 * HOUR)
        target["metadata"]["annotations"][ownership.BASELINE_ANNOTATION] = "2"
        assert minimum(run(target, [window()], 5 * HOUR)[0]) == 2


class TestRecordLost:
    @pytest.mark.parametrize(
        "text", ["", "{", "[]", "7", '{"set":"7"}', '{"events":[{"floor":7}]}', '{"kept":{"floor":9}}', "[" * 9999]
    )
    def test_unreadable_raises_but_does_not_lower(self, text: str) -> None:
        broken = {ownership.FLOOR_ANNOTATION: text}
        target, decision = run(scaled_object(minimum=7, annotations=broken), [])
        assert (minimum(target), decision.patch) == (7, None)
        assert "cannot be read" in decision.findings[0]
        assert minimum(run(scaled_object(minimum=3, annotations=broken), [window()])[0]) == 7

    def test_what_was_there_is_held_under_what_is_raised(self) -> None:
        broken = {ownership.FLOOR_ANNOTATION: "{"}
        target, _ = run(scaled_object(minimum=6, annotations=broken), [window(end_s=HOUR), window("b", 5, end_s=60)])
        kept = remembered(target)
        assert kept
        assert kept.kept
        assert kept.kept.floor == 6

    def test_a_removed_annotation_lets_go(self) -> None:
        target, _ = run(scaled_object(), [window()])
        del target["metadata"]["annotations"][ownership.FLOOR_ANNOTATION]
        assert minimum(run(target, [], 60)[0]) == 2


@given(
    st.none() | st.integers(0, 99),
    st.lists(
        st.builds(Held, st.text(), st.text(), st.integers(0, 99), st.integers(0, 9**9).map(Instant.from_timestamp))
    ),
    st.booleans(),
)
def test_record_survives_its_text(set_to: int | None, events: list[Held], activated: bool) -> None:
    record = Record(set_to, tuple(sorted(events)), None, activated)
    assert book.parse(record.text()) == record
    assert "\n" not in record.text()
