"""How long an order holds, and who says it."""

from __future__ import annotations

import getpass
import os
import socket

from prescale.clock import duration_s
from prescale.orders.order import LONGEST_TEXT

SHORTEST_S = 60
# A month: what is needed for longer is an event of the calendar, or another baseline.
LONGEST_S = 31 * 86400
EXAMPLE = "hours and minutes, as 2h, 90m or 1h30m"


def lasting_s(said: str) -> int:
    """`2h`, `90m`, `1h30m` in seconds.

    Raises:
        ValueError: it is no such duration, or not within `SHORTEST_S` and `LONGEST_S`.
    """
    seconds = int(duration_s(said, EXAMPLE))
    if not SHORTEST_S <= seconds <= LONGEST_S:
        raise ValueError(f"{said} is not within 1m and {LONGEST_S // 3600}h")
    return seconds


def one_line(said: str) -> str:
    """A reason, without blanks around it.

    Raises:
        ValueError: it is empty, too long, or not one printable line.
    """
    reason = said.strip()
    if not reason:
        raise ValueError("it is empty")
    if len(reason) > LONGEST_TEXT:
        raise ValueError(f"it has {len(reason)} characters, at most {LONGEST_TEXT} are kept")
    if not reason.isprintable():
        raise ValueError("it is not one printable line")
    return reason


def author(kubeconfig_user: str | None) -> str:
    """Who is at work here: `alice@laptop, as prod-admin`. Names only, and as far as there are any."""
    try:
        person = getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name
        person = str(os.getuid())
    known = f"{person}@{socket.gethostname()}" + (f", as {kubeconfig_user}" if kubeconfig_user else "")
    return "".join(letter if letter.isprintable() else "?" for letter in known)[:LONGEST_TEXT]
