"""What a webhook was last told of each stack, so that nobody is told twice: in a file, or in the cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx2
from lightkube.core.exceptions import ConfigError

from prescale.runs.whole_file import write
from stacks import ownership, runner
from stacks.files import Unreadable, text_of
from stacks.reach import OutOfReach

KEY = "state"
WITHIN_S = 10.0


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


class Place(Protocol):
    """What a memory in the cluster needs of `prescale.cluster.Cluster`."""

    namespace: str

    def http(self, timeout_s: float) -> httpx2.Client:
        """A client with the API server's address and credentials."""


@dataclass(frozen=True)
class ClusterMemory:
    """A ConfigMap beside the stack's ScaledObjects: every runner sees it, and a pod that ends takes nothing along.

    One call for each run, and one more when the state changes.
    """

    cluster: Place

    def recall(self, stack: str) -> str:
        """As `Memory` has it."""
        found = self._answer("GET", f"/{runner.findings_name(stack)}")
        data = {} if found is None else found.get("data") or {}
        state = data.get(KEY, "") if isinstance(data, dict) else ""
        return state if isinstance(state, str) else ""

    def remember(self, stack: str, state: str) -> None:
        """As `Memory` has it."""
        name, data = runner.findings_name(stack), {KEY: state}
        if self._answer("PATCH", f"/{name}", {"data": data}) is None:  # there is none yet
            metadata = {"name": name, "labels": {ownership.STACK_LABEL: stack}}
            self._answer("POST", "", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    def _answer(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """The object, or None where there is none."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        url = f"/api/v1/namespaces/{self.cluster.namespace}/configmaps{path}"
        params = {"fieldManager": ownership.FIELD_MANAGER} if body else None
        content = json.dumps(body) if body else None
        try:
            with self.cluster.http(WITHIN_S) as client:
                response = client.request(method, url, params=params, content=content, headers={"Content-Type": kind})
            if response.status_code == httpx2.codes.NOT_FOUND:
                return None
            found = response.json()
        except (OutOfReach, ConfigError, httpx2.HTTPError, OSError, ValueError) as error:
            raise Forgotten(f"ConfigMap {self._name(path)}: {str(error) or type(error).__name__}") from None
        if not response.is_success or not isinstance(found, dict):
            said = found.get("message") if isinstance(found, dict) else None
            raise Forgotten(f"ConfigMap {self._name(path)}: {said or f'it answered {response.status_code}'}")
        return found

    def _name(self, path: str) -> str:
        return f"{self.cluster.namespace}{path}"
