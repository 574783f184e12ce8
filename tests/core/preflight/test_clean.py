"""What `pulumi up` makes is found sound; what could not be read is said, and nothing else is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prescale.permissions import CAPABILITIES
from prescale.preflight.finding import Report
from prescale.preflight.moments import NoSuchEvent, ahead
from prescale.preflight.seen import (
    API_SERVICES,
    AUTOSCALERS,
    BUDGETS,
    DAEMON_SETS,
    DEPLOYMENTS,
    KINDS,
    LIMIT_RANGES,
    NODES,
    PODS,
    PRIORITIES,
    QUOTAS,
    SCALED_OBJECTS,
    WEBHOOKS,
)
from prescale.windows.timetable import timetable
from stacks.runner import Rule
from tests.core.preflight.world import NOW, world
from tests.core.stack_files import all_of, calendar, stack, swap

UNREAD: dict[str, set[str]] = {
    str(DEPLOYMENTS): set(),  # nearly everything
    str(AUTOSCALERS): {"hpa"},
    str(DAEMON_SETS): {"image"},
    str(PODS): {"nodes", "priority", "image"},
    str(NODES): {"nodes", "priority", "image"},
    str(QUOTAS): {"quota"},
    str(LIMIT_RANGES): {"limit-range"},
    str(BUDGETS): {"disruption-budget"},
    str(PRIORITIES): set(),  # a template without a class
    str(API_SERVICES): {"server"},
    str(WEBHOOKS): {"server"},
}
"""What each kind that is always listed is needed for."""


def test_our_own_objects_are_clean() -> None:
    assert world().report() == Report((), ())


def test_so_they_are_spread_over_zones_and_beside_another_service(tmp_path: Path) -> None:
    """Of a pool of nodes with 4 GPUs, in three zones."""

    def second(text: str) -> str:
        begin = text.index("  support-bot:")
        other = text[begin:].replace("support-bot:", "fraud-bot:").replace("name: support-8b", "name: fraud-8b")
        return text + other.replace("gpus_per_replica: 1", "gpus_per_replica: 2")

    edits = all_of(
        swap("instance_types: [g6e.2xlarge]", "instance_types: [g6e.12xlarge]"),
        swap("    longest_stream_s: 180", "    zones: 3\n    longest_stream_s: 180"),
        second,
    )
    stack(tmp_path, platform=edits)
    assert world(tmp_path).report() == Report((), ())


def test_without_keda_there_is_one_thing_to_do() -> None:
    bent = world()
    bent.take_keda_away()
    report = bent.report()
    assert report.not_checked == ()
    (found,) = report.findings
    assert (found.check, found.service, found.what, found.expected) == ("target", "support-bot", "ScaledObject", "one")
    assert found.got == "no ScaledObject can be in the cluster, which is a cluster without KEDA"
    assert found.fix == "Install KEDA, or name another context: cluster.context in platform.yaml."


@pytest.mark.parametrize("kind", UNREAD)
def test_a_kind_that_is_not_shown_is_said_by_the_checks_that_need_it(kind: str) -> None:
    bent = world()
    bent.unread[kind] = "Forbidden. Give it"
    report = bent.report()
    assert report.findings == ()
    assert {one.because for one in report.not_checked} <= {"Forbidden. Give it"}
    needed = UNREAD[kind]
    if needed:
        assert {one.check for one in report.not_checked} == needed
    if kind == str(DEPLOYMENTS):
        assert len({one.check for one in report.not_checked}) > 8


def test_every_kind_that_is_always_listed_is_needed_by_something() -> None:
    always = {str(kind) for kind, is_pointed_to in KINDS if is_pointed_to is None}
    assert always - {str(SCALED_OBJECTS)} == UNREAD.keys()


class TestMoments:
    def of(self, root: Path, *events: str, event: str | None = None) -> list[tuple[str, int]]:
        made = stack(root, events=calendar(*events, timezone="UTC", margin_s=0))
        moments = ahead(made, timetable(made, NOW), NOW, event)
        return [(moment.at.format_iso(), moment.floors["support-bot"]) for moment in moments]

    def test_the_next_one_from_its_raise_on(self, tmp_path: Path) -> None:
        events = (
            "name: later, start: 2027-10-25 20:00, end: 2027-10-25 22:00, SERVICES",
            "name: next, start: 2027-10-21 20:00, end: 2027-10-21 22:00, SERVICES",
        )
        assert self.of(tmp_path, *events) == [("2027-10-21T19:55:00Z", 7)]
        assert self.of(tmp_path, *events, event="later") == [("2027-10-25T19:55:00Z", 7)]

    def test_one_that_has_begun_counts_only_where_no_other_is_ahead(self, tmp_path: Path) -> None:
        running = "name: now, start: 2027-10-20 11:00, end: 2027-10-20 22:00, SERVICES"
        coming = "name: next, start: 2027-10-21 20:00, end: 2027-10-21 22:00, SERVICES"
        assert self.of(tmp_path, running) == [("2027-10-20T12:00:00Z", 7)]
        assert self.of(tmp_path, running, coming) == [("2027-10-21T19:55:00Z", 7)]

    def test_what_comes_on_top_of_it_is_the_moment_that_is_asked_about(self, tmp_path: Path) -> None:
        low = "name: next, start: 2027-10-21 20:00, end: 2027-10-21 23:00, services: {support-bot: {multiplier: 3}}"
        high = "name: peak, start: 2027-10-21 21:00, end: 2027-10-21 22:00, SERVICES"
        assert self.of(tmp_path, low, high) == [("2027-10-21T20:55:00Z", 7)]
        assert self.of(tmp_path, low) == [("2027-10-21T19:55:00Z", 5)]

    def test_of_a_ramp_its_last_step(self, tmp_path: Path) -> None:
        ramp = "ramp: {over_s: 3600, steps: 2}"
        event = f"name: next, start: 2027-10-21 20:00, end: 2027-10-21 22:00, {ramp}, SERVICES"
        assert self.of(tmp_path, event) == [("2027-10-21T19:25:00Z", 7)]

    def test_without_events_the_baselines_now(self, tmp_path: Path) -> None:
        cancelled = "name: off, start: 2027-10-21 20:00, end: 2027-10-21 22:00, cancelled: true, SERVICES"
        assert self.of(tmp_path) == self.of(tmp_path, cancelled) == [("2027-10-20T12:00:00Z", 2)]

    def test_of_one_that_repeats_the_next_or_the_day(self, tmp_path: Path) -> None:
        daily = 'name: d, start: 2027-10-01 20:00, end: 2027-10-01 22:00, repeat: {rule: "FREQ=DAILY"}, SERVICES'
        assert self.of(tmp_path, daily, event="d") == [("2027-10-20T19:55:00Z", 7)]
        assert self.of(tmp_path, daily, event="d@2027-10-23") == [("2027-10-23T19:55:00Z", 7)]

    @pytest.mark.parametrize(("event", "says"), [("no", "no event 'no'; ahead are next"), ("off", "over or cancelled")])
    def test_a_name_that_is_none(self, tmp_path: Path, event: str, says: str) -> None:
        events = (
            "name: next, start: 2027-10-21 20:00, end: 2027-10-21 22:00, SERVICES",
            "name: off, start: 2027-10-21 20:00, end: 2027-10-21 22:00, cancelled: true, SERVICES",
        )
        with pytest.raises(NoSuchEvent, match=says):
            self.of(tmp_path, *events, event=event)


def test_the_roles_of_the_documents_show_what_is_listed_and_no_more() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "check-before-an-event.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"kubectl create (role|clusterrole) .*--verb=list \\\n +--resource=(\S+)", page))
    for role, is_namespaced in (("role", True), ("clusterrole", False)):
        listed = {str(kind) for kind, _ in KINDS if (kind.scope == "namespace") == is_namespaced}
        assert set(told[role].split(",")) == listed
        assert "secrets" not in told[role]


def test_the_permissions_are_what_is_listed_and_no_more() -> None:
    listed = {(kind.group, kind.plural, ("list",), kind.scope != "namespace") for kind, _ in KINDS}
    orders, *given = CAPABILITIES["preflight"]
    assert orders == Rule("", "configmaps", ("get",), of="orders")
    assert {(one.group, one.resource, one.verbs, one.everywhere) for one in given} == listed
    assert len(given) == len(KINDS)
    assert "secrets" not in {one.resource for one in given}


def parts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in an object's JSON."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from parts(item, (*path, key))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_whatever_a_field_says_there_is_a_word_and_no_traceback(data: st.DataObject) -> None:
    """Left out, of another type, or strange: a report, or an answer that is none of an API server's."""
    bent = world()
    bent.keep_nodes(8)
    kind = data.draw(st.sampled_from(sorted(kind for kind, items in bent.objects.items() if items)))
    item = data.draw(st.sampled_from(bent.objects[kind]))
    *path, last = data.draw(st.sampled_from(list(parts(item))))
    parent = item
    for step in path:
        parent = parent[step]
    values: list[Any] = [None, "", "x", "-1", 0, -1, 10**9, {}, [], [{}], {"x": "y"}, ["x"], True]
    parent[last] = data.draw(st.sampled_from(values))
    with suppress(msgspec.ValidationError):  # of which `reading` makes "not one of a Kubernetes API server"
        bent.report()
