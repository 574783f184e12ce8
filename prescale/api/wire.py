"""The HTTP under the Kubernetes client: counts calls, notes the server's clock, tries again what may be tried again."""

from __future__ import annotations

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

import httpx2
from whenever import Instant

# Reads change nothing and patches carry a resourceVersion, so every request of ours may be sent twice.
TRIES = 3
PAUSE_S = 0.5
FAR_S = 10 * 365 * 86400.0
BUSY = {429, 500, 502, 503, 504}


class Wire(httpx2.BaseTransport):
    """Passes requests on to `inner`.

    `calls` counts every request sent. `server_ahead_s` is the server's Date header less this machine's time when the
    last answer came, in seconds; None before the first answer that has one.
    """

    def __init__(self, inner: httpx2.BaseTransport, sleep: Callable[[float], None] = time.sleep) -> None:
        self.inner = inner
        self.calls = 0
        self.server_ahead_s: float | None = None
        self._sleep = sleep

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it, at most `TRIES` times, with a pause that doubles."""
        for attempt in range(1, TRIES + 1):
            self.calls += 1
            try:
                response = self.inner.handle_request(request)
            except httpx2.TransportError:
                if attempt == TRIES:
                    raise
            else:
                self._note_date(response.headers.get("Date"))
                if response.status_code not in BUSY or attempt == TRIES:
                    return response
                response.close()
            self._sleep(PAUSE_S * 2 ** (attempt - 1))
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Close what is underneath."""
        self.inner.close()

    def _note_date(self, header: str | None) -> None:
        try:
            sent = parsedate_to_datetime(header or "")
        except ValueError:
            return
        # Bounded: what comes of it must still be a time.
        self.server_ahead_s = max(-FAR_S, min(FAR_S, sent.timestamp() - Instant.now().timestamp()))
