"""What a webhook was last told of each stack, so that nobody is told twice: in a file, or in the cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from prescale.objects import Conflict, Refused
from prescale.runs.whole_file import write
from stacks import ownership, runner
from stacks.files import Unreadable, text_of
from stacks.reach import OutOfReach

KEY = "state"


class Forgotten(Exception):  # noqa: N818 - it names the state
    """What was told cannot be read or written now; the text says why."""


class Memory(Protocol):
    """Both may raise `Forgotten`."""

    def recall(self, stack: str) -> str:
        """The state last told; empty if none was, or that all is well."""

    def remember(self, stack: str, state: str) -> None:
        """Keep what was told now."""


@dataclass(frozen=True)
class FileMemory:
    """A JSON object in a file: stack -> state. For a machine that stays."""

    path: Path

    def recall(self, stack: str) -> str:
        """As `Memory` has it."""
        state = self._states().get(stack, "")
        return state if isinstance(state, str) else ""

    def remember(self, stack: str, state: str) -> None:
        """As `Memory` has it."""
        states = {**self._states(), stack: state}
        try:
            write(self.path, json.dumps({name: told for name, told in states.items() if told}) + "\n", 0o600)
        except OSError as error:
            raise Forgotten(f"{self.path} was not written: {str(error.strerror or error).lower()}") from None

    def _states(self) -> Mapping[str, Any]:
        if not self.path.exists():
            return {}
        try:
            states = json.loads(text_of(self.path))
        except (Unreadable, ValueError) as error:
            raise Forgotten(f"{self.path} cannot be read: {error}") from None
        if not isinstance(states, dict):
            raise Forgotten(f"{self.path} is no JSON object")
        return states


class ConfigMaps(Protocol):
    """The calls that a memory in the cluster makes; `prescale.cluster.Cluster` has them."""

    def config_map(self, name: str) -> dict[str, Any] | None:
        """One ConfigMap; None if there is none."""

    def create_config_map(self, name: str, labels: dict[str, str], data: dict[str, str]) -> None:
        """Make one."""

    def patch_config_map(self, name: str, patch: dict[str, Any]) -> None:
        """Send a JSON merge patch."""


@dataclass(frozen=True)
class ClusterMemory:
    """A ConfigMap beside the stack's ScaledObjects: every runner sees it, and a pod that ends takes nothing along.

    One call for each run, and one more when the state changes.
    """

    cluster: ConfigMaps

    def recall(self, stack: str) -> str:
        """As `Memory` has it."""
        try:
            found = self.cluster.config_map(runner.findings_name(stack))
        except (OutOfReach, Refused) as error:
            raise Forgotten(str(error)) from None
        return str(((found or {}).get("data") or {}).get(KEY, ""))

    def remember(self, stack: str, state: str) -> None:
        """As `Memory` has it."""
        name = runner.findings_name(stack)
        try:
            try:
                self.cluster.patch_config_map(name, {"data": {KEY: state}})
            except Conflict:  # there is none yet
                self.cluster.create_config_map(name, {ownership.STACK_LABEL: stack}, {KEY: state})
        except (OutOfReach, Refused, Conflict) as error:
            raise Forgotten(str(error)) from None
