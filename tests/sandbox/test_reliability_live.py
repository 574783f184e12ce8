"""The sample of `make bench-reliability`: killed, doubled and misled runs on a real API server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import lifecycle
from sandbox.layout import Layout, free_ports
from sandbox.reliability import calendars, cost, crowd, kills
from sandbox.reliability.bench import SAMPLE
from sandbox.reliability.course import rps_for
from sandbox.reliability.gate import Kill, Side, gate
from sandbox.reliability.ground import Ground
from sandbox.reliability.mutation import MUTATIONS
from sandbox.reliability.oracle import Event, Service
from sandbox.reliability.stack_on_disk import calendar_text

pytestmark = pytest.mark.sandbox

SEED = 1


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    directory = tmp_path_factory.mktemp("sandbox")
    port = free_ports(1)[0]
    yield lifecycle.up((), print, directory, prometheus_port=port, with_pulumi=False, api_only=True)
    lifecycle.down(print, directory)


@pytest.mark.parametrize(("side", "applied"), [("before", 1), ("after", 2)])
def test_the_gate_kills_on_the_side_it_says(layout: Layout, tmp_path: Path, side: Side, applied: int) -> None:
    services = tuple(Service(f"chat-{number}", 2, 18, 60) for number in range(3))
    ground = Ground(layout, tmp_path, "gate", services)
    ground.build()
    now = int(time.time())
    sale = Event("sale", now - 600, now + 3600, {service.name: rps_for(12) for service in services})
    ground.calendar.write_text(calendar_text([sale]))
    with gate(layout.kubeconfig, tmp_path, Kill(2, side)) as opened:
        ran = ground.run_through(opened)
    assert (opened.killed, ran.exit_code, opened.calls, opened.writes) == (True, -9, 4, 2)
    assert [minimum for minimum, _ in ground.seen().values()] == [12] * applied + [2] * (3 - applied)
    ground.clear()


def test_killed_before_and_after_its_writes_the_next_run_is_right(layout: Layout, tmp_path: Path) -> None:
    found = kills.measure(layout, tmp_path, SAMPLE.kills, SEED, print)
    assert found.failures == []
    assert sum(found.at.values()) == SAMPLE.kills


def test_eight_at_once_are_as_one_and_nobodys_write_is_lost(layout: Layout, tmp_path: Path) -> None:
    found = crowd.measure(layout, tmp_path, SAMPLE.rounds, SEED, print)
    assert found.failures == []
    assert found.patches >= SAMPLE.rounds


def test_a_spoiled_calendar_lowers_nothing(layout: Layout, tmp_path: Path) -> None:
    found = calendars.measure(layout, tmp_path, SAMPLE.calendars, SEED, print)
    assert found.failures == []
    assert len(found.by_mutation) == len(MUTATIONS)
    assert 0 < found.valid < SAMPLE.calendars


def test_a_run_with_nothing_to_do_makes_few_calls(layout: Layout, tmp_path: Path) -> None:
    found = cost.measure(layout, tmp_path, SAMPLE.pairs, print)
    assert found.failures == []
    assert [row.services for row in found.rows] == [1, 1, 500, 500]
