"""Two printed plans compared where they say a load in other units, or none at all."""

from __future__ import annotations

from typing import Any

import pytest
from whenever import Instant

from prescale.plan_change import Cause, compare, read

NOW = Instant.from_utc(2027, 1, 1)
TIMES = {"raise_at": "2027-10-29T14:00:00Z", "start": "2027-10-29T14:30:00Z", "end": "2027-10-29T19:00:00Z"}
OLD = {"rps": 26.7, "request_duration_s": 7.8, "in_flight": 208.26, "in_flight_per_replica": 40, "replicas": 5.2065}
UNKNOWN = dict.fromkeys([*OLD, "multiplier", "tokens_per_s", "tokens_per_s_per_replica"])


def printed(floor: int, **load: Any) -> dict[str, Any]:
    event = {"name": "sale", "service": "bot", "state": "planned", "floor": floor, "baseline": 2, "timezone": "UTC"}
    return {"events": [{**event, **TIMES, "headroom_pct": 30, "lead_time_s": 300, "margin_s": 1500, **load}]}


def causes(before: dict[str, Any], after: dict[str, Any]) -> tuple[Cause, ...]:
    (change,) = compare(read(before, {}), read(after, {}), NOW).events
    assert not change.by_code
    return change.causes


def test_another_unit_is_told_on_both_sides() -> None:
    """The side before is a plan of code that knew arrivals only."""
    assert causes(printed(7, **OLD), printed(9, **{**UNKNOWN, "unit": "replicas", "replicas": 9})) == (
        Cause("rps", 26.7, None),
        Cause("request_duration_s", 7.8, None),
        Cause("in_flight_per_replica", 40, None),
        Cause("replicas", None, 9),
    )


def test_of_one_unit_only_what_was_said_is_a_cause() -> None:
    tokens = {**UNKNOWN, "unit": "tokens_per_s", "tokens_per_s": 9500, "tokens_per_s_per_replica": 1900, "replicas": 5}
    assert causes(printed(7, **tokens), printed(8, **{**tokens, "tokens_per_s": 11400, "replicas": 6})) == (
        Cause("tokens_per_s", 9500, 11400),
    )


def test_a_ramp_is_what_moved_the_raise() -> None:
    ramped = printed(7, **OLD, ramp={"steps": 4, "over_s": 3600, "rises": []})
    ramped["events"][0]["raise_at"] = "2027-10-29T13:00:00Z"
    assert causes(printed(7, **OLD, ramp=None), ramped) == (
        Cause("ramp_steps", None, 4),
        Cause("ramp_over_s", None, 3600),
    )


@pytest.mark.parametrize(
    "load", [{**OLD, "unit": "furlongs"}, {**OLD, "unit": None}, {**UNKNOWN, "unit": "rps"}, {**OLD, "ramp": 4}]
)
def test_a_plan_without_the_units_numbers_is_none(load: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a plan"):
        read(printed(7, **load), {})
