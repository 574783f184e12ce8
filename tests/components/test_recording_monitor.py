"""The monitor sees what Pulumi's own mocks hide."""

from __future__ import annotations

import asyncio

import pulumi
import pytest
from pulumi import ResourceOptions
from pulumi_kubernetes.core.v1 import Namespace

from infra.recording_monitor import MASK, DuplicateUrn, normalised, record
from tests.components.recorded import registrations


class _Outer(pulumi.ComponentResource):
    def __init__(self, name: str) -> None:
        super().__init__("warmline:test:Outer", name)
        _Inner(f"{name}-inner", ResourceOptions(parent=self))
        self.register_outputs({})


class _Inner(pulumi.ComponentResource):
    def __init__(self, name: str, opts: ResourceOptions) -> None:
        super().__init__("warmline:test:Inner", name, None, opts)
        Namespace(f"{name}-namespace", opts=ResourceOptions(parent=self, protect=True, ignore_changes=["metadata"]))
        self.register_outputs({})


def test_urns_hold_the_types_of_all_ancestors() -> None:
    (namespace,) = [item for item in registrations(lambda: _make(_Outer, "a")) if item.custom]
    types = "warmline:test:Outer$warmline:test:Inner$kubernetes:core/v1:Namespace"
    assert namespace.urn == f"urn:pulumi:test::warmline::{types}::a-inner-namespace"
    assert namespace.options["protect"] is True
    assert namespace.options["ignoreChanges"] == ["metadata"]


def test_a_urn_twice_is_refused() -> None:
    def program() -> None:
        Namespace("a")
        Namespace("a")

    with pytest.raises(DuplicateUrn, match="Namespace::a"):
        registrations(program)


def test_a_failing_program_fails_the_record() -> None:
    def program() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        registrations(program)


def test_secrets_are_masked_and_whole_numbers_whole() -> None:
    secret = {
        "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
        "value": {"token": "hunter2", "list": ["hunter2"]},
    }
    assert normalised({"b": 2.0, "a": secret, "c": 0.5}) == {
        "a": {"list": [MASK], "token": MASK},
        "b": 2,
        "c": 0.5,
    }


def test_a_secret_input_never_shows() -> None:
    def program() -> None:
        Namespace("a", metadata={"labels": pulumi.Output.secret({"token": "hunter2"})})

    assert "hunter2" not in repr(registrations(program))


def test_outputs_are_those_of_this_run() -> None:
    first = record(lambda: pulumi.export("a", 1), project="warmline", stack="test")
    second = record(lambda: pulumi.export("b", 2), project="warmline", stack="test")
    assert (first.outputs, second.outputs) == ({"a": 1}, {"b": 2})


def _make(component: type[_Outer], name: str) -> None:
    component(name)


def test_a_render_works_after_somebody_used_and_closed_the_threads_event_loop() -> None:
    asyncio.run(asyncio.sleep(0))
    assert record(lambda: None, project="p", stack="s").registrations == {}
