"""Floors that are in force together, against the GPUs of their pool."""

from __future__ import annotations

from pathlib import Path

import pytest
from whenever import Instant

from prescale.windows.shortage import Shortage, shortages
from prescale.windows.timetable import timetable
from tests.core.stack_files import Edit, calendar, stack

NOW = Instant.from_utc(2027, 1, 1)
BOTH = "services: {support-bot: {rps: 42.4, request_duration_s: 7.8}, fraud-bot: {rps: 42.4, request_duration_s: 7.8}}"
SUPPORT = "services: {support-bot: {rps: 42.4, request_duration_s: 7.8}}"
NO_EVENTS = "timezone: UTC\nevents: []\n"
FRAUD = "services: {fraud-bot: {rps: 42.4, request_duration_s: 7.8}}"


def with_fraud_bot(text: str) -> str:
    """A second service on the pool of the first, which has 18 GPUs."""
    service = text[text.index("  support-bot:") :]
    return text + service.replace("support-bot:", "fraud-bot:").replace("name: support-8b", "name: fraud-8b")


def of(root: Path, events: Edit, now: Instant = NOW) -> tuple[Shortage, ...]:
    loaded = stack(root, platform=with_fraud_bot, events=events)
    return shortages(loaded, timetable(loaded, now), now)


def event(name: str, hours: tuple[int, int], services: str, more: str = "") -> str:
    return f"name: {name}, start: 2027-10-29 {hours[0]}:00, end: 2027-10-29 {hours[1]}:00{more}, {services}"


def test_two_floors_of_one_event_that_a_pool_does_not_hold(tmp_path: Path) -> None:
    (found,) = of(tmp_path, calendar(event("sale", (20, 22), BOTH)))
    assert found == Shortage("l40s", Instant.from_utc(2027, 10, 29, 14), ("sale",), 22, 18)


def test_two_events_are_counted_together_only_while_both_are_in_force(tmp_path: Path) -> None:
    apart = calendar(event("a", (10, 12), SUPPORT), event("b", (20, 22), FRAUD))
    assert of(tmp_path / "apart", apart) == ()
    # b is raised at 11:30, half an hour before a ends.
    (found,) = of(tmp_path / "beside", calendar(event("a", (10, 12), SUPPORT), event("b", (12, 14), FRAUD)))
    assert (found.events, found.since) == (("a", "b"), Instant.from_utc(2027, 10, 29, 6))


def test_one_event_is_told_with_the_most_that_it_comes_to_need(tmp_path: Path) -> None:
    """fraud-bot starts slower, so it is raised first: 18 + 2 at first, then 18 + 12."""

    def slower(text: str) -> str:
        head, fraud = with_fraud_bot(text).split("  fraud-bot:")
        return f"{head}  fraud-bot:{fraud.replace('weights_s: 120', 'weights_s: 720')}"

    more = SUPPORT.replace("}}", "}, fraud-bot: {rps: 70, request_duration_s: 7.8, headroom_pct: 10}}")
    events = calendar(event("sale", (20, 22), more))
    loaded = stack(
        tmp_path, platform=lambda text: slower(text).replace("max_nodes: 18", "max_nodes: 16"), events=events
    )
    (found,) = shortages(loaded, timetable(loaded, NOW), NOW)
    assert found == Shortage("l40s", Instant.from_utc(2027, 10, 29, 13, 50), ("sale",), 27, 16)


@pytest.mark.parametrize(
    ("priorities", "at_risk"),
    [
        (("", ""), ()),
        ((", priority: 5", ", priority: 5"), ()),
        ((", priority: 5", ""), ("b",)),
        (("", ", priority: 1"), ("a",)),
    ],
)
def test_the_lowest_priority_is_at_risk_first(
    tmp_path: Path, priorities: tuple[str, str], at_risk: tuple[str, ...]
) -> None:
    events = [event("a", (20, 22), SUPPORT, priorities[0]), event("b", (20, 22), FRAUD, priorities[1])]
    (found,) = of(tmp_path, calendar(*events))
    assert (found.events, found.at_risk) == (("a", "b"), at_risk)


def test_a_floor_that_lies_within_another_is_not_at_risk(tmp_path: Path) -> None:
    """c asks for less than a does of the same service; b's floor is what would have to go."""
    low = SUPPORT.replace("rps: 42.4", "rps: 20")
    events = [event("a", (20, 22), SUPPORT, ", priority: 9"), event("b", (20, 22), FRAUD, ", priority: 5")]
    (found,) = of(tmp_path, calendar(*events, event("c", (20, 22), low)))
    assert (found.events, found.at_risk) == (("a", "b", "c"), ("b",))


def test_it_begins_with_the_step_that_is_too_high(tmp_path: Path) -> None:
    """Of 11 and 11 replicas on 18 GPUs, 4 steps from 2: 5, 7, 9, 11 of each are 10, 14, 18, 22."""
    (found,) = of(tmp_path, calendar(event("sale", (20, 22), BOTH, ", ramp: {steps: 4, over_s: 3600}")))
    assert (found.since, found.needed) == (Instant.from_utc(2027, 10, 29, 13, 45), 22)


def test_baselines_that_a_pool_does_not_hold(tmp_path: Path) -> None:
    loaded = stack(
        tmp_path, platform=lambda text: with_fraud_bot(text).replace("min: 2", "min: 10"), events=lambda _: NO_EVENTS
    )
    assert shortages(loaded, timetable(loaded, NOW), NOW) == (Shortage("l40s", NOW, (), 20, 18),)


@pytest.mark.parametrize(
    ("events", "now"),
    [
        (calendar(event("sale", (20, 22), BOTH)), Instant.from_utc(2027, 10, 30)),
        (calendar(event("sale", (20, 22), BOTH, ", cancelled: true")), NOW),
    ],
    ids=["over", "cancelled"],
)
def test_what_is_over_or_cancelled_needs_nothing(tmp_path: Path, events: Edit, now: Instant) -> None:
    assert of(tmp_path, events, now) == ()
