"""Faults in what a person wrote: collected, never raised one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Fault:
    """One thing wrong in one file.

    `path` is the dotted place inside the file (`services.support-bot.replicas.max`), empty for the file as a
    whole; `line` counts from 1 and is 0 where no line is known.
    """

    file: str
    line: int
    path: str
    got: str
    expected: str
    fix: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        place = f" {self.path}:" if self.path else ""
        return f"{where}:{place} got {self.got}, expected {self.expected}. {self.fix}"


class InputError(Exception):
    """Bad input: every fault found, in file order. A command that meets it exits 2 and has changed nothing."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(sorted(set(faults)))
        super().__init__("\n".join(str(fault) for fault in self.faults))


@dataclass(frozen=True)
class Misfit:
    """A fault without its file: `path` as in `stacks.yaml_text.Path`."""

    path: tuple[str | int, ...]
    got: str
    expected: str
    fix: str
