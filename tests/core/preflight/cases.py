"""One thing that is wrong in an otherwise sound cluster, and the same thing mended: the form of preflight's tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from prescale.preflight.checks.table import CHECKS
from prescale.preflight.finding import Report
from tests.core.preflight.world import Bend, World, world


@dataclass(frozen=True)
class Case:
    """`broken` bends a sound cluster, `mended` bends it on from there. `by` is the check that has to say `says`."""

    what: str
    by: Callable[..., Any]
    says: str
    broken: Bend
    mended: Bend

    def __str__(self) -> str:
        return self.what


def holds(case: Case) -> None:
    """Said by that check and by no other, in words that tell it; and not said once it is mended."""
    bent = world()
    case.broken(bent)
    (topic,) = {check.name for check in CHECKS if check.judge is case.by}
    report = bent.report()
    assert report.findings, "not found"
    assert {found.check for found in report.findings} == {topic}, report
    assert report.not_checked == ()
    said = [f"{found.what}: got {found.got}, expected {found.expected}. {found.fix}" for found in report.findings]
    assert any(case.says in text for text in said), said
    assert all(found.fix.endswith(".") or found.fix.endswith("`.") for found in report.findings), said
    case.mended(bent)
    assert bent.report() == Report((), ())


def setting(of: Callable[[World], dict[str, Any]], **fields: Any) -> Bend:
    """A bend that sets fields of one part; None takes one away."""

    def bend(bent: World) -> None:
        part = of(bent)
        for name, value in fields.items():
            if value is None:
                part.pop(name, None)
            else:
                part[name] = value

    return bend


def annotated(**annotations: str | None) -> Bend:
    """A bend of the ScaledObject's annotations; `__` in a name is a slash, `_` a hyphen."""

    def bend(bent: World) -> None:
        there = bent.scaled_object["metadata"]["annotations"]
        for name, value in annotations.items():
            key = "autoscaling.keda.sh/" + name.replace("_", "-")
            if value is None:
                there.pop(key, None)
            else:
                there[key] = value

    return bend


def both(*bends: Bend) -> Bend:
    def bend(bent: World) -> None:
        for one in bends:
            one(bent)

    return bend
