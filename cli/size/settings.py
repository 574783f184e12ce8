"""Settings that follow from a plan: as a section, as a diff of platform.yaml, and written into it."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from capacity.sizing.plan import Plan
from capacity.sizing.settings import BASELINE, Flags, Setting, settings
from cli.size.section import Section
from infra.checks import misfits as engine_misfits
from infra.dialects.table import dialect_of, lacking
from stacks.faults import InputError
from stacks.fit import misfits
from stacks.folders import PLATFORM_FILE, shown
from stacks.requests import Requests
from stacks.spec import Platform, Service
from stacks.yaml_edit import Edit, NotEditable, changed
from stacks.yaml_text import dotted, parse


def derived(requests: Requests, plans: Sequence[Plan]) -> dict[str, tuple[Setting, ...]]:
    """Service -> its settings, from all the requests that were planned for it."""
    found = {}
    for name, service in requests.platform.services.items():
        asking = [plan for plan in plans if plan.workload.service == name]
        if asking:
            pool = requests.platform.node_pools[service.node_pool]
            found[name] = settings(asking, pool, _flags(service))
    return found


def _flags(service: Service) -> Flags:
    dialect = dialect_of(service.engine.kind)
    bounds = (dialect.in_flight_limit, dialect.queued_tokens_limit)
    younger = {flag: brought for flag in bounds if flag and (brought := lacking(service.engine, flag))}
    return Flags(*bounds, younger)


def baselines(found: Mapping[str, tuple[Setting, ...]]) -> dict[str, int]:
    """Service -> what it is to hold without any event, where that is derived."""
    return {name: int(one.value) for name, ours in found.items() for one in ours if one.place == BASELINE}


def settings_section(name: str, ours: Sequence[Setting]) -> Section:
    """Those of one service."""
    rows = tuple(
        (one.name, dotted(one.place) if one.place else "not in platform.yaml", one.now or "", str(one.value), one.why)
        for one in ours
    )
    return Section(f"Settings of {name}", ("setting", "field", "now", "derived", "why"), rows)


def settings_data(found: Mapping[str, tuple[Setting, ...]]) -> list[dict[str, Any]]:
    """Plain data; `place` is None where platform.yaml has no such field."""
    return [
        {
            "service": name,
            "name": one.name,
            "place": list(one.place) if one.place else None,
            "now": one.now,
            "value": float(one.value) if isinstance(one.value, Decimal) else one.value,
            "changes": one.changes,
            "why": one.why,
        }
        for name, ours in found.items()
        for one in ours
    ]


class NotWritten(Exception):  # noqa: N818 - it names the outcome
    """Why platform.yaml stays as it is."""


def patched(requests: Requests, found: Mapping[str, tuple[Setting, ...]]) -> str:
    """The text of platform.yaml with every setting that changes.

    Raises:
        NotWritten: a place in it cannot be changed by a program.
    """
    edits = [
        Edit(("services", name, *one.place), one.value, one.why)
        for name, ours in found.items()
        for one in ours
        if one.place and one.changes
    ]
    try:
        return changed(_text(requests), edits)
    except NotEditable as error:
        raise NotWritten(f"{error}; edit it by hand") from None


def diff(requests: Requests, text: str) -> str:
    """A unified diff from the file as it is to `text`; empty if they are the same."""
    name = shown(_path(requests)).lstrip("/")
    lines = difflib.unified_diff(
        _text(requests).splitlines(keepends=True), text.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    return "".join(lines)


def with_platform(requests: Requests, text: str) -> Requests:
    """The same requests, made to the platform that `text` describes.

    Raises:
        NotWritten: `text` breaks a rule of the platform.
    """
    try:
        document = parse(text, shown(_path(requests)))
        platform = Platform.model_validate(document.data)
    except (ValidationError, InputError) as error:
        raise NotWritten(str(error)) from None
    wrong = [*misfits(platform), *engine_misfits(platform)]
    if wrong:
        said = "; ".join(f"{dotted(one.path)}: got {one.got}, expected {one.expected}" for one in wrong)
        raise NotWritten(said)
    return replace(requests, platform=platform, platform_document=document)


def write(requests: Requests, text: str) -> str:
    """Put `text` in the place of platform.yaml, whole or not at all.

    Returns: the path as a person would type it.
    """
    path = _path(requests).resolve()
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(name).chmod(path.stat().st_mode & 0o777)
        Path(name).replace(path)
    except OSError as error:
        raise NotWritten(str(error.strerror).lower()) from None
    return shown(path)


def _path(requests: Requests) -> Path:
    return requests.folder / PLATFORM_FILE


def _text(requests: Requests) -> str:
    return _path(requests).read_bytes().decode("utf-8")
