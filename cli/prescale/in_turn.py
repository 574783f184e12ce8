"""Several stacks in one run: each in its turn, and none kept from it by what is wrong with another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import click

from cli.exits import BAD_INPUT, DONE, FINDING, OUT_OF_REACH
from stacks.faults import InputError
from stacks.reach import OutOfReach

T = TypeVar("T")

# The worst first. What kept a stack from its run counts more than what a run found, and what only a person can mend
# more than what may be back with the next run.
WORST_FIRST = (BAD_INPUT, OUT_OF_REACH, FINDING, DONE)


@dataclass(frozen=True)
class Ran(Generic[T]):
    """One stack's run: its result, or the error that kept it from having one.

    `ended_s` is when it ended, in seconds of Unix time.
    """

    stack: str
    result: T | None
    error: InputError | OutOfReach | None
    duration_s: float
    ended_s: float

    @property
    def failed(self) -> int:
        """The exit code of its error; DONE without one, whatever the result says."""
        if self.error is None:
            return DONE
        return BAD_INPUT if isinstance(self.error, InputError) else OUT_OF_REACH

    @property
    def said(self) -> list[str]:
        """The error in lines, for a person."""
        if isinstance(self.error, InputError):
            return [str(fault) for fault in self.error.faults]
        return [str(self.error)] if self.error else []


def in_turn(stacks: Sequence[str], run: Callable[[str], T]) -> Iterator[Ran[T]]:
    """Run each stack once, in the order named. Its error goes to stderr, and says which stack's it is."""
    names = tuple(dict.fromkeys(stacks))
    for stack in names:
        result, error, began_s = None, None, time.monotonic()
        try:
            result = run(stack)
        except (InputError, OutOfReach) as kept_from_it:
            error = kept_from_it
        ran = Ran(stack, result, error, time.monotonic() - began_s, time.time())
        # A fault begins with its file, where an editor looks for it, and the file's folder is the stack.
        named = len(names) > 1 and ran.failed == OUT_OF_REACH
        for line in ran.said:
            click.echo(f"{stack}: {line}" if named else line, err=True)
        yield ran


def worst(codes: Iterable[int]) -> int:
    """The exit code of them all."""
    return min(codes, key=WORST_FIRST.index, default=DONE)


def heading(stack: str, stacks: Sequence[str]) -> list[str]:
    """The line above one of several stacks' lines; none above the only one's."""
    return [f"Stack {stack}"] if len(set(stacks)) > 1 else []


def emit_runs(stacks: Sequence[str], runs: Sequence[Ran[T]], data: Callable[[T], Any], output: str) -> None:
    """Print the runs as data: one stack's as it is, nothing if it failed; several below `runs`, with their errors."""
    from cli.output import emit

    if len(set(stacks)) > 1:
        emit({"runs": [_entry(ran, data) for ran in runs]}, output)
    else:
        for ran in runs:
            if ran.result is not None:
                emit(data(ran.result), output)


def _entry(ran: Ran[T], data: Callable[[T], Any]) -> Any:
    return {"stack": ran.stack, "errors": ran.said} if ran.result is None else data(ran.result)
