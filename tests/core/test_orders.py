"""What orders do to the floor, which of them count, and how they are kept as text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from whenever import Instant

from prescale.clock import Clock
from prescale.decision import Decision, decide
from prescale.orders.order import KINDS, SOURCE, Order, Orders, Unreadable, named, parse
from prescale.orders.term import LONGEST_S, author, lasting_s, one_line
from stacks.ownership import orders_name
from tests.core.cluster_double import by_a_person, patched, scaled_object, seen
from tests.core.decision_cases import HERE, HOUR, at, minimum, remembered, run, window
from tests.core.order_cases import BOT, cancelled, held, now

UNREADABLE = Orders(unreadable=("the orders cannot be read",))


def ordered(
    target: dict[str, Any],
    windows: list[Any],
    said: list[Order] | Orders,
    seconds: float = 0,
    *,
    clock: Clock | None = None,
    by_hand: bool = False,
    lets_a_person_go: bool = False,
) -> tuple[dict[str, Any], Decision]:
    """One run with orders: the object after it, and what was decided."""
    orders = said if isinstance(said, Orders) else Orders(tuple(said))
    moment = clock or Clock(at(seconds))
    flags = {"by_hand": by_hand, "lets_a_person_go": lets_a_person_go}
    decision = decide(seen(target), windows, HERE, moment, orders, **flags)
    return patched(target, decision.patch), decision


class TestNow:
    def test_raises_at_once_and_is_over_by_itself(self) -> None:
        target, decision = ordered(scaled_object(), [], [now()])
        assert (minimum(target), decision.findings) == (12, ())
        assert ordered(target, [], [now()], 2 * HOUR - 1)[1].patch is None
        target, decision = ordered(target, [], [now()], 2 * HOUR)
        assert (minimum(target), remembered(target)) == (2, None)
        assert decision.notes == (f"{now().name}: let go, it is over",)

    def test_the_highest_of_all_counts(self) -> None:
        target, _ = ordered(scaled_object(), [window(floor=7)], [now(5), now(9, HOUR, at_s=60)])
        assert minimum(target) == 9
        assert minimum(ordered(target, [window(floor=7)], [now(5), now(9, HOUR, at_s=60)], HOUR)[0]) == 7

    def test_counts_for_its_own_service_only(self) -> None:
        assert minimum(ordered(scaled_object(name="fraud-bot"), [], [now()])[0]) == 2

    def test_brings_force_activation_and_takes_it_along(self) -> None:
        target, _ = ordered(scaled_object(minimum=0, baseline="0"), [], [now()])
        assert "autoscaling.keda.sh/force-activation" in target["metadata"]["annotations"]
        assert ordered(target, [], [now()], 2 * HOUR)[0]["metadata"]["annotations"] == {"warmline.dev/baseline": "0"}

    def test_a_ceiling_lowered_after_it_was_said_refuses_it(self) -> None:
        target, decision = ordered(scaled_object(maximum=5), [], [now()])
        assert minimum(target) == 2
        assert "a floor of 12 was refused, it is above the live ceiling of 5" in decision.findings[0]

    def test_gone_without_a_word_it_is_held_to_its_recorded_end(self) -> None:
        target, _ = ordered(scaled_object(), [], [now()])
        kept, decision = ordered(target, [], [], 60)
        assert minimum(kept) == 12
        held_to = "gone from the cluster's orders, held at 12 to its end 2027-10-29T16:30:00Z"
        fix = f"`warmline prescale cancel {now().name}` lets it go now."
        assert decision.notes == (f"{now().name}: {held_to}. {fix}",)
        assert minimum(ordered(kept, [], [], 2 * HOUR)[0]) == 2

    def test_a_calendar_of_another_name_leaves_it_alone_too(self) -> None:
        target, _ = ordered(scaled_object(), [], [now()])
        target, _ = run(target, [], 60, calendar="laptop/events.yaml")
        assert minimum(target) == 12


class TestCancel:
    def test_lets_go_at_once_and_says_who_and_why(self) -> None:
        target, _ = run(scaled_object(), [window()])
        target, decision = ordered(target, [window()], [cancelled("sale")], 60)
        assert (minimum(target), remembered(target)) == (2, None)
        assert decision.notes == ("sale: let go, cancelled by alice@laptop: on the news",)
        assert ordered(target, [window()], [cancelled("sale")], 120)[1].patch is None

    def test_before_the_raise_nothing_is_raised(self) -> None:
        assert ordered(scaled_object(), [window()], [cancelled("sale")])[1].patch is None

    @pytest.mark.parametrize(("service", "floor"), [(None, 2), (BOT, 2), ("fraud-bot", 7)])
    def test_of_one_service_or_of_all(self, service: str | None, floor: int) -> None:
        target, _ = ordered(scaled_object(), [window()], [cancelled("sale", service=service)])
        assert minimum(target) == floor

    def test_next_years_event_of_the_same_name_is_another(self) -> None:
        year_s = 366 * 24 * HOUR
        later = window(raise_s=year_s - 1800, start_s=year_s, end_s=year_s + 4 * HOUR)
        assert minimum(ordered(scaled_object(), [later], [cancelled("sale")], year_s)[0]) == 7

    def test_what_vanished_from_the_calendar(self) -> None:
        target, _ = run(scaled_object(), [window()])
        target, _ = run(target, [], 60)
        assert minimum(target) == 7
        assert minimum(ordered(target, [], [cancelled("sale")], 120)[0]) == 2

    def test_what_another_calendar_holds_beyond_its_end(self) -> None:
        target, _ = run(scaled_object(), [window()], calendar="laptop/events.yaml")
        target, decision = run(target, [], 5 * HOUR)
        assert "`warmline prescale cancel sale`" in decision.findings[0]
        target, decision = ordered(target, [], [cancelled("sale", 6 * HOUR)], 5 * HOUR)
        assert (minimum(target), decision.findings) == (2, ())

    def test_an_order(self) -> None:
        target, _ = ordered(scaled_object(), [], [now()])
        assert minimum(ordered(target, [], [now(), cancelled(now().name)], 60)[0]) == 2

    def test_taken_back_the_event_counts_again(self) -> None:
        target, _ = ordered(scaled_object(), [window()], [cancelled("sale")])
        assert minimum(ordered(target, [window()], [], 60)[0]) == 7

    @pytest.mark.parametrize("ahead_s", [-7200, 7200])
    def test_lowers_nothing_by_a_clock_that_is_not_sure(self, ahead_s: int) -> None:
        target, _ = run(scaled_object(), [window()])
        clock = Clock(at(HOUR), at(HOUR - ahead_s))
        target, decision = ordered(target, [window()], [cancelled("sale")], clock=clock)
        assert minimum(target) == 7
        assert "clock" in decision.findings[0]


class TestUnreadable:
    def test_raises_and_does_not_lower(self) -> None:
        target, decision = ordered(scaled_object(), [window()], UNREADABLE)
        assert (minimum(target), decision.findings) == (7, UNREADABLE.unreadable)
        assert minimum(ordered(target, [window()], UNREADABLE, 4 * HOUR)[0]) == 7
        assert minimum(ordered(target, [window(cancelled=True)], UNREADABLE, 60)[0]) == 7

    def test_a_cancel_beside_an_entry_that_cannot_be_read_waits(self) -> None:
        """The one that cannot be read may be what holds."""
        target, _ = run(scaled_object(), [window()])
        orders = Orders((cancelled("sale"),), UNREADABLE.unreadable)
        target, _ = ordered(target, [window()], orders, 60)
        assert minimum(target) == 7
        assert minimum(ordered(target, [window()], [cancelled("sale")], 60)[0]) == 2

    def test_what_is_recorded_holds(self) -> None:
        target, _ = ordered(scaled_object(), [], [now()])
        assert minimum(ordered(target, [], UNREADABLE, HOUR)[0]) == 12


class TestByHand:
    """A copy of the calendar that is older than the runner's lowers nothing beside what the order names."""

    @pytest.mark.parametrize(
        "stale",
        [
            [],
            [window(floor=3)],
            [window(end_s=HOUR)],
            [window(raise_s=24 * HOUR, start_s=25 * HOUR, end_s=26 * HOUR)],
            [window(cancelled=True)],
        ],
        ids=["without it", "lower", "shorter", "another day", "cancelled"],
    )
    def test_an_old_copy(self, stale: list[Any]) -> None:
        target, _ = run(scaled_object(), [window()])
        target, _ = ordered(target, stale, [now(5)], 2 * HOUR, by_hand=True)
        assert minimum(target) == 7
        assert minimum(run(target, [window()], 3 * HOUR)[0]) == 7

    def test_what_is_over_is_over(self) -> None:
        target, _ = run(scaled_object(), [window()])
        assert minimum(ordered(target, [window()], [now(5, 5 * HOUR)], 4 * HOUR, by_hand=True)[0]) == 5

    def test_what_the_copy_knows_is_raised(self) -> None:
        assert minimum(ordered(scaled_object(), [window()], [now(5)], by_hand=True)[0]) == 7

    def test_cancel_lets_go_of_what_it_names(self) -> None:
        both = [window(), window("other", 5)]
        target, _ = run(scaled_object(), both)
        target, _ = ordered(target, [window(floor=3)], [cancelled("sale")], 60, by_hand=True)
        assert minimum(target) == 5


