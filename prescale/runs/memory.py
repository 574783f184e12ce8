"""What a webhook was last told of each stack, so that nobody is told twice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from prescale.runs.whole_file import write
from stacks.files import Unreadable, text_of


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
