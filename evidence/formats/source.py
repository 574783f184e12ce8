"""What a reader is given, and the rows of the table of formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from capacity.sweeps.sweep import Origin, Point


class NoEvidence(Exception):  # noqa: N818 - it names the state
    """Why a file gave no point, without the file."""


class Skipped(Exception):  # noqa: N818 - it names the state
    """Why a file need not give one."""


Recogniser = Callable[[dict[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class Source:
    """One result and what surrounds it: `document` is all of the file's, `beside` finds another of its folder."""

    origin: Origin
    document: dict[str, Any]
    beside: Callable[[Recogniser], dict[str, Any] | None]


def _whole(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "", document


@dataclass(frozen=True, slots=True)
class Format:
    """One tool's results.

    `results` are the parts of a document that are a point each, with their places; `point` reads one of them, and
    raises `fields.Unusable` where it is none, `Skipped` where it need not be one. `sweep_folder` maps the folder of a
    result to that of its sweep; `one_run_a_folder` says that a sweep is folders beside each other.
    `is_secondhand` is a conversion of another tool's results, which count instead where they are there too.
    """

    name: str
    recognises: Recogniser
    point: Callable[[dict[str, Any], Source], Point]
    results: Callable[[dict[str, Any]], Iterator[tuple[str, dict[str, Any]]]] = _whole
    sweep_folder: Callable[[str], str] = str
    one_run_a_folder: bool = False
    is_secondhand: bool = False


@dataclass(frozen=True, slots=True)
class Byproduct:
    """What a tool writes beside its results, and why it holds no point of its own."""

    name: str
    recognises: Recogniser
    why: str