class TestRelease:
    def test_a_persons_value_goes_and_the_event_stays(self) -> None:
        target, _ = run(by_a_person(scaled_object(), 14), [window()])
        assert minimum(target) == 14
        target, decision = ordered(target, [window()], [], 60, by_hand=True, lets_a_person_go=True)
        assert minimum(target) == 7
        assert decision.notes == ("a person's 14 is let go",)
        assert minimum(run(target, [window()], 120)[0]) == 7

    def test_also_one_that_no_run_has_noted(self) -> None:
        target = by_a_person(scaled_object(), 9)
        assert minimum(ordered(target, [], [], by_hand=True, lets_a_person_go=True)[0]) == 2

    def test_a_new_one_is_kept_again(self) -> None:
        target = by_a_person(scaled_object(), 9)
        target, _ = ordered(target, [], [], by_hand=True, lets_a_person_go=True)
        assert minimum(run(by_a_person(target, 9), [], 60)[0]) == 9

    def test_not_by_a_clock_that_is_not_sure(self) -> None:
        target = by_a_person(scaled_object(), 9)
        clock = Clock(at(0), at(7200))
        assert minimum(ordered(target, [], [], clock=clock, by_hand=True, lets_a_person_go=True)[0]) == 9


class TestClock:
    def test_an_order_that_one_clock_says_is_over_still_holds(self) -> None:
        """It may be this machine's that is ahead."""
        target, decision = ordered(scaled_object(), [], [now()], clock=Clock(at(3 * HOUR), at(HOUR)))
        assert minimum(target) == 12
        assert "ahead of" in decision.findings[0]

    def test_one_said_by_a_clock_that_is_ahead_counts_at_once(self) -> None:
        assert minimum(ordered(scaled_object(), [], [now(at_s=600)])[0]) == 12


