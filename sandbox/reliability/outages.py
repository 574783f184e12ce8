"""What is around a run fails: the API server, etcd, KEDA, Prometheus, a clock, the calendar file, the runner itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sandbox import lifecycle
from sandbox.layout import Layout
from sandbox.reliability.gate import gate
from sandbox.reliability.served import CHAT, FLOOR, HOUR_S, Served, start_again
from sandbox.reliability.stack_on_disk import Ran
from sandbox.reliability.transition import ending

Say = Callable[[str], None]

SKEW_S = 2 * HOUR_S
PATIENCE_S = 90.0
BLIND_S = 40.0
"""How long nobody answers for the metric: several of KEDA's polls and of the HPA's looks."""


@dataclass(frozen=True)
class Cell:
    """One outage: how runs ended meanwhile and what they said, the floor then, and the next run and its floor."""

    outage: str
    exit_code: int | None
    said: str
    floor: int
    next_exit_code: int
    next_floor: int


@dataclass
class Outages:
    """What came of it."""

    cells: list[Cell] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def facts(self) -> dict[str, object]:
        """As plain data."""
        return {"cells": [asdict(cell) for cell in self.cells], "failures": self.failures}


def measure(layout: Layout, folder: Path, away_s: float, say: Say) -> Outages:
    """Let one thing after the other fail, on a whole control plane; the API server for `away_s` seconds."""
    found = Outages()
    site = Served(layout, folder / "outages", "outages", (CHAT,))
    site.build()
    _within(lambda: site.in_force() == CHAT.baseline)
    # What makes others fail, too, comes last: KEDA's programs end themselves without an API server.
    in_order: tuple[Callable[[Served, list[str]], Cell], ...] = (
        _keda_restarted,
        _clock_ahead,
        _clock_behind,
        _file_cut,
        _runner_gone,
        _metrics_gone,
        _etcd_restarted,
        partial(_api_away, away_s=away_s),
    )
    for outage in in_order:
        found.cells.append(outage(site, found.failures))
        say(f"  {found.cells[-1].outage}: {len(found.failures)} failures")
    return found


def _keda_restarted(site: Served, wrong: list[str]) -> Cell:
    lifecycle.stop("keda-operator", site.layout.directory)
    site.sale(is_on=True)
    ran, floor = site.run(), site.floor()
    start_again(site.layout, "keda-operator")
    _within(lambda: site.in_force() == FLOOR)
    what = "KEDA's operator gone while the sale begins"
    return _judged(what, site, ran, floor, wrong, expects=(1, "the floor is not in force"))


def _clock_ahead(site: Served, wrong: list[str]) -> Cell:
    return _with_clock("this machine's clock 2 h ahead", site, -SKEW_S, wrong)


def _clock_behind(site: Served, wrong: list[str]) -> Cell:
    return _with_clock("this machine's clock 2 h behind", site, SKEW_S, wrong)


def _with_clock(what: str, site: Served, server_ahead_s: int, wrong: list[str]) -> Cell:
    """By this machine's clock the sale is over. The gate shifts the API server's Date: to a run it is the same."""
    site.sale(is_on=True)
    site.run()
    site.sale(is_on=False)
    with gate(site.layout.kubeconfig, site.folder, server_ahead_s=server_ahead_s) as opened:
        ran = site.run(opened.kubeconfig)
    floor = site.floor()
    site.sale(is_on=True)
    return _judged(what, site, ran, floor, wrong, expects=(1, "this machine's clock is 7"))


def _file_cut(site: Served, wrong: list[str]) -> Cell:
    site.sale(is_on=True)
    site.run()
    whole = site.calendar.read_text()
    site.calendar.write_text(whole[: len(whole) // 2])
    ran, floor = site.run(), site.floor()
    site.calendar.write_text(whole)
    what = "the calendar file cut in the middle of a write"
    return _judged(what, site, ran, floor, wrong, expects=(2, "events.yaml"))


def _runner_gone(site: Served, wrong: list[str]) -> Cell:
    """Nobody runs anything any more; the floor has to stay where it was, and the first run after the end lets go."""
    time.sleep(5)
    floor = site.floor()
    if site.in_force() != FLOOR:
        wrong.append(f"without a runner the HPA shows {site.in_force()}, not {FLOOR}")
    site.sale(is_on=False)
    return _judged("no run any more, until the sale is over", site, None, floor, wrong, then=CHAT.baseline)


def _etcd_restarted(site: Served, wrong: list[str]) -> Cell:
    site.sale(is_on=True)
    site.run()
    lifecycle.stop("etcd", site.layout.directory)
    ran = site.run()
    start_again(site.layout, "etcd")
    floor = _within(lambda: _answered(site.floor))
    site.sale(is_on=False)
    expects = (3, "https://127.0.0.1:")
    return _judged("etcd restarted", site, ran, floor, wrong, expects=expects, then=CHAT.baseline)


def _metrics_gone(site: Served, wrong: list[str]) -> Cell:
    """12 replicas for 12 replicas' load, then nobody knows the load any more."""
    layout = site.layout
    busy = Served(layout, site.folder / "busy", "busy", (CHAT,), asks_for=FLOOR)
    busy.build()
    _within(lambda: busy.replicas() == FLOOR)
    lifecycle.stop("prometheus", layout.directory)
    until, fewest = time.monotonic() + BLIND_S, FLOOR
    while time.monotonic() < until:
        fewest = min(fewest, busy.replicas())
        time.sleep(1)
    ran, floor = busy.run(), fewest
    start_again(layout, "prometheus")
    what = f"Prometheus gone for {BLIND_S:.0f} s ({FLOOR} replicas; the number of them)"
    return _judged(what, busy, ran, floor, wrong, then=CHAT.baseline)


