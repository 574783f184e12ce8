"""What preflight prints: plain data for programs, lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from whenever import Instant

from cli.prescale.text import both, utc
from prescale.preflight.checks.table import CHECKS
from prescale.preflight.finding import Report
from prescale.preflight.moments import Moment
from prescale.preflight.scene import Scene


@dataclass(frozen=True)
class Flight:
    """One stack's: the moments that were asked about, each as a scene, and what was said of them all."""

    stack: str
    at: Instant
    zone: str
    moments: tuple[Moment, ...]
    scenes: tuple[Scene, ...]
    report: Report

    def asked(self) -> Iterator[tuple[Moment, tuple[str, ...], dict[str, int]]]:
        """Each moment with the orders in force then, and the floors of the services that are there."""
        for moment, scene in zip(self.moments, self.scenes, strict=True):
            orders = tuple(order.name for order in scene.ordered)
            yield moment, orders, {target.name: target.floor for target in scene.targets}


def data(flight: Flight) -> dict[str, Any]:
    """Instants in UTC; a finding's `service` is empty where it is the whole stack's."""
    return {
        "stack": flight.stack,
        "at": utc(flight.at),
        "moments": [
            {"at": utc(moment.at), "events": list(moment.events), "orders": list(orders), "floors": floors}
            for moment, orders, floors in flight.asked()
        ],
        "checks": _names(),
        "findings": [asdict(one) for one in flight.report.findings],
        "not_checked": [asdict(one) for one in flight.report.not_checked],
    }


def lines(flight: Flight) -> Iterator[str]:
    """What needs a person starts with `!`, what could not be looked at with `?`."""
    for moment, orders, floors in flight.asked():
        said = ", ".join(f"{name} {floor}" for name, floor in floors.items()) or "no service is there"
        asking = ", ".join([*moment.events, *orders]) or "the baselines"
        yield f"{asking}, from {both(moment.at, flight.zone)} on: {said}"
    for found in flight.report.findings:
        whose = f"{found.check}, {found.service}" if found.service else found.check
        yield f"! {whose}: {found.what}: got {found.got}, expected {found.expected}. {found.fix}"
    for missing in flight.report.not_checked:
        whose = f"{missing.check}, {missing.service}" if missing.service else missing.check
        yield f"? {whose}: not checked, because {missing.because}"
    counted = f"{len(flight.report.findings)} found, {len(flight.report.not_checked)} not checked"
    yield f"{counted}, of: {', '.join(_names())}"


def _names() -> list[str]:
    return list(dict.fromkeys(check.name for check in CHECKS))