class TestInForce:
    def test_neither_what_is_over_nor_what_is_cancelled(self) -> None:
        said = Orders((now(), held(9, HOUR), cancelled(now().name), cancelled("old", 60)))
        assert [order.kind for order in said.in_force(Clock(at(0)))] == ["hold", "cancel", "cancel"]
        assert [order.event for order in said.in_force(Clock(at(HOUR)))] == [now().name]
        assert said.in_force(Clock(at(0)), "fraud-bot") == said.said[2:]


ORDERS = st.builds(
    Order,
    name=st.just("x"),
    kind=st.sampled_from(KINDS),
    service=st.none() | st.just(BOT),
    event=st.just("x"),
    floor=st.integers(0, 99),
    until=st.integers(0, 9**9).map(Instant.from_timestamp),
    at=st.integers(0, 9**9).map(Instant.from_timestamp),
    by=st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])).filter(str.isprintable),
    reason=st.text(st.characters(categories=["L", "N", "P", "S"])).filter(str.isprintable),
)


@given(ORDERS)
def test_an_order_survives_its_text(order: Order) -> None:
    if order.kind == "cancel":
        order = Order(**{**vars(order), "floor": 0})
    elif order.service is None:
        order = Order(**{**vars(order), "service": BOT})
    assert parse("x", order.text()) == order
    assert "\n" not in order.text()


