"""YAML -> spec. Every fault at once, each with file, line, path, got, expected and fix."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from stacks.events import Calendar, CalendarSpec, resolve
from stacks.faults import Fault, InputError
from stacks.fit import Misfit, misfits
from stacks.spec import Platform, Spec
from stacks.yaml_text import Document, dotted, parse
from stacks.yaml_text import Path as Place

PLATFORM_FILE = "platform.yaml"
EVENTS_FILE = "events.yaml"

S = TypeVar("S", bound=Spec)


@dataclass(frozen=True)
class Stack:
    """One environment: what to build, and what is coming. `lines` let later rules name the line they refuse."""

    name: str
    platform: Platform
    calendar: Calendar
    platform_document: Document
    calendar_document: Document
    folder: Path

    def fault(self, document: Document, place: Place, got: str, expected: str, fix: str) -> Fault:
        """A fault at `place` of one of the stack's two files, found by a rule outside of `stacks`."""
        name = PLATFORM_FILE if document is self.platform_document else EVENTS_FILE
        return Fault(shown(self.folder / name), document.line(place), dotted(place), got, expected, fix)


def stacks_root(start: Path | None = None) -> Path:
    """The folder that holds one folder per stack.

    `WARMLINE_STACKS_DIR` says it (a rehearsal plays a derived stack from there); else `stacks/` beside the
    nearest Pulumi.yaml from the working directory up; else `stacks/` of the working directory.
    """
    if said := os.environ.get("WARMLINE_STACKS_DIR"):
        return Path(said)
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "Pulumi.yaml").is_file():
            return folder / "stacks"
    return here / "stacks"


def load_platform(stack: str, root: Path | None = None) -> Platform:
    """Read `<root>/<stack>/platform.yaml`.

    Raises:
        InputError: with every fault of the file.
    """
    folder = _folder(stack, root)
    platform, _, faults = _platform(folder)
    if platform is None or faults:
        raise InputError(faults)
    return platform


def load_stack(stack: str, root: Path | None = None) -> Stack:
    """Read platform and calendar of one stack.

    Raises:
        InputError: with every fault of both files. A missing or empty calendar is one: `events: []` says "none".
    """
    folder = _folder(stack, root)
    platform, platform_document, faults = _platform(folder)
    calendar, calendar_document, calendar_faults = _calendar(folder, f"{stack}/{EVENTS_FILE}", platform)
    faults += calendar_faults
    if platform is None or calendar is None or faults:
        raise InputError(faults)
    return Stack(stack, platform, calendar, platform_document, calendar_document, folder)


def shown(path: Path) -> str:
    """`path` as a person in the working directory would type it."""
    try:
        return str(path.resolve().relative_to(Path.cwd().resolve()))
    except ValueError:
        return str(path)


def _folder(stack: str, root: Path | None) -> Path:
    base = root or stacks_root()
    folder = base / stack
    if not stack or Path(stack).name != stack or not folder.is_dir():
        known = sorted(path.parent.name for path in base.glob(f"*/{PLATFORM_FILE}"))
        expected = f"one of {', '.join(known)}" if known else f"a folder with a {PLATFORM_FILE}"
        fix = "Name it with -s/--stack or WARMLINE_STACK, from inside the repository."
        raise InputError([Fault(shown(base), 0, "", f"no stack {stack!r}", expected, fix)])
    return folder


def _platform(folder: Path) -> tuple[Platform | None, Document, list[Fault]]:
    path = folder / PLATFORM_FILE
    platform, document, faults = _read(path, Platform)
    if platform is not None:
        faults += _faults(path, document, misfits(platform))
        faults += _faults(path, document, _missing_evidence(folder, platform))
    return platform, document, faults


def _calendar(folder: Path, source: str, platform: Platform | None) -> tuple[Calendar | None, Document, list[Fault]]:
    path = folder / EVENTS_FILE
    spec, document, faults = _read(path, CalendarSpec)
    if spec is None:
        return None, document, faults
    calendar, wrong = resolve(spec, source)
    if platform is not None:
        wrong += _unknown_services(spec, platform)
    return calendar, document, faults + _faults(path, document, wrong)


