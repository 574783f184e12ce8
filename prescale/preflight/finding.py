"""What preflight says: what would go wrong and how it is mended, and what it could not look at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    """One thing that is not as it must be, as a check says it.

    `what` names the object or field. `service` is left empty by a check that looks at one service at a time.
    """

    what: str
    got: str
    expected: str
    fix: str
    service: str = ""


@dataclass(frozen=True)
class Unsure:
    """What a check could not look at, and what a person does about it."""

    because: str


@dataclass(frozen=True, order=True)
class Finding:
    """`service` is empty for what is the whole stack's."""

    check: str
    service: str
    what: str
    got: str
    expected: str
    fix: str


@dataclass(frozen=True, order=True)
class NotChecked:
    check: str
    service: str
    because: str


@dataclass(frozen=True)
class Report:
    """In the order of the checks."""

    findings: tuple[Finding, ...]
    not_checked: tuple[NotChecked, ...]
