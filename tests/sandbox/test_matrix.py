"""How the matrix judges an operation, played on a stack that is only made up: whatever goes wrong is a failure."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from sandbox.reliability import matrix
from sandbox.reliability.built import Built
from sandbox.reliability.operations import BASELINE, FLOOR, OPERATIONS, SERVICES, TIMES, Operation
from sandbox.reliability.oracle import Service
from sandbox.reliability.stack_on_disk import Ran

DONE = Ran(0, "", "")


@dataclass
class MadeUp:
    """Floors that a run sets as the last calendar wants them, and an engine that may do something to them."""

    folder: Path
    engine: Callable[[MadeUp], Ran] = lambda _: DONE
    services: tuple[Service, ...] = SERVICES
    floors: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TIMES, BASELINE))
    baselines: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TIMES, BASELINE))
    wanted: dict[str, int] = field(default_factory=dict)
    last_run: Callable[[MadeUp], Ran] | None = None

    @property
    def calendar(self) -> Path:
        return self.folder / "events.yaml"

    def seen(self) -> dict[str, tuple[int, str]]:
        return {name: (floor, str(self.baselines[name])) for name, floor in self.floors.items()}

    def run(self) -> Ran:
        """The first raises what is on; the last is the one that the matrix judges."""
        if self.is_played and self.last_run:
            return self.last_run(self)
        self.floors = dict(self.wanted)
        return DONE

    def act(self, *_: str) -> Ran:
        self.is_played = True
        return self.engine(self)

    is_played = False


@pytest.fixture(autouse=True)
def _calendar_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = matrix._schedule

    def and_read(site: Any, **when: Any) -> Any:
        events = schedule(site, **when)
        site.wanted = matrix._wanted(site.services, events)
        return events

    monkeypatch.setattr(matrix, "_schedule", and_read)


def played(
    folder: Path,
    operation: Operation,
    engine: Callable[[MadeUp], Ran] = lambda _: DONE,
    last_run: Callable[[MadeUp], Ran] | None = None,
) -> matrix.Matrix:
    found = matrix.Matrix()
    matrix._played(cast("Built", MadeUp(folder, engine, last_run=last_run)), operation, TIMES, found)
    return found


REFRESH = next(each for each in OPERATIONS if each.name == "pulumi refresh")


def test_an_engine_that_leaves_everything_alone_is_right(tmp_path: Path) -> None:
    found = played(tmp_path, REFRESH)
    assert found.failures == []
    assert [(cell.time, cell.was, cell.left, cell.then) for cell in found.cells] == [
        ("before", BASELINE, BASELINE, BASELINE),
        ("during", FLOOR, FLOOR, FLOOR),
        ("after", FLOOR, FLOOR, BASELINE),
    ]


def lowers(site: MadeUp) -> Ran:
    site.floors["during"] = BASELINE
    return DONE


def loses_a_baseline(site: MadeUp) -> Ran:
    site.baselines["after"] = FLOOR
    return DONE


def deletes(site: MadeUp) -> Ran:
    del site.floors["before"]
    return DONE


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        (lowers, f"during the event: the floor after it is {BASELINE}, not {FLOOR}"),
        (loses_a_baseline, f"after the event: the baseline is {FLOOR}, not {BASELINE}"),
        (deletes, f"before the event: the floor after it is None, not {BASELINE}"),
        (lambda _: Ran(1, "", "error: a conflict"), "during the event: expected exit code 0, got exit code 1"),
        (lambda _: Ran(0, "Traceback", ""), "during the event: expected exit code 0, got exit code 0: Traceback"),
    ],
)
def test_what_is_not_as_it_has_to_be_is_said(tmp_path: Path, engine: Callable[[MadeUp], Ran], said: str) -> None:
    assert [each for each in played(tmp_path, REFRESH, engine).failures if said in each] != []


def test_a_refusal_has_to_say_why(tmp_path: Path) -> None:
    refused = Operation("refused", lambda site, _: site.act("up"), refused=dict.fromkeys(TIMES, "the ceiling"))
    assert played(tmp_path, refused, lambda _: Ran(255, "", "it is above the ceiling of 3")).failures == []
    assert len(played(tmp_path, refused, lambda _: Ran(255, "", "no")).failures) == len(TIMES)
    assert len(played(tmp_path, refused, lambda _: Ran(0, "it is above the ceiling of 3", "")).failures) == len(TIMES)


def told(*findings: str) -> Ran:
    """A run that ends with 1."""
    services = [{"service": name, "findings": list(findings)} for name in TIMES]
    return Ran(1, json.dumps({"services": services}), "")


@pytest.mark.parametrize(
    ("last_run", "said"),
    [
        (lambda _: DONE, f"after the event: the floor after the next run is {FLOOR}, not {BASELINE}"),
        (lambda _: told("the patch was refused"), "before the event: expected exit code 0, got exit code 1"),
        (lambda _: told(), "before the event: expected exit code 0, got exit code 1"),
    ],
    ids=["lets go of nothing", "a finding", "1 for no reason"],
)
def test_a_run_that_does_not_put_it_right_is_said(tmp_path: Path, last_run: Callable[[MadeUp], Ran], said: str) -> None:
    assert [each for each in played(tmp_path, REFRESH, last_run=last_run).failures if said in each] != []


def test_a_run_that_raises_late_has_done_all_it_had_to(tmp_path: Path) -> None:
    def late(site: MadeUp) -> Ran:
        site.floors = dict(site.wanted)
        return told("sale-during: ready about 20:12, 12 min late")

    found = played(tmp_path, REFRESH, last_run=late)
    assert found.failures == []
    assert {cell.said for cell in found.cells} == {"sale-during: ready about 20:12, 12 min late"}


def test_a_run_that_has_to_be_refused_and_is_not(tmp_path: Path) -> None:
    built_away = Operation("gone", lambda site, _: site.act("destroy"), next_refused=dict.fromkeys(TIMES, "nothing of"))
    assert len(played(tmp_path, built_away, last_run=lambda _: DONE).failures) == len(TIMES)
    assert played(tmp_path, built_away, last_run=lambda _: Ran(1, "", "nothing of stack local is in")).failures == []
