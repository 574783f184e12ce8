"""`warmline prescale now`, `hold`, `cancel` and `release` on a real API server with a real KEDA."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest
from lightkube import ApiError, Client
from lightkube.resources.core_v1 import ConfigMap

from sandbox.layout import Layout
from stacks import ownership
from tests.sandbox.test_sync_live import NAME, SPACE, Stage, api, layout, stage
from tests.sandbox.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.sandbox

# Fixtures are known by their names here.
__all__ = ["api", "layout", "stage"]

NO_EVENTS = "timezone: UTC\nevents: []\n"
ORDERS = ownership.orders_name("local")


@pytest.fixture
def quiet(stage: Stage) -> Iterator[Stage]:
    """A stage without events, and without orders of the test before."""
    stage.calendar.write_text(NO_EVENTS)
    yield stage
    if kept(stage) is not None:
        stage.api.delete(ConfigMap, ORDERS, namespace=SPACE)


def say(stage: Stage, *words: str, code: int = 0) -> dict[str, Any]:
    process = stage.start(*words, "-o", "json")
    text = process.communicate(timeout=PATIENCE_S)[0]
    assert process.returncode == code, text
    found: dict[str, Any] = json.loads(text)
    return found


def now(stage: Stage, floor: int) -> str:
    """Order a floor for two hours: the order's name."""
    found = say(stage, "now", NAME, "--floor", str(floor), "--for", "2h", "--reason", "a test")
    name: str = found["orders"][0]["name"]
    return name


def kept(stage: Stage) -> dict[str, Any] | None:
    """Name -> entry of every order; None without a ConfigMap."""
    try:
        found = stage.api.get(ConfigMap, ORDERS, namespace=SPACE)
    except ApiError as error:
        if error.status.code == 404:
            return None
        raise
    return {name: json.loads(text) for name, text in (found.data or {}).items()}


def test_now_is_in_force_on_the_hpa_and_every_runner_holds_it(quiet: Stage) -> None:
    name = now(quiet, 9)
    eventually(lambda: quiet.in_force() == 9)
    entries = kept(quiet)
    assert entries
    assert (entries[name]["floor"], entries[name]["reason"]) == (9, "a test")
    assert "@" in entries[name]["by"]
    service = quiet.sync()
    assert (service["patch"], service["events"], service["orders"][0]["name"]) == (None, [name], name)
    eventually(lambda: quiet.replicas() == 9)


def test_above_the_ceiling_is_refused_before_anything_is_written(quiet: Stage) -> None:
    found = say(quiet, "now", NAME, "--floor", "17", "--for", "2h", "--reason", "a test", code=1)
    assert "above the live ceiling of 16" in found["findings"][0]
    assert (kept(quiet), quiet.minimum()) == (None, 2)


def test_cancel_lets_go_of_an_order_and_of_an_event(quiet: Stage) -> None:
    name = now(quiet, 9)
    say(quiet, "cancel", name, "--reason", "a test")
    eventually(lambda: quiet.in_force() == 2)
    quiet.event()
    quiet.sync()
    eventually(lambda: quiet.in_force() == 7)
    say(quiet, "cancel", "sale", "--reason", "a test")
    eventually(lambda: quiet.in_force() == 2)
    assert quiet.sync()["target"] == 2
    say(quiet, "cancel", "sale", "--undo")
    eventually(lambda: quiet.in_force() == 7)


def test_hold_keeps_what_runs_when_the_event_is_over(quiet: Stage) -> None:
    quiet.event()
    quiet.sync()
    eventually(lambda: quiet.replicas() == 7)
    say(quiet, "hold", NAME, "--for", "2h", "--reason", "a test")
    quiet.event(cancelled=True)
    assert quiet.sync()["target"] == 7
    say(quiet, "release", NAME)
    eventually(lambda: quiet.in_force() == 2)


def test_release_all_leaves_no_trace_and_waits_for_a_word_while_an_event_is_active(quiet: Stage) -> None:
    quiet.event()
    quiet.sync()
    now(quiet, 9)
    refused = say(quiet, "release", "--all", code=1)
    assert "sale is active" in refused["findings"][0]
    assert quiet.minimum() == 9
    say(quiet, "release", "--all", "--even-during", "sale")
    assert (quiet.minimum(), kept(quiet)) == (2, None)
    assert set(quiet.annotations()) & {ownership.FLOOR_ANNOTATION, ownership.FORCE_ACTIVATION} == set()
    assert quiet.annotations()[ownership.BASELINE_ANNOTATION] == "2"
    eventually(lambda: quiet.in_force() == 2)


def test_killed_anywhere_an_order_that_is_kept_is_in_force_after_the_next_run(quiet: Stage) -> None:
    dice = random.Random(11)  # noqa: S311 - where to kill, the same each time
    for floor in (4, 5, 6, 7):
        order = quiet.start("now", NAME, "--floor", str(floor), "--for", "2h", "--reason", "a test")
        time.sleep(dice.uniform(0.3, 1.4))
        order.send_signal(signal.SIGKILL)
        order.communicate()
        quiet.sync()
        floors = [entry["floor"] for entry in (kept(quiet) or {}).values()]
        assert quiet.minimum() == max([2, *floors])
        assert quiet.annotations()[ownership.BASELINE_ANNOTATION] == "2"


def test_four_orders_at_once_are_all_kept(quiet: Stage) -> None:
    orders = [
        quiet.start("now", NAME, "--floor", str(floor), "--for", "2h", "--reason", "a test") for floor in (4, 5, 6, 7)
    ]
    outputs = [order.communicate(timeout=PATIENCE_S)[0] for order in orders]
    assert [order.returncode for order in orders] == [0] * 4, outputs
    assert sorted(entry["floor"] for entry in (kept(quiet) or {}).values()) == [4, 5, 6, 7]
    assert quiet.minimum() == 7


def test_the_api_server_keeps_who_wrote_it(quiet: Stage, api: Client, layout: Layout) -> None:
    now(quiet, 5)
    metadata = api.get(ConfigMap, ORDERS, namespace=SPACE).metadata
    assert metadata
    assert metadata.labels == {ownership.STACK_LABEL: "local"}
    assert {entry.manager for entry in metadata.managedFields or []} == {ownership.FIELD_MANAGER}
