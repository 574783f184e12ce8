"""One streaming completion over a raw socket, read as cheaply as possible: hundreds are open on part of one core."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import cast

_USAGE = re.compile(rb'"completion_tokens":\s*(\d+)')
_TEXT = b'"text":"'
_TAIL_BYTES = 2048
_MAX_HEAD_BYTES = 65_536


class StreamClient(asyncio.Protocol):
    """Sends one request when connected and notes when its tokens come.

    Tokens are not counted while they stream: the server says in its last event how many there were. Only when a stream
    is cut is the number seen unknown (then `tokens` is 1 if any came).
    """

    def __init__(self, request: bytes, now_s: Callable[[], float]) -> None:
        """`now_s` is the run's clock."""
        self._request = request
        self._now_s = now_s
        self._tail = b""
        self._head_done = False
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport | None = None
        self.sent_s: float | None = None
        self.first_s: float | None = None
        self.last_s: float | None = None
        self.status = 0
        self.is_complete = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send at once."""
        self.transport = cast("asyncio.Transport", transport)
        self.sent_s = self._now_s()
        self.transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Note the time, keep the tail."""
        if not self._head_done:
            data = self._read_head(data)
            if not self._head_done:
                return
        if _TEXT in data:
            self.last_s = self._now_s()
            if self.first_s is None:
                self.first_s = self.last_s
        self._tail = (self._tail + data)[-_TAIL_BYTES:]
        if b"data: [DONE]" in self._tail:
            self.is_complete = True
            self._close()

    def connection_lost(self, exc: Exception | None) -> None:
        """The end, good or bad."""
        if not self.closed.done():
            self.closed.set_result(None)

    @property
    def tokens(self) -> int:
        """Output tokens as the server counted them."""
        found = _USAGE.findall(self._tail)
        return int(found[-1]) if found else int(self.first_s is not None)

    def _read_head(self, data: bytes) -> bytes:
        self._tail += data
        head, end, rest = self._tail.partition(b"\r\n\r\n")
        if not end:
            if len(self._tail) > _MAX_HEAD_BYTES:
                self._close()
            return b""
        self._head_done = True
        self._tail = b""
        words = head.split(b" ", 2)
        self.status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
        return rest

    def _close(self) -> None:
        if self.transport is not None:
            self.transport.close()


def completion_request(url_host: str, path: str, model: str, prompt_tokens: int, output_tokens: int) -> bytes:
    """The bytes of a streaming completion; the prompt is four characters for each token, as the double counts them."""
    body = json.dumps(
        {
            "model": model,
            "prompt": "abc " * prompt_tokens,
            "max_tokens": output_tokens,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: {url_host}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
