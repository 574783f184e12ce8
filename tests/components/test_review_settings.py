"""No setting of the stack's files can change without a row in the review: every field of their models is walked."""

from __future__ import annotations

import copy
import json
import re
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from infra.review.redaction import MASK, shown_setting
from infra.review.settings import setting_changes
from stacks.events import CalendarSpec
from stacks.spec import Platform
from tests.components.specs import LOADER, platform_data, service_data

Place = tuple[str | int, ...]

SERVICE = service_data(
    slo={"ttft_p95_ms": 600, "tpot_p95_ms": 20, "attainment_pct": 95},
    zones=2,
    usual_load={"rps": 5, "request_duration_s": 8},
    cold_start={"node_s": 60, "image_s": 60, "weights_s": 120, "engine_start_s": 180, "measured": "ignored"},
    scale_down={"window_s": 300, "replicas": 2, "period_s": 30},
    rollout={"surge": 2, "unavailable": 1},
    cost_center="c-1",
    adopted={"kind": "ScaledObject", "name": "x", "pod_labels": {"app": "x"}},
)
SERVICE["engine"] |= {"args": {"enforce-eager": ""}}
SERVICE["capacity"] |= {"tokens_per_s_per_replica": 1900}
POOL = {
    "instance_types": ["g6e.2xlarge"],
    "provisioner": "existing",
    "max_nodes": 64,
    "gpus_per_node": 1,
    "local_disk_path": "/data",
}
PLATFORM = platform_data(
    {"support-bot": SERVICE},
    cluster={"context": "prod"},
    namespace="serving",
    production=False,
    node_pools={"l40s": POOL},
    runner={"image": LOADER, "every_min": 5, "webhook_secret": "hook"},
)
DEMANDS = {
    "by-rps": {"rps": 20, "request_duration_s": 8, "headroom_pct": 20},
    "by-multiplier": {"multiplier": 3},
    "by-in-flight": {"in_flight": 200},
    "by-tokens": {"tokens_per_s": 9000},
    "by-replicas": {"replicas": 7},
}
ASKED = {"owner": "growth", "priority": 10, "ramp": {"steps": 4, "over_s": 3600}, "services": DEMANDS}
REPEATED = {
    "name": "daily",
    "start": "2027-10-29 20:00",
    "end": "2027-10-29 22:00",
    "timezone": "Asia/Kolkata",
    "repeat": {"rule": "FREQ=DAILY", "until": "2027-11-30"},
    "cancelled": False,
    "cancelled_on": ["2027-11-02"],
    "moved": {"2027-11-03": "2027-11-03 21:00"},
    **ASKED,
}
HOLIDAY = {"country": "US", "subdiv": "CA", "name": "Independence Day", "offset_days": -1}
EVENTS = [
    REPEATED,
    {"name": "days", "day": "2027-12-24", "last_day": "2027-12-26", **ASKED},
    {"name": "national", "holiday": HOLIDAY | {"start": "10:00", "end": "12:00"}, **ASKED},
]
CALENDAR = {
    "timezone": "UTC",
    "ready_margin_s": 600,
    "headroom_pct": 30,
    "events": EVENTS,
    "calendars": [
        {
            "file": "sales.ics",
            "timezone": "UTC",
            "events": [{"match": {"summary": "Sale*", "category": "Shop"}, **ASKED}],
        }
    ],
}
FILES: dict[str, tuple[type[BaseModel], dict[str, Any]]] = {
    "platform.yaml": (Platform, PLATFORM),
    "events.yaml": (CalendarSpec, CALENDAR),
}
MASKED = ("prometheus.url", "services.support-bot.engine.args.")
"""What may hold a password. Of flags, those that every engine's dialect knows to be harmless are shown."""


def models(annotation: Any) -> list[type[BaseModel]]:
    """Those that a field may hold, itself or as items."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in typing.get_args(annotation) for model in models(part)]


def fields(model: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    """The path of every field without fields of its own; names and indices of items are left out."""
    for name, info in model.model_fields.items():
        inner = models(info.annotation)
        yield from ((name, *rest) for each in inner for rest in fields(each))
        if not inner:
            yield (name,)


def leaves(data: Any, place: Place = ()) -> Iterator[Place]:
    """The place of every value; a list of plain values is one."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from leaves(value, (*place, name))
    elif isinstance(data, list) and data and isinstance(data[0], dict):
        for index, value in enumerate(data):
            yield from leaves(value, (*place, index))
    else:
        yield place


