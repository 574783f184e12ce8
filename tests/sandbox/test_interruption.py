"""A play that is ended ends, wherever the signal meets it, and clears away in peace."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.places import REPOSITORY

SIGNALS = (signal.SIGINT, signal.SIGTERM)

PLAY = """
import signal, sys, time, weakref
from sandbox.interruption import deferred, heeded, interrupt

def ask(number={number}):
    signal.raise_signal(number)
    for _ in range(100):  # the handler runs between two steps of these
        pass

class Watched:
    pass

class Asks(Watched):
    def __del__(self):
        ask()

with heeded():
    try:
        {what}
        time.sleep(20)
        print("played to the end")
    finally:
        time.sleep(0.3)  # longer than it takes to ask again
        print("cleared away")
"""

# Where a signal meets Python.
PLACES = {
    "the open": "ask()",
    "a finalizer": "Asks()",
    "the callback of a weak reference": "watched = Watched(); r = weakref.ref(watched, lambda _: ask()); del watched",
    "a library that drops what it does not know": "exec('try: ask()\\nexcept: pass')",
    "a finalizer, while clearing away": "exec('with deferred(): Asks()')",
}


def ended(program: str) -> subprocess.CompletedProcess[str]:
    # Whoever runs this in the background has SIGINT ignored, which would be inherited.
    at_first = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    argv = [sys.executable, "-c", at_first + program]
    return subprocess.run(argv, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("where", PLACES)
def test_a_signal_ends_the_play_wherever_it_meets_it(number: signal.Signals, where: str) -> None:
    ran = ended(PLAY.format(number=number, what=PLACES[where]))
    assert (ran.returncode, ran.stdout) == (128 + number, "cleared away\n")
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_lost_in_the_last_step_still_counts(number: signal.Signals) -> None:
    ran = ended(f"from sandbox.interruption import heeded\n{_asking(number)}\nwith heeded(): Asks()\nprint('went on')")
    assert (ran.returncode, ran.stdout, ran.stderr) == (128 + number, "", "")


@pytest.mark.parametrize(("first", "second"), [SIGNALS, SIGNALS[::-1], SIGNALS[:1] * 2])
def test_a_second_signal_does_not_cut_the_clearing_away_short(first: signal.Signals, second: signal.Signals) -> None:
    again = PLAY.replace("time.sleep(0.3)", "ask({second}); time.sleep(0.3); ask({second})")
    ran = ended(again.format(number=first, second=second, what="ask()"))
    assert (ran.returncode, ran.stdout) == (128 + first, "cleared away\n")
    assert ran.stderr == "still stopping what was started; Ctrl-\\ leaves it running\n" * 2


@pytest.mark.parametrize("number", SIGNALS)
def test_what_clears_away_at_the_usual_end_is_done_before_a_signal_counts(number: signal.Signals) -> None:
    what = "exec('with deferred(): ask(); time.sleep(0.3); print(\"stopped all\")')"
    ran = ended(PLAY.format(number=number, what=what))
    assert (ran.returncode, ran.stdout) == (128 + number, "stopped all\ncleared away\n")


def test_nobody_reading_on_ends_it_as_a_signal_does_and_later_than_what_clears_away() -> None:
    what = "exec('with deferred(): interrupt(signal.SIGPIPE); print(\"stopped all\")')"
    ran = ended(PLAY.format(number=0, what=what))
    assert (ran.returncode, ran.stdout) == (128 + signal.SIGPIPE, "stopped all\ncleared away\n")


def test_what_was_started_to_ignore_a_signal_ignores_it() -> None:
    ignoring = "signal.signal(signal.SIGINT, signal.SIG_IGN); from sandbox.interruption import heeded\n"
    ran = ended(f"import signal; {ignoring}with heeded(): signal.raise_signal(signal.SIGINT)\nprint('went on')")
    assert (ran.returncode, ran.stdout) == (0, "went on\n")


def test_afterwards_signals_are_what_they_were() -> None:
    compared = "[signal.getsignal(n) for n in (2, 15, 13, 14)] + [signal.getitimer(signal.ITIMER_REAL)]"
    program = f"""
import signal
from sandbox.interruption import heeded
before = {compared}
try:
    with heeded():
        signal.raise_signal(15)
except SystemExit as end:
    print(end.code, {compared} == before)
"""
    assert ended(program).stdout == "143 True\n"


def test_a_signal_counts_at_every_step_of_making_a_clients_connection(tmp_path: Path) -> None:
    """lightkube writes the authority to a file and deletes that in a finalizer: a signal was lost there."""
    program = f"""
import signal, sys
from pathlib import Path
from sandbox.control_plane import certificates
from sandbox.control_plane.kubeconfigs import client, write_all
from sandbox.interruption import Interrupted, heeded
from sandbox.layout import Layout, new_settings
layout = Layout(Path({str(tmp_path)!r}))
certificates.make(layout.keyring.directory)
write_all(layout, new_settings(0, 1))

def calls(handle):
    def look(frame, event, _):
        if event == "call":
            handle((frame.f_code.co_filename, frame.f_code.co_firstlineno))
    sys.setprofile(look)
    try:
        client(layout.kubeconfig)
    finally:
        sys.setprofile(None)

met = {{}}
client(layout.kubeconfig)  # imports what it needs
calls(lambda place: met.setdefault(place))
went_on = []
for place in met:
    def ask(here):
        if here == place:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGTERM)
    try:
        with heeded():
            calls(ask)
            went_on.append(place)
    except Interrupted:
        pass
    else:
        print("lost at", place)
print(len(met) > 100, any("models.py" in file for file, _ in went_on))
"""
    ran = ended(program)
    assert (ran.stdout, ran.stderr) == ("True True\n", "")


def _asking(number: int) -> str:
    return f"import signal\nclass Asks:\n    def __del__(self):\n        signal.raise_signal({number})"
