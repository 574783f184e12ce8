"""What a reader is given, and the rows of the table of formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from capacity.sweep import Origin, Point

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
    raises `evidence.fields.Unusable` where it is none. `sweep_folder` maps the folder of a result to that of its sweep.
    """

    name: str
    recognises: Recogniser
    point: Callable[[dict[str, Any], Source], Point]
    results: Callable[[dict[str, Any]], Iterator[tuple[str, dict[str, Any]]]] = _whole
    sweep_folder: Callable[[str], str] = str


@dataclass(frozen=True, slots=True)
class Byproduct:
    """What a tool writes beside its results, and why it holds no point of its own."""

    name: str
    recognises: Recogniser
    why: str
