"""What a webhook was last told of each stack, so that nobody is told twice: in the cluster, or in a file.

A run that found the cluster out of reach can ask nothing of it: what such runs tell is kept on their own machine, until
one that reaches the cluster has said how it is now.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from prescale.api.objects import Conflict, Refused
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
        return self.word(stack) or ""

    def remember(self, stack: str, state: str) -> None:
        """As `Memory` has it."""
        states = {**self._states(), stack: state}
        self._write({name: told for name, told in states.items() if told})

    def keep(self, stack: str, state: str) -> None:
        """The same; also that all is well is a word then."""
        self._write({**self._states(), stack: state})

    def word(self, stack: str) -> str | None:
        """The state last told; None if this file knows of none, not even that all is well."""
        state = self._states().get(stack)
        return state if isinstance(state, str) else None

    def forget(self, stack: str) -> None:
        """Know nothing of the stack any more."""
        states = self._states()
        if stack in states:
            self._write({name: told for name, told in states.items() if name != stack})

    def _write(self, states: Mapping[str, Any]) -> None:
        try:
            write(self.path, json.dumps(states) + "\n", 0o600)
        except OSError as error:
            raise Forgotten(f"{self.path} was not written: {str(error.strerror or error).lower()}") from None

    def _states(self) -> Mapping[str, Any]:
        try:
            if not self.path.exists():
                return {}
            states = json.loads(text_of(self.path))
        except (Unreadable, ValueError, OSError) as error:
            raise Forgotten(f"{self.path} cannot be read: {error}") from None
        if not isinstance(states, dict):
            raise Forgotten(f"{self.path} is no JSON object")
        return states


class ConfigMaps(Protocol):
    """The calls that a memory in the cluster makes; `prescale.api.cluster.Cluster` has them."""

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


def own_file() -> Path:
    """Where this machine keeps what the cluster cannot.

    Source: XDG Base Directory Specification 0.8 (XDG_STATE_HOME).

    Raises:
        Forgotten: whoever runs this has no home.
    """
    try:
        base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    except RuntimeError as error:
        raise Forgotten(str(error)) from None
    return base / "warmline" / "told.json"


@dataclass(frozen=True)
class SharedMemory:
    """The cluster's memory, `cluster` None where it is out of reach; and this machine's own for what it cannot keep.

    What was told from here alone counts until the cluster has the news after it.
    """

    cluster: ConfigMaps | None

    def recall(self, stack: str) -> str:
        """As `Memory` has it."""
        word = self._own_word(stack)
        if word is not None:
            return word
        if self.cluster is not None:
            try:
                return ClusterMemory(self.cluster).recall(stack)
            except Forgotten:
                pass
        return FileMemory(own_file()).recall(stack)

    def remember(self, stack: str, state: str) -> None:
        """As `Memory` has it."""
        if not self._is_in_the_cluster(stack, state):
            _keep(stack, state)
        elif self._own_word(stack) is not None:
            FileMemory(own_file()).forget(stack)

    def _is_in_the_cluster(self, stack: str, state: str) -> bool:
        if self.cluster is None:
            return False
        try:
            ClusterMemory(self.cluster).remember(stack, state)
        except Forgotten:
            return False
        return True

    def _own_word(self, stack: str) -> str | None:
        """What was told from here alone; None also where no such file can be."""
        try:
            return FileMemory(own_file()).word(stack)
        except Forgotten:
            return None


def _keep(stack: str, state: str) -> None:
    file = own_file()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Forgotten(f"{file.parent} was not made: {str(error.strerror or error).lower()}") from None
    FileMemory(file).keep(stack, state)