def _missing_evidence(folder: Path, platform: Platform) -> Iterable[Misfit]:
    for name, service in platform.services.items():
        if not (folder / service.capacity.evidence).exists():
            fix = "Put the benchmark's files there, or name the folder they are in."
            place = ("services", name, "capacity", "evidence")
            yield Misfit(place, service.capacity.evidence, f"a file or folder in {shown(folder)}", fix)


def _unknown_services(spec: CalendarSpec, platform: Platform) -> list[Misfit]:
    wrong = []
    for index, event in enumerate(spec.events):
        for name, demand in event.services.items():
            place = ("events", index, "services", name)
            service = platform.services.get(name)
            if service is None:
                known = ", ".join(platform.services)
                wrong.append(Misfit(place, name, f"a service of {PLATFORM_FILE}: {known}", "Correct the name."))
            elif service.usual_load is None and (demand.multiplier is not None or demand.request_duration_s is None):
                got = "no usual_load" if demand.multiplier is not None else "no request_duration_s"
                fix = f"Set services.{name}.usual_load in {PLATFORM_FILE}, or give rps and request_duration_s here."
                wrong.append(Misfit(place, got, "a load the event can be reckoned from", fix))
    return wrong


def _read(path: Path, model: type[S]) -> tuple[S | None, Document, list[Fault]]:
    """The file as `model`, or None and the faults that kept it from being one."""
    empty = Document(None, {})
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        got = error.strerror if isinstance(error, OSError) else "bytes that are not UTF-8"
        fix = "Restore the file from version control."
        return None, empty, [Fault(shown(path), 0, "", str(got).lower(), "a readable YAML file", fix)]
    try:
        document = parse(text, shown(path))
    except InputError as error:
        return None, empty, list(error.faults)
    if not isinstance(document.data, dict):
        got = "an empty file" if document.data is None else f"a {type(document.data).__name__}"
        fix = "`events: []` says that nothing is coming." if path.name == EVENTS_FILE else "See docs/reference/spec.md."
        return None, document, [Fault(shown(path), 1, "", got, f"a mapping with {_required(model)}", fix)]
    try:
        return model.model_validate(document.data), document, []
    except ValidationError as error:
        return None, document, [_validation_fault(path, document, item) for item in error.errors()]


def _required(model: type[Spec]) -> str:
    return ", ".join(name for name, field in model.model_fields.items() if field.is_required())


def _faults(path: Path, document: Document, wrong: Iterable[Misfit]) -> list[Fault]:
    return [
        Fault(shown(path), document.line(item.path), dotted(item.path), item.got, item.expected, item.fix)
        for item in wrong
    ]


def _validation_fault(path: Path, document: Document, item: ErrorDetails) -> Fault:
    place = tuple(part for part in item["loc"] if part != "[key]")
    context: dict[str, Any] = item.get("ctx") or {}
    if "fix" in context:
        place += tuple(int(part) if part.isdigit() else part for part in context["path"])
        got, expected, fix = context["got"], context["expected"], context["fix"]
    else:
        got, expected, fix = _in_words(item)
    return Fault(shown(path), document.line(place), dotted(place), got, expected, fix)


def _in_words(item: ErrorDetails) -> tuple[str, str, str]:
    """Return pydantic's error as (got, expected, fix)."""
    kind, value = item["type"], item["input"]
    context: dict[str, Any] = item.get("ctx") or {}
    if kind == "missing":
        return "nothing", "a value", "Add the field."
    if kind == "extra_forbidden":
        return f"the unknown field {item['loc'][-1]}", "a field of the reference", "Remove it or correct its name."
    if kind == "string_type" and not isinstance(value, dict | list):
        return f"the {type(value).__name__.lower()} {value}", "text", f'Quote it: "{value}".'
    if kind == "string_pattern_mismatch":
        return repr(value), f"text that matches {context['pattern']}", "Correct the text."
    if kind == "literal_error":
        return repr(value), context["expected"], "Choose one of these."
    return (
        repr(value) if not isinstance(value, dict | list) else f"a {type(value).__name__}",
        item["msg"],
        "Correct it.",
    )