def _api_away(site: Served, wrong: list[str], *, away_s: float) -> Cell:
    site.sale(is_on=True)
    ran = site.run()
    lifecycle.stop("kube-apiserver", site.layout.directory)
    until = time.monotonic() + away_s
    while True:
        ran = site.run()
        if ran.exit_code != 3 or time.monotonic() > until:
            break
    start_again(site.layout, "kube-apiserver")
    floor = _within(lambda: _answered(site.floor))
    site.sale(is_on=False)
    what = f"the API server away for {away_s:.0f} s"
    expects = (3, "https://127.0.0.1:")
    return _judged(what, site, ran, floor, wrong, expects=expects, then=CHAT.baseline)


def _judged(
    outage: str,
    site: Served,
    ran: Ran | None,
    floor: int,
    wrong: list[str],
    *,
    expects: tuple[int, str] = (0, ""),
    then: int = FLOOR,
) -> Cell:
    """One run more, and all that is not as it has to be."""
    after = site.run()
    said = (ran.stderr.strip() or " ".join(ran.services[0]["findings"])) if ran else ""
    said = said.replace(f"{site.folder}/", "")  # where it was measured is nobody's matter
    if ran and (ran.exit_code != expects[0] or expects[1] not in said or "Traceback" in ran.stderr):
        wrong.append(f"{outage}: expected exit code {expects[0]} and {expects[1]!r}, got {ending(ran)}")
    if floor != FLOOR:
        wrong.append(f"{outage}: the floor was {floor} meanwhile, not {FLOOR}")
    if after.exit_code or site.floor() != then:
        wrong.append(f"{outage}: the next run left {site.floor()}, not {then}: {ending(after)}")
    return Cell(outage, ran.exit_code if ran else None, said, floor, after.exit_code, site.floor())


def _answered(ask: Callable[[], int]) -> int | None:
    try:
        return ask()
    except Exception:  # noqa: BLE001 - whatever a cluster that comes back says at first
        return None


def _within(what: Callable[[], Any]) -> Any:
    until = time.monotonic() + PATIENCE_S
    while not (found := what()):
        if time.monotonic() > until:
            raise AssertionError(f"not within {PATIENCE_S:.0f} s")
        time.sleep(0.2)
    return found