def test_the_text_as_it_is_kept() -> None:
    assert now().text() == (
        '{"kind":"now","service":"support-bot","floor":12,"at":"2027-10-29T14:30:00Z","until":"2027-10-29T16:30:00Z",'
        '"by":"alice@laptop","reason":"on the news"}'
    )
    assert cancelled("sale").text() == (
        '{"kind":"cancel","event":"sale","at":"2027-10-29T14:30:00Z","until":"2027-10-29T18:30:00Z",'
        '"by":"alice@laptop","reason":"on the news"}'
    )


BROKEN = [
    {"kind": "later"},
    {"kind": ["now"]},
    {"floor": "12"},
    {"floor": -1},
    {"floor": True},
    {"service": None},
    {"until": "soon"},
    {"until": 5},
    {"by": None},
    {"reason": "two\nlines"},
    {"reason": "\x1b[2J"},
]


@pytest.mark.parametrize("change", BROKEN, ids=str)
def test_an_entry_that_is_no_order(change: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        parse("x", json.dumps({**json.loads(now().text()), **change}))


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "null", '"now"', "{}", "[" * 9999])
def test_an_entry_that_is_nothing_of_the_kind(text: str) -> None:
    with pytest.raises(Unreadable):
        parse("x", text)


@pytest.mark.parametrize("missing", ["kind", "service", "floor", "at", "until", "by", "reason"])
def test_an_entry_that_lacks_something(missing: str) -> None:
    data = json.loads(now().text())
    del data[missing]
    with pytest.raises(Unreadable):
        parse("x", json.dumps(data))


def test_names_are_those_a_config_map_takes() -> None:
    assert named("now", BOT, at(0)) == "now-support-bot-20271029T1430Z"
    assert named("cancel", "friday-peak@2027-10-29", at(0)) == "cancel-friday-peak-2027-10-29-20271029T1430Z"
    assert len(named("cancel", "ü/" * 400, at(0))) <= 253


class TestTerm:
    @pytest.mark.parametrize(
        ("said", "seconds"),
        [("2h", 7200), ("90m", 5400), ("1h30m", 5400), (" 2H ", 7200), ("60s", 60), ("744h", LONGEST_S)],
    )
    def test_a_duration(self, said: str, seconds: int) -> None:
        assert lasting_s(said) == seconds

    @pytest.mark.parametrize(
        "said", ["", "2", "h", "2d", "-2h", "1.5h", "2h ago", "P2D", "30m1h", "٢h", "59s", "0h", "745h", "9" * 30 + "h"]
    )
    def test_what_is_none(self, said: str) -> None:
        with pytest.raises(ValueError, match=r"is no duration|is not within"):
            lasting_s(said)

    @pytest.mark.parametrize("said", ["", "  ", "a\nb", "x" * 201, "\x1b[31m"])
    def test_a_reason_is_one_printable_line(self, said: str) -> None:
        with pytest.raises(ValueError, match=r"it (is|has)"):
            one_line(said)

    def test_who(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LOGNAME", "ali\x1bce")
        assert author("prod-admin").startswith("ali?ce@")
        assert author("prod-admin").endswith(", as prod-admin")
        assert len(author("x" * 999)) == 200


class TestNameInTheCluster:
    def test_of_a_stack_whose_name_an_object_may_have(self) -> None:
        assert orders_name("prod") == "warmline-orders-prod"
        assert orders_name("prod-eu.1") == "warmline-orders-prod-eu.1"

    @given(st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9._]{0,61}[A-Za-z0-9])?", fullmatch=True))
    def test_any_stack_has_one_that_is_an_objects_and_its_own(self, stack: str) -> None:
        import re

        name = orders_name(stack)
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", name)
        assert len(name) <= 253
        assert name != orders_name(stack.swapcase()) or stack.swapcase() == stack


def test_no_calendar_is_called_as_the_orders_are() -> None:
    assert "/" not in SOURCE
    assert "/" in HERE
