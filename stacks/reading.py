"""One YAML file of a stack as its typed model: every fault at once, or as much of it as can be read beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ValidationError

from stacks.faults import Fault, InputError, Misfit
from stacks.field_types import Spec
from stacks.files import Unreadable, text_of
from stacks.folders import shown
from stacks.pruning import pruned
from stacks.wording import short, validation_fault
from stacks.yaml_text import Document, dotted, parse

S = TypeVar("S", bound=Spec)

MISSING_FIX = "Restore the file from version control."
EMPTY_FIXES = {"events.yaml": "`events: []` says that nothing is coming."}
"""What to write instead of nothing, where a file has a way to say "none"."""


@dataclass(frozen=True)
class Reading(Generic[S]):
    """One file, read: `model` if it is without fault, else `readable`, what is left without the faulty parts.

    `is_whole` says that only unknown fields were left out. `rows` are the former places in lists that are not whole.
    """

    path: Path
    document: Document
    faults: list[Fault]
    model: S | None = None
    readable: S | None = None
    is_whole: bool = True
    rows: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def read(path: Path, model: type[S], missing_fix: str = MISSING_FIX) -> Reading[S]:
    """The file as `model`, or as much of it as can be read beside its faults."""
    empty = Document(None, {})
    try:
        text = text_of(path)
    except Unreadable as error:
        return Reading(path, empty, [Fault(shown(path), 0, "", str(error), "a readable YAML file", missing_fix)])
    try:
        document = parse(text, shown(path))
    except InputError as error:
        return Reading(path, empty, list(error.faults))
    if not isinstance(document.data, dict):
        got = "an empty file" if document.data is None else f"a {type(document.data).__name__}"
        fix = EMPTY_FIXES.get(path.name, f"See docs/reference/{path.stem}.md.")
        return Reading(path, document, [Fault(shown(path), 1, "", got, f"a mapping with {_required(model)}", fix)])
    cut = _cut_short(path, text)
    try:
        whole = model.model_validate(document.data)
    except ValidationError as error:
        errors = error.errors()
        faults = [validation_fault(shown(path), document, item) for item in errors]
        unknown = [item["loc"] for item in errors if item["type"] == "extra_forbidden"]
        rest = pruned(document.data, [item["loc"] for item in errors if item["loc"] not in unknown], unknown)
        try:
            readable = model.model_validate(rest.data)
        except ValidationError:
            return Reading(path, document, cut + faults)
        return Reading(path, document, cut + faults, None, readable, rest.is_whole, rest.rows)
    return Reading(path, document, cut, whole, whole)


def _cut_short(path: Path, text: str) -> list[Fault]:
    # `rps: 2` may be what is left of `rps: 26.7`. A closed bracket or quote cannot be the beginning of something else.
    if text.endswith("\n") or text.rstrip()[-1:] in {"]", "}", '"', "'"}:
        return []
    line = text.count("\n") + 1
    fix = "Restore what is missing, or end the line if nothing is."
    return [Fault(shown(path), line, "", "a last line without an end", "a file that is not cut short", fix)]


def _required(model: type[Spec]) -> str:
    return ", ".join(name for name, field in model.model_fields.items() if field.is_required())


def faults_at(reading: Reading[S], wrong: Iterable[Misfit]) -> list[Fault]:
    """Misfits of what could be read, as faults of its file."""
    faults = []
    for item in wrong:
        place = item.path
        if rows := reading.rows.get(str(place[0])):
            place = (place[0], rows[int(place[1])], *place[2:])
        line = reading.document.line(place)
        faults.append(Fault(shown(reading.path), line, dotted(place), short(item.got), item.expected, item.fix))
    return faults