def changed(data: Any, place: Place) -> Any:
    """A copy with another value at `place`."""
    made = json.loads(json.dumps(data))  # a deep copy keeps shared what was shared
    *way, last = place
    there = made
    for part in way:
        there = there[part]
    value = there[last]
    if isinstance(value, bool):
        there[last] = not value
    elif isinstance(value, list):
        there[last] = [*value, "more"]
    else:
        there[last] = value + (1 if isinstance(value, int) else "x")
    return made


def names_only(place: Place, model: type[BaseModel]) -> tuple[str, ...]:
    """`place` as `fields` has it: by the names of fields, without those of items."""
    found: list[str] = []
    for part in place:
        if part in model.model_fields:
            found.append(str(part))
            inner = models(model.model_fields[str(part)].annotation)
            model = inner[0] if inner else model
    return tuple(found)


@pytest.mark.parametrize("file", FILES)
def test_the_example_sets_every_field_there_is(file: str) -> None:
    """A new one belongs into it, and then into `infra.review.redaction`, shown or not."""
    model, data = FILES[file]
    model.model_validate(data)
    assert {names_only(place, model) for place in leaves(data)} == set(fields(model))


ROWS = [(file, place) for file, (_, data) in FILES.items() for place in leaves(data)]


@pytest.mark.parametrize(("file", "place"), ROWS, ids=[f"{file}-{'.'.join(map(str, place))}" for file, place in ROWS])
def test_a_change_of_any_of_them_is_a_row(file: str, place: Place) -> None:
    _, data = FILES[file]
    changes = setting_changes(data, changed(data, place))
    if place[0] == "events" and place[2:] == ("name",):
        assert [(change.path, *shown_setting(change)) for change in changes] == [
            (f"events[{data['events'][place[1]]['name']}]", "there", "absent"),
            (f"events[{data['events'][place[1]]['name']}x]", "absent", "new"),
        ]
        return
    (change,) = changes
    parts = re.split(r"[.\[\]]+", change.path.rstrip("]"))
    said = [str(part) for part in place if not isinstance(part, int)]
    assert [part for part in parts if part in said] == said
    before, after = shown_setting(change)
    if change.path.startswith(MASKED):
        assert (before, after) == (MASK, MASK)
    else:
        assert MASK not in before + after
        assert before != after
        assert "Decimal" not in before + after


def test_flags_that_are_known_to_be_harmless_are_shown() -> None:
    other = copy.deepcopy(PLATFORM)
    other["services"]["support-bot"]["engine"]["args"] = {"max-model-len": "8192", "enforce-eager": "hunter2"}
    rows = {change.path.rpartition(".")[2]: shown_setting(change) for change in setting_changes(PLATFORM, other)}
    assert rows == {"max-model-len": ("absent", "8192"), "enforce-eager": (MASK, MASK)}


def test_what_came_or_went_is_one_row() -> None:
    """Its objects and floors are told by themselves, and each setting of it says nothing more."""
    more = copy.deepcopy(PLATFORM)
    more["services"]["fraud-bot"] = SERVICE
    assert [(one.path, *shown_setting(one)) for one in setting_changes(PLATFORM, more)] == [
        ("services.fraud-bot", "absent", "new")
    ]
    fewer = {**CALENDAR, "events": EVENTS[1:]}
    assert [(one.path, *shown_setting(one)) for one in setting_changes(CALENDAR, fewer)] == [
        ("events[daily]", "there", "absent")
    ]


@pytest.mark.parametrize(
    "strange", [{"events": "soon"}, {"events": [1]}, {"events": [{"name": "a"}, {"name": "a"}]}, {}]
)
def test_a_file_of_another_shape_is_compared_as_it_is(strange: dict[str, Any]) -> None:
    assert any(change.path.startswith("events") for change in setting_changes(CALENDAR, strange))
    assert setting_changes(strange, strange) == ()
