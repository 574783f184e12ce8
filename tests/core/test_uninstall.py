"""`release --all`: every object at its baseline, nothing of ours left, and what keeps it from that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from prescale.orders.letting_go import cancel
from prescale.orders.uninstall import STILL_RUNNING, uninstall
from stacks import ownership
from tests.core.api_double import ApiDouble
from tests.core.cluster_double import scaled_object
from tests.core.decision_cases import window
from tests.core.order_cases import (
    ALICE,
    BOT,
    api_of,
    hand,
    order_now,
    runner,
    uninstaller,
)

pytestmark = pytest.mark.usefixtures("no_waiting")


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
