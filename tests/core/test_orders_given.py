"""Orders given by a person: what is written into the cluster, and what the run after it does."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from msgspec import structs

from prescale.clock import Clock
from prescale.orders.giving import Author, hold, raise_floor
from prescale.orders.known import Unknown
from prescale.orders.letting_go import cancel, release, take_back
from stacks import ownership
from tests.core.api_double import ApiDouble
from tests.core.cluster_double import scaled_object
from tests.core.decision_cases import HOUR, window
from tests.core.order_cases import (
    ALICE,
    BOT,
    NAME,
    api_of,
    for_hours,
    hand,
    order_now,
    runner,
)

pytestmark = pytest.mark.usefixtures("no_waiting")


class TestNow:
    def test_is_kept_with_who_and_why_and_is_in_force(self) -> None:
        api = api_of()
        answer = order_now(api)
        assert api.orders() == {
            NAME: {
                "kind": "now",
                "service": BOT,
                "floor": 12,
                "at": "2027-10-29T14:30:00Z",
                "until": "2027-10-29T16:30:00Z",
                "by": "alice@laptop",
                "reason": "on the news",
            }
        }
        (kept,) = api.config_maps.values()
        assert kept["metadata"]["labels"] == {ownership.STACK_LABEL: "local"}
        assert (api.minimum(), answer.outcomes[0].in_force_s is None) == (12, False)
        assert [order.name for order in answer.outcomes[0].orders] == [NAME]

    def test_every_runner_sees_it(self) -> None:
        api = api_of()
        order_now(api)
        del api.objects[BOT]["metadata"]["annotations"][ownership.FLOOR_ANNOTATION]
        api.objects[BOT]["spec"]["minReplicaCount"] = 2
        assert runner(api, 60).target == 12
        assert runner(api, 2 * HOUR).target == 2

    def test_above_the_live_ceiling_nothing_is_written(self) -> None:
        api = api_of(maximum=11)
        answer = order_now(api)
        assert (api.config_maps, api.patches, answer.orders) == ({}, [], ())
        assert (
            "a floor of 12 was refused, it is above the live ceiling of 11. Nothing was ordered."
            in (answer.findings[0])
        )

    def test_of_what_is_not_built_nothing_is_written(self) -> None:
        api = ApiDouble(scaled_object(name="fraud-bot"))
        assert "no ScaledObject in namespace serving" in order_now(api).findings[0]
        api.objects.clear()
        assert "nothing of stack local" in order_now(api).findings[0]
        assert api.config_maps == {}

    def test_dry_run_writes_nothing_and_shows_the_patch(self) -> None:
        api = api_of()
        answer = order_now(api, dry_run=True)
        assert {request.method for request in api.requests} == {"GET"}
        patch = answer.outcomes[0].patch
        assert patch
        assert patch["spec"] == {"minReplicaCount": 12}
        assert [order.name for order in answer.orders] == [NAME]

    def test_a_second_one_in_the_same_minute_has_a_name_of_its_own(self) -> None:
        api = api_of()
        order_now(api)
        (order,) = order_now(api, floor=14).orders
        assert (order.name, order.event) == (f"{NAME}-2", f"{NAME}-2")
        assert sorted(api.orders()) == [NAME, f"{NAME}-2"]
        assert api.minimum() == 14

    def test_the_time_is_the_servers(self) -> None:
        """A runner is held to it, and this machine may be two hours behind."""
        api = api_of()
        run = hand(api, 2 * HOUR)
        cast("Any", run.objects).clock = lambda mine: Clock(mine.subtract(seconds=2 * HOUR), mine)
        raise_floor(run, BOT, 12, for_hours(1), ALICE)
        (order,) = api.orders().values()
        assert (order["at"], order["until"]) == ("2027-10-29T16:30:00Z", "2027-10-29T17:30:00Z")


class TestHold:
    @pytest.mark.parametrize(("running", "floor"), [({}, 7), ({"keda-hpa-support-bot": 9}, 9)])
    def test_keeps_what_is_there(self, running: dict[str, int], floor: int) -> None:
        api = api_of()
        runner(api, 0, window())
        api.running = running
        hold(hand(api, 60, window()), BOT, for_hours(8), ALICE)
        assert runner(api, 4 * HOUR, window()).target == floor
        assert runner(api, 60 + 8 * HOUR, window()).target == 2

    def test_at_most_the_ceiling(self) -> None:
        api = api_of()
        api.running = {"keda-hpa-support-bot": 20}
        hold(hand(api), BOT, for_hours(1), ALICE)
        assert api.minimum() == 16

    def test_nothing_is_not_held(self) -> None:
        api = api_of(minimum=0, baseline="0")
        answer = hold(hand(api), BOT, for_hours(1), ALICE)
        assert "there is nothing to hold" in answer.findings[0]
        assert api.config_maps == {}


class TestCancel:
    def test_ends_with_the_event(self) -> None:
        api = api_of()
        runner(api, 0, window())
        cancel(hand(api, 60, window()), "sale", None, ALICE)
        assert api.minimum() == 2
        (order,) = api.orders().values()
        assert order["until"] == "2027-10-29T18:30:00Z"
        assert runner(api, HOUR, window()).target == 2

    def test_an_event_that_is_nearly_over_for_an_hour(self) -> None:
        """Every runner is to have seen it."""
        api = api_of()
        runner(api, 0, window())
        cancel(hand(api, 4 * HOUR - 60, window()), "sale", None, ALICE)
        (order,) = api.orders().values()
        assert order["until"] == "2027-10-29T19:29:00Z"

    def test_of_one_service(self) -> None:
        api = ApiDouble(scaled_object(name="fraud-bot"), scaled_object())
        windows = (window(), structs.replace(window(), service="fraud-bot"))
        runner(api, 0, *windows)
        cancel(hand(api, 60, *windows), "sale", BOT, ALICE)
        assert (api.minimum(), api.minimum("fraud-bot")) == (2, 7)
        runner(api, 120, *windows)
        assert (api.minimum(), api.minimum("fraud-bot")) == (2, 7)
        cancel(hand(api, 180, *windows), "sale", None, ALICE)
        assert api.minimum("fraud-bot") == 2

    def test_twice_is_once(self) -> None:
        api = api_of()
        for seconds in (0, 60):
            cancel(hand(api, seconds, window()), "sale", None, ALICE)
        assert len(api.orders()) == 1

    def test_what_only_the_record_knows(self) -> None:
        api = api_of()
        runner(api, 0, window())
        cancel(hand(api, 60), "sale", None, ALICE)
        assert api.minimum() == 2

    def test_what_another_calendar_holds_beyond_its_end(self) -> None:
        api = api_of()
        runner(api, 0, window())
        record = json.loads(api.record() or "")
        record["events"][0]["calendar"] = "old/events.yaml"
        api.objects[BOT]["metadata"]["annotations"][ownership.FLOOR_ANNOTATION] = json.dumps(record)
        assert runner(api, 5 * HOUR).target == 7
        cancel(hand(api, 5 * HOUR), "sale", None, ALICE)
        assert api.minimum() == 2

    def test_undo(self) -> None:
        api = api_of()
        runner(api, 0, window())
        cancel(hand(api, 60, window()), "sale", None, ALICE)
        take_back(hand(api, 120, window()), "sale")
        assert (api.minimum(), api.orders()) == (7, {})

    def test_undo_in_a_dry_run(self) -> None:
        api = api_of()
        cancel(hand(api, 60, window()), "sale", None, ALICE)
        answer = take_back(hand(api, 120, window(), dry_run=True), "sale")
        assert (answer.outcomes[0].target, api.minimum(), len(api.orders())) == (7, 2, 1)

    @pytest.mark.parametrize(
        ("name", "service", "said"),
        [
            ("sales", None, "no event or order sales counts now or later. Near it: sale"),
            ("xyz", None, "There is sale, peak@2027-10-30, peak@2027-10-31, peak@2027-11-01, peak@2027-11-02 and 1"),
            ("peak", None, "peak repeats. Say which one: peak@2027-10-30, peak@2027-10-31"),
            ("sale", "fraud-bot", "sale is none of fraud-bot's, but of support-bot"),
            ("over", None, "no event or order over counts now or later"),
        ],
    )
    def test_what_is_not_known(self, name: str, service: str | None, said: str) -> None:
        api = api_of()
        days = [
            window(f"peak@{day}", 5, n * 24 * HOUR, n * 24 * HOUR, (n * 24 + 8) * HOUR)
            for n, day in enumerate(["2027-10-30", "2027-10-31", "2027-11-01", "2027-11-02", "2027-11-03"], 1)
        ]
        over = window("over", 3, -3 * HOUR, -2 * HOUR, -HOUR)
        with pytest.raises(Unknown) as raised:
            cancel(hand(api, 0, window(), over, *days), name, service, ALICE)
        assert said in str(raised.value)
        assert api.config_maps == {}

    def test_undo_of_what_is_not_cancelled(self) -> None:
        with pytest.raises(Unknown, match="no order cancels sale"):
            take_back(hand(api_of(), 0, window()), "sale")


class TestRelease:
    def test_orders_and_a_persons_value_go_and_events_stay(self) -> None:
        api = api_of()
        runner(api, 0, window())
        order_now(api, 60, window())
        hold(hand(api, 120, window()), BOT, for_hours(3), ALICE)
        api.person(BOT, 14)
        runner(api, 180, window())
        answer = release(hand(api, 240, window()), BOT, ALICE)
        assert (api.minimum(), len(answer.orders)) == (7, 2)
        assert runner(api, 300, window()).target == 7
        assert runner(api, 300, window()).patch is None

    def test_of_nothing_writes_nothing(self) -> None:
        api = api_of()
        release(hand(api), BOT, ALICE)
        assert (api.config_maps, api.patches) == ({}, [])


def test_the_author_is_whoever_runs_it() -> None:
    api = api_of()
    raise_floor(hand(api), BOT, 12, for_hours(1), Author("bob@host, as ops", "x"))
    assert next(iter(api.orders().values()))["by"] == "bob@host, as ops"
