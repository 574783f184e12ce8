"""How orders are kept in the cluster: in few calls, beside others' writes, without a right to them, killed between."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx2
import pytest

from prescale.clock import Clock
from prescale.orders import store
from prescale.orders.letting_go import cancel, release
from prescale.orders.order import Order
from prescale.orders.uninstall import uninstall
from stacks.reach import OutOfReach
from tests.core.api_double import ApiDouble
from tests.core.cluster_double import scaled_object
from tests.core.decision_cases import HOUR, at, window
from tests.core.order_cases import (
    ALICE,
    BOT,
    NAME,
    api_of,
    hand,
    held,
    now,
    order_now,
    runner,
    uninstaller,
)

pytestmark = pytest.mark.usefixtures("no_waiting")


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
