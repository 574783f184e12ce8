"""An interruption that cannot be lost, and is not in the way of clearing away.

Python makes of a signal an exception between any two steps of the main thread. Where that is a finalizer, a callback of
a weak reference or an import's lock, the exception is reported as ignored and the program goes on: lightkube deletes
the file of a cluster's authority in a finalizer, and an import ends in such a callback. A library's bare `except` does
the same. So who asked is remembered, and the exception raised anew for as long as it is lost. It is lost when it is no
more: one that is on its way lives, in whatever clears away on that way.
Source: CPython's sys.unraisablehook and importlib._bootstrap._get_module_lock; lightkube.config.models.FileStr.
"""

from __future__ import annotations

import os
import signal
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_AGAIN_S = 0.1
_STILL = b"still stopping what was started; Ctrl-\\ leaves it running\n"


class Interrupted(SystemExit):
    """The end that a signal asked for: exit code 128 + its number, as shells have it."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


class _Interruption:
    """Of this process, as its signals are. `number`: the signal that asked, 0 as long as none did."""

    def __init__(self) -> None:
        self.number = 0
        self.deferrals = 0
        self._raised: Callable[[], Interrupted | None] = _nothing

    def asked(self, number: int, _: FrameType | None = None) -> None:
        """The handler of the signals that end; the first one counts."""
        if not self.number:
            signal.signal(signal.SIGALRM, self.again)
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S, _AGAIN_S)
            self.number = number
        self.again()
        with suppress(OSError):
            os.write(2, _STILL)  # not by sys.stderr: this may be in the middle of a write there

    def again(self, *_: object) -> None:
        """Raise what was asked for, unless it is on its way or has to wait."""
        if self.number and not self.deferrals and self._raised() is None:
            raise self._new()

    def forget(self) -> None:
        if self.number:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        self.number, self._raised = 0, _nothing

    def _new(self) -> Interrupted:
        # Made here: a variable beside the `raise` would keep it alive in a circle, by its traceback.
        interrupted = Interrupted(self.number)
        self._raised = weakref.ref(interrupted)
        return interrupted


def _nothing() -> None:
    return None


_OURS = _Interruption()


@contextmanager
def heeded() -> Iterator[None]:
    """SIGINT and SIGTERM end the block by an `Interrupted`, wherever they meet it, and once: the first counts.

    A second one does not cut short what clears away: CI sends SIGINT and, seconds later, SIGTERM. A signal that this
    process was started to ignore stays ignored. A write to nobody fails instead of ending the process: see `interrupt`.
    """
    report = sys.unraisablehook
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_IGN if number == signal.SIGPIPE else _OURS.asked)
    sys.unraisablehook = lambda lost: None if isinstance(lost.exc_value, Interrupted) else report(lost)
    try:
        yield
        if _OURS.number:  # lost in the very last step
            raise Interrupted(_OURS.number)
    finally:
        _OURS.forget()
        sys.unraisablehook = report
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def deferred() -> Iterator[None]:
    """What clears away: a signal that comes meanwhile ends what comes after."""
    _OURS.deferrals += 1
    try:
        yield
    finally:
        _OURS.deferrals -= 1
    _OURS.again()


def interrupt(number: int) -> None:
    """As the signal would that has that number."""
    _OURS.asked(number)
