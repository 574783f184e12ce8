"""The engine's ears without the engine: records every registration whole, options and URN included.

`MockMonitor` is half internal to Pulumi; this is the only file that knows it. Its own recording drops the options,
takes a URN twice without a word, and shortens the URNs of nested components.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pulumi.runtime import mocks
from pulumi.runtime.settings import SETTINGS, get_project, get_root_resource, get_stack, set_root_resource
from pulumi.runtime.stack import Stack, run_pulumi_func
from pulumi.runtime.sync_await import _sync_await

STACK_TYPE = "pulumi:pulumi:Stack"
_SECRET_SIGNATURE = ("4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270")
MASK = "[secret]"


class DuplicateUrn(Exception):  # noqa: N818 - it names the state
    """Two resources have one URN; the engine would refuse the second."""


@dataclass(frozen=True)
class Registration:
    """One resource as the program registered it. Paths in `ignore_changes` are as written."""

    urn: str
    type: str
    name: str
    custom: bool
    inputs: dict[str, Any]
    options: dict[str, Any]


@dataclass
class Recording:
    """Everything one run of a program registered, by URN, and what it exported."""

    registrations: dict[str, Registration] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)


class _Echo(mocks.Mocks):
    """Every resource comes to be as its inputs say."""

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        return f"{args.name}-id", args.inputs

    def call(self, args: mocks.MockCallArgs) -> Any:
        raise NotImplementedError(f"{args.token}: a render asks no provider")


class RecordingMonitor(mocks.MockMonitor):
    """A monitor that keeps what it hears."""

    def __init__(self) -> None:
        super().__init__(_Echo())
        self.recording = Recording()
        self.duplicates: list[str] = []

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """As the engine makes it: with the types of all ancestors, not of the parent alone."""
        ancestors = parent.split("::")[2] if parent else STACK_TYPE
        whole = type_ if ancestors == STACK_TYPE else f"{ancestors}${type_}"
        return f"urn:pulumi:{get_stack()}::{get_project()}::{whole}::{name}"

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - Pulumi's name
        response = super().RegisterResource(request)  # type: ignore[no-untyped-call]
        if request.type == STACK_TYPE:
            return response
        if response.urn in self.recording.registrations:
            # Raised once the program has ended: here it would leave a future nobody reads for each output.
            self.duplicates.append(response.urn)
        inputs = normalised(self.resources[response.urn].state)
        self.recording.registrations[response.urn] = Registration(
            response.urn, request.type, request.name, bool(request.custom), inputs, _options(request)
        )
        return response


def record(program: Callable[[], None], *, project: str, stack: str) -> Recording:
    """Run `program` as the engine would, and return what it registered.

    Raises:
        DuplicateUrn: two resources have one URN.
    """
    monitor = RecordingMonitor()
    with _event_loop():
        # The root resource outlives a run, and with it the exports of the run before.
        set_root_resource(None)  # type: ignore[arg-type]
        mocks.set_mocks(_Echo(), project=project, stack=stack, preview=False, monitor=monitor)
        SETTINGS.rpc_manager.clear()
        SETTINGS.outputs.clear()
        _sync_await(run_pulumi_func(program))
    if monitor.duplicates:
        raise DuplicateUrn(", ".join(monitor.duplicates))
    root = get_root_resource()
    monitor.recording.outputs = normalised(dict(root.outputs)) if isinstance(root, Stack) else {}
    return monitor.recording


@contextmanager
def _event_loop() -> Iterator[None]:
    """A loop for the SDK, which takes the thread's and finds none where `asyncio.run` was used before."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def normalised(value: Any) -> Any:
    """Plain data as the program wrote it: whole floats are integers again, secrets are masked."""
    if isinstance(value, dict):
        if value.get(_SECRET_SIGNATURE[0]) == _SECRET_SIGNATURE[1]:
            return masked(value.get("value"))
        return {key: normalised(item) for key, item in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [normalised(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def masked(value: Any) -> Any:
    """The shape of a secret without its leaves: one secret in a spec wraps all of it."""
    if isinstance(value, dict):
        return {key: masked(item) for key, item in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [masked(item) for item in value]
    return MASK


def _options(request: Any) -> dict[str, Any]:
    """The options that change what the engine does, without those left at their defaults."""
    timeouts = {way: getattr(request.customTimeouts, way) for way in ("create", "update", "delete")}
    options = {
        "parent": request.parent,
        "provider": request.provider.rpartition("::")[0],
        "providers": dict(request.providers),
        "dependsOn": sorted(request.dependencies),
        "ignoreChanges": list(request.ignoreChanges),
        "replaceOnChanges": list(request.replaceOnChanges),
        "protect": request.protect,
        "retainOnDelete": request.retainOnDelete,
        "deleteBeforeReplace": request.deleteBeforeReplace,
        "deletedWith": request.deletedWith,
        "import": request.importId,
        "aliases": [alias for alias in map(_alias, request.aliases) if set(alias) != {"type"}],
        "customTimeouts": {way: text for way, text in timeouts.items() if text},
    }
    return {name: value for name, value in options.items() if value}


def _alias(alias: Any) -> dict[str, str]:
    """An alias by what it names. One by type alone is the SDK's own, for the API groups a kind once had."""
    if alias.urn:
        return {"urn": alias.urn}
    fields = {"name": alias.spec.name, "type": alias.spec.type, "parent": alias.spec.parentUrn}
    return {name: value for name, value in fields.items() if value}
