"""Orders given by a person: what is written into the cluster and what the run after it does, also when it is killed."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import httpx2
import pytest
from msgspec import structs

from prescale import sync as syncing
from prescale.clock import Clock
from prescale.orders import store
from prescale.orders.giving import Answer, Author, hold, raise_floor
from prescale.orders.known import Unknown
from prescale.orders.letting_go import cancel, release, take_back
from prescale.orders.order import Order
from prescale.orders.uninstall import STILL_RUNNING, Uninstall, uninstall
from stacks import ownership
from stacks.reach import OutOfReach
from tests.core.api_double import ApiDouble
from tests.core.cluster_double import scaled_object
from tests.core.decision_cases import HOUR, at, window
from tests.core.order_cases import ALICE, BOT, hand, held, now, runner

NAME = "now-support-bot-20271029T1430Z"


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syncing, "IN_FORCE_WITHIN_S", 0.02)
    monkeypatch.setattr(syncing, "POLL_S", 0.005)


def for_hours(hours: float) -> Callable[[Any], Any]:
    return lambda at: at.add(seconds=hours * HOUR)


def order_now(api: ApiDouble, seconds: float = 0, *windows: Any, floor: int = 12, dry_run: bool = False) -> Answer:
    return raise_floor(hand(api, seconds, *windows, dry_run=dry_run), BOT, floor, for_hours(2), ALICE)


def api_of(**settings: Any) -> ApiDouble:
    return ApiDouble(scaled_object(**settings))


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


class TestUninstall:
    def test_leaves_no_trace(self) -> None:
        api = ApiDouble(scaled_object(name="fraud-bot", minimum=1, baseline="1"), scaled_object())
        order_now(api)
        api.person("fraud-bot", 9)
        runner(api, 60)
        answer = uninstall(uninstaller(api, 120), ())
        assert (api.minimum(), api.minimum("fraud-bot"), api.config_maps) == (2, 1, {})
        assert (answer.findings, answer.notes) == ((), (STILL_RUNNING,))
        for name, baseline in (("fraud-bot", "1"), (BOT, "2")):
            assert api.objects[name]["metadata"]["annotations"] == {ownership.BASELINE_ANNOTATION: baseline}

    def test_refuses_while_an_event_is_active(self) -> None:
        api = api_of()
        runner(api, 0, window())
        answer = uninstall(uninstaller(api, 60, window()), ())
        assert answer.findings == ("sale is active: nothing was let go. To let go even so, add --even-during sale.",)
        assert uninstall(uninstaller(api, 60, window()), ("other",)).findings
        assert api.minimum() == 7
        uninstall(uninstaller(api, 60, window()), ("sale",))
        assert api.minimum() == 2

    def test_also_while_only_the_record_knows_the_event(self) -> None:
        api = api_of()
        runner(api, 0, window())
        assert "sale is active" in uninstall(uninstaller(api, 60), ()).findings[0]

    def test_a_cancelled_event_is_none(self) -> None:
        api = api_of()
        runner(api, 0, window())
        cancel(hand(api, 60, window()), "sale", None, ALICE)
        assert uninstall(uninstaller(api, 120, window()), ()).findings == ()

    def test_an_object_without_a_baseline_is_named_and_left(self) -> None:
        api = ApiDouble(scaled_object(name="fraud-bot"), scaled_object())
        order_now(api)
        del api.objects[BOT]["metadata"]["annotations"][ownership.BASELINE_ANNOTATION]
        before = api.objects[BOT]
        answer = uninstall(uninstaller(api, 60), ())
        assert api.objects[BOT] == before
        assert "is missing" in answer.outcomes[1].findings[0]

    def test_force_activation_that_is_not_ours_stays(self) -> None:
        api = api_of(annotations={ownership.FORCE_ACTIVATION: "true"})
        order_now(api)
        uninstall(uninstaller(api, 60), ())
        assert api.objects[BOT]["metadata"]["annotations"][ownership.FORCE_ACTIVATION] == "true"

    def test_a_record_that_cannot_be_read_goes_and_force_activation_is_named(self) -> None:
        broken = {ownership.FLOOR_ANNOTATION: "{", ownership.FORCE_ACTIVATION: "true"}
        api = api_of(minimum=7, annotations=broken)
        answer = uninstall(uninstaller(api), ())
        assert api.minimum() == 2
        assert ownership.FLOOR_ANNOTATION not in api.objects[BOT]["metadata"]["annotations"]
        assert "force-activation is not known" in answer.outcomes[0].findings[0]

    def test_dry_run_changes_nothing(self) -> None:
        api = api_of()
        order_now(api)
        api.requests.clear()
        answer = uninstall(replace(uninstaller(api, 60), dry_run=True), ())
        assert {request.method for request in api.requests} == {"GET"}
        assert answer.outcomes[0].target == 2

    def test_twice_is_once(self) -> None:
        api = api_of()
        order_now(api)
        uninstall(uninstaller(api, 60), ())
        patches = len(api.patches)
        assert uninstall(uninstaller(api, 120), ()).findings == ()
        assert len(api.patches) == patches


def uninstaller(api: ApiDouble, seconds: float = 0, *windows: Any) -> Uninstall:
    run = hand(api, seconds, *windows, kind=Uninstall)
    assert isinstance(run, Uninstall)
    return run


class TestStore:
    def test_what_is_over_for_a_day_goes_with_the_next_order(self) -> None:
        api = api_of()
        order_now(api)
        order_now(api, 3 * HOUR)
        assert len(api.orders()) == 2, "it still says who and why"
        order_now(api, 27 * HOUR)
        assert sorted(api.orders()) == ["now-support-bot-20271029T1730Z", "now-support-bot-20271030T1730Z"]

    def test_a_run_only_reads(self) -> None:
        api = api_of()
        order_now(api)
        api.requests.clear()
        runner(api, 72 * HOUR)
        assert {r.method for r in api.requests if "configmaps" in r.url.path} == {"GET"}

    @pytest.mark.parametrize("services", [1, 500])
    def test_a_run_with_nothing_to_do_makes_three_calls(self, services: int) -> None:
        api = ApiDouble(*[scaled_object(name=f"bot-{n}") for n in range(services - 1)], scaled_object())
        order_now(api)
        runner(api, 60, window())
        api.requests.clear()
        assert runner(api, 120, window()).patch is None
        paths = [request.url.path.rpartition("/")[2] for request in api.requests]
        assert paths == ["scaledobjects", "warmline-orders-local", "horizontalpodautoscalers"]
        api.requests.clear()
        runner(api, 24 * HOUR)
        api.requests.clear()
        runner(api, 25 * HOUR)
        assert len(api.requests) == 2, "nothing holds a floor that an HPA had to show"

    def test_a_write_in_between_is_not_lost(self) -> None:
        api = api_of()
        order_now(api)
        original = api._config_map
        others = [now(9, at_s=60), now(8, at_s=120)]

        def config_map(request: httpx2.Request, name: str) -> httpx2.Response:
            if request.method == "PATCH" and others:
                other = others.pop()
                kept = api.config_maps[name]
                kept["data"][other.name] = other.text()
                kept["metadata"]["resourceVersion"] = str(int(kept["metadata"]["resourceVersion"]) + 1)
            return original(request, name)

        api._config_map = config_map  # type: ignore[method-assign]
        order_now(api, 180, floor=14)
        assert sorted(entry["floor"] for entry in api.orders().values()) == [8, 9, 12, 14]

    @pytest.mark.parametrize("before", [0, 1], ids=["the first", "one more"])
    def test_a_request_that_arrives_twice_is_one_order(self, before: int) -> None:
        """The answer to the first was lost on its way; the client sends it again."""
        api = api_of()
        for _ in range(before):
            order_now(api)
        original = api._config_map
        lost: list[str] = []

        def config_map(request: httpx2.Request, name: str) -> httpx2.Response:
            answer = original(request, name)
            if request.method in {"POST", "PATCH"} and not lost:
                lost.append(request.method)
                raise httpx2.ReadError("connection reset")
            return answer

        api._config_map = config_map  # type: ignore[method-assign]
        (order,) = order_now(api, floor=14).orders
        assert lost == ["PATCH" if before else "POST"]
        assert [entry["floor"] for entry in api.orders().values()] == [12] * before + [14]
        assert order.name in api.orders()

    def test_one_broken_entry_is_a_finding_and_stops_no_order(self) -> None:
        api = api_of()
        order_now(api)
        api.config_maps["warmline-orders-local"]["data"]["mine"] = "{"
        outcome = runner(api, 3 * HOUR)
        assert outcome.target == 12
        assert "the order mine cannot be read" in outcome.findings[0]
        assert "Correct or remove it in ConfigMap warmline-orders-local." in outcome.findings[0]
        order_now(api, 3 * HOUR, floor=14)
        assert (api.minimum(), "mine" in api.config_maps["warmline-orders-local"]["data"]) == (14, True)

    @pytest.mark.parametrize("command", ["now", "cancel", "uninstall"])
    def test_a_config_map_of_somebody_else_is_left_alone(self, command: str) -> None:
        api = api_of()
        theirs = {"metadata": {"name": "warmline-orders-local", "namespace": "serving", "resourceVersion": "4"}}
        api.config_maps = {"warmline-orders-local": {**theirs, "data": {"a": "b"}}}
        answers = {
            "now": lambda: order_now(api),
            "cancel": lambda: cancel(hand(api, 0, window()), "sale", None, ALICE),
            "uninstall": lambda: uninstall(uninstaller(api), ()),
        }
        (finding,) = answers[command]().findings
        assert "does not carry the label warmline.dev/stack: local" in finding
        assert api.config_maps["warmline-orders-local"]["data"] == {"a": "b"}

    def test_somebody_who_never_stops_is_a_finding(self) -> None:
        api = api_of()
        order_now(api)
        api._config_map = conflicts(api)  # type: ignore[assignment, method-assign]
        assert "somebody else wrote warmline-orders-local 8 times" in order_now(api, 60).findings[0]


def conflicts(api: ApiDouble) -> Callable[[httpx2.Request, str], httpx2.Response]:
    original = api._config_map

    def config_map(request: httpx2.Request, name: str) -> httpx2.Response:
        if request.method == "PATCH":
            return httpx2.Response(409, json={"kind": "Status", "code": 409, "message": "modified"})
        return original(request, name)

    return config_map


def forbidden(api: ApiDouble, *methods: str) -> None:
    original = api._config_map

    def config_map(request: httpx2.Request, name: str) -> httpx2.Response:
        if request.method in methods:
            message = 'configmaps "warmline-orders-local" is forbidden'
            return httpx2.Response(403, json={"kind": "Status", "code": 403, "message": message})
        return original(request, name)

    api._config_map = config_map  # type: ignore[method-assign]


class TestForbidden:
    def test_a_runner_that_may_not_read_raises_and_does_not_lower(self) -> None:
        api = api_of()
        order_now(api)
        forbidden(api, "GET")
        outcome = runner(api, HOUR, window(floor=14))
        assert outcome.target == 14
        assert "the orders cannot be read (configmaps" in outcome.findings[0]
        assert runner(api, 5 * HOUR).target == 14

    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_who_may_not_write_has_ordered_nothing(self, method: str) -> None:
        api = api_of()
        forbidden(api, method)
        answer = order_now(api)
        assert (api.minimum(), answer.orders) == (2, ())
        assert "nothing was ordered: configmaps" in answer.findings[0]
        assert "Give the user a Role that may get, create and patch ConfigMap" in answer.findings[0]

    def test_who_may_order_and_not_patch_is_helped_by_the_next_run(self) -> None:
        api = api_of()
        original = api._patch
        api._patch = lambda *_: httpx2.Response(  # type: ignore[method-assign]
            403, json={"kind": "Status", "code": 403, "message": "scaledobjects is forbidden"}
        )
        assert "the patch was refused" in order_now(api).outcomes[0].findings[0]
        api._patch = original  # type: ignore[method-assign]
        assert runner(api, 60).target == 12

    def test_uninstall_that_may_not_delete_lets_nothing_go(self) -> None:
        api = api_of()
        order_now(api)
        forbidden(api, "DELETE")
        assert "the orders could not be deleted" in uninstall(uninstaller(api, 60), ()).findings[0]
        assert api.minimum() == 12


class Killed(BaseException):
    """SIGKILL, as far as one process can tell."""


def kill(*_: Any) -> Any:
    raise Killed


class TestKilled:
    def test_between_the_order_and_the_patch(self) -> None:
        api = api_of()
        original, api._patch = api._patch, kill  # type: ignore[assignment, method-assign]
        with suppress(Killed):
            order_now(api)
        assert api.minimum() == 2
        api._patch = original  # type: ignore[method-assign]
        assert runner(api, 60).target == 12

    @pytest.mark.parametrize("word", ["cancel", "release"])
    def test_between_the_word_that_lets_go_and_the_patch(self, word: str) -> None:
        api = api_of()
        order_now(api)
        original, api._patch = api._patch, kill  # type: ignore[assignment, method-assign]
        with suppress(Killed):
            if word == "cancel":
                cancel(hand(api, 60), NAME, None, ALICE)
            else:
                release(hand(api, 60), BOT, ALICE)
        assert api.minimum() == 12
        api._patch = original  # type: ignore[method-assign]
        assert runner(api, 120).target == 2

    def test_out_of_reach_after_the_order_says_that_it_stands(self) -> None:
        api = api_of()
        api._patch = lambda *_: httpx2.Response(500, text="boom")  # type: ignore[method-assign]
        with pytest.raises(
            OutOfReach, match="The order was written before, and the next `prescale sync` does the rest"
        ):
            order_now(api)
        assert NAME in api.orders()

    def test_out_of_reach_while_uninstalling_says_what_is_gone(self) -> None:
        api = api_of()
        order_now(api)
        api._patch = lambda *_: httpx2.Response(500, text="boom")  # type: ignore[method-assign]
        with pytest.raises(OutOfReach, match="The orders had been deleted before"):
            uninstall(uninstaller(api, 60), ())

    def test_a_runner_that_read_before_the_order_does_not_take_it_back(self) -> None:
        """It lists the objects, the order comes and is patched, and then it decides."""
        api = api_of()
        runner(api, 0, window())
        original = api._read

        def read(request: httpx2.Request, name: str) -> httpx2.Response:
            answer = original(request, name)
            if request.url.path.endswith("/scaledobjects"):
                api._read = original  # type: ignore[method-assign]
                order_now(api, 4 * HOUR)
            return answer

        api._read = read  # type: ignore[method-assign]
        assert runner(api, 4 * HOUR, window()).target == 12
        assert api.minimum() == 12


def test_an_order_is_kept_whole() -> None:
    api = api_of()
    order = Order(**{**vars(held(9)), "reason": "x" * 200, "by": "ü" * 200})
    store.write(api.cluster(), "local", [order], Clock(at(0)))
    assert store.read(api.cluster(), "local").said == (order,)


def test_the_author_is_whoever_runs_it() -> None:
    api = api_of()
    raise_floor(hand(api), BOT, 12, for_hours(1), Author("bob@host, as ops", "x"))
    assert next(iter(api.orders().values()))["by"] == "bob@host, as ops"
