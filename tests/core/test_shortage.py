"""Floors that are in force together, against the GPUs of their pool."""

from __future__ import annotations

from pathlib import Path

import pytest
from whenever import Instant

from prescale.shortage import Shortage, shortages
from prescale.timetable import timetable
from tests.core.stack_files import Edit, calendar, stack

NOW = Instant.from_utc(2027, 1, 1)
BOTH = "services: {support-bot: {rps: 42.4, request_duration_s: 7.8}, fraud-bot: {rps: 42.4, request_duration_s: 7.8}}"
SUPPORT = "services: {support-bot: {rps: 42.4, request_duration_s: 7.8}}"
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
