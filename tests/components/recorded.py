"""Recordings as goldens: YAML files, one for each component and variant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from infra.recording_monitor import Registration, record


class YamlExtension(SingleFileSnapshotExtension):
    """One YAML file for each golden, so that a change reads like a change of a manifest."""

    _write_mode = WriteMode.TEXT
    file_extension = "yaml"

    def serialize(self, data: Any, **_: Any) -> str:
        text: str = yaml.safe_dump(data, sort_keys=False, width=10_000)
        return text


def registrations(program: Callable[[], None]) -> list[Registration]:
    """What `program` registers in stack `test`, sorted by URN."""
    recording = record(program, project="warmline", stack="test")
    return [item for _, item in sorted(recording.registrations.items())]


def plain(items: list[Registration]) -> list[dict[str, Any]]:
    """Registrations as a golden shows them."""
    return [{key: value for key, value in asdict(item).items() if key != "name"} for item in items]


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(YamlExtension)
