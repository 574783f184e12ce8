"""Send a message to a webhook. Its address is a password: it is never printed, and goes nowhere else.

Source: Slack, "Sending messages using incoming webhooks" (`{"text": ...}`, answered by 200).
"""

from __future__ import annotations

import ipaddress
import threading
from urllib.parse import urlsplit

import httpx2

VARIABLE = "WARMLINE_WEBHOOK_URL"

TIMEOUT = httpx2.Timeout(5.0, connect=3.0)
# One that answers a byte at a time keeps every single timeout.
WITHIN_S = 8.0

_SILENT = "no answer in time"


class NotTold(Exception):  # noqa: N818 - it names the state
    """The message did not arrive. The text says why, without the address."""


class NoAnswer(NotTold):
    """All the time was spent on waiting; the next message would wait as long."""


def send(url: str, text: str) -> None:
    """Post `text`, within `WITHIN_S`, and follow no redirect.

    Raises:
        NotTold: it did not arrive, or the address is none to send a secret to. `NoAnswer` where it is silent.
    """
    if not _is_fit(url):
        raise NotTold("its address is neither https:// nor http:// to this machine")
    answers: list[str] = []
    # A thread that dies with the process: nothing waits for a webhook longer than that.
    sender = threading.Thread(target=lambda: answers.append(_post(url, text)), daemon=True)
    sender.start()
    sender.join(WITHIN_S)
    if not answers:
        raise NoAnswer(f"no answer within {WITHIN_S:g} s")
    if answers[0]:
        raise NoAnswer(answers[0]) if answers[0] == _SILENT else NotTold(answers[0])


def _is_fit(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.scheme == "https":
        return bool(host)
    return parts.scheme == "http" and _is_loopback(host)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _post(url: str, text: str) -> str:
    """What went wrong, in words that do not repeat the address; empty if nothing did."""
    try:
        with (
            httpx2.Client(timeout=TIMEOUT, follow_redirects=False) as client,
            client.stream("POST", url, json={"text": text}) as response,
        ):
            code = response.status_code
    except httpx2.TimeoutException:
        return _SILENT
    # The library's own words may have the address in them.
    except Exception as error:  # noqa: BLE001
        return f"it cannot be reached ({type(error).__name__})"
    if 300 <= code < 400:
        return f"it answered {code}, a redirect, which is not followed"
    return "" if 200 <= code < 300 else f"it answered {code}"
