"""Loopback networks that no other process' tests listen on: several test at once, and addresses are the machine's."""

from __future__ import annotations

import os

# Sandboxes draw theirs below 127.251 (sandbox/layout.py).
_FIRST = 251


def own_network(number: int = 0) -> str:
    """The first three bytes of a network of this process; `number`, 0 to 3, where one test needs several."""
    assert 0 <= number < 255 - _FIRST
    return f"127.{_FIRST + number}.{os.getpid() % 254 + 1}"
