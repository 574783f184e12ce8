"""OpenAI's request and answer shapes as bytes, and the little HTTP/1.1 they travel in."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 411: "Length Required",
            503: "Service Unavailable"}  # fmt: skip
_ERROR_TYPES = {400: "BadRequestError", 404: "NotFoundError", 503: "ServiceUnavailableError"}
_WORD = " tok"


@dataclass(frozen=True, slots=True)
class Head:
    """Request line and the headers that matter."""

    method: str
    path: str
    body_bytes: int
    is_chunked: bool
    keep_alive: bool


def parse_head(raw: bytes) -> Head:
    """Parse a request head, without its closing empty line.

    Raises:
        ValueError: not HTTP/1.x.
    """
    first, *lines = raw.decode("latin-1").split("\r\n")
    method, target, version = first.split(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError(f"got {version!r}, expected HTTP/1.1")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return Head(
        method=method,
        path=target.split("?", 1)[0],
        body_bytes=int(headers.get("content-length", "0")),
        is_chunked="chunked" in headers.get("transfer-encoding", "").lower(),
        keep_alive=version != "HTTP/1.0" and headers.get("connection", "").lower() != "close",
    )


def response(status: int, body: bytes, content_type: str = "application/json") -> bytes:
    """A whole answer with its length."""
    head = f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}\r\ncontent-type: {content_type}\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def error(status: int, message: str) -> bytes:
    """OpenAI's error object, as vLLM sends it."""
    kind = _ERROR_TYPES.get(status, "BadRequestError")
    inner = {"message": message, "type": kind, "param": None, "code": status}
    return response(status, json.dumps({"error": inner}).encode())


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)


def http_chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


@dataclass(slots=True)
class Answer:
    """Builds the bytes of one answer, streamed or whole. One token is one word, so a chunk's tokens can be counted."""

    request_id: str
    model: str
    created: int
    is_chat: bool
    prompt_tokens: int
    include_usage: bool
    continuous_usage: bool

    def usage(self, done: int) -> dict[str, int]:
        """OpenAI's token count after `done` output tokens."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "total_tokens": self.prompt_tokens + done,
            "completion_tokens": done,
        }

    def stream_chunk(self, tokens: int, done: int, *, finished: bool) -> bytes:
        """Server-sent event with `tokens` more tokens; the last one brings finish reason, usage and [DONE]."""
        text = _WORD * tokens
        choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": "length" if finished else None}
        if self.is_chat:
            choice["delta"] = {"content": text} if done > tokens else {"role": "assistant", "content": text}
        else:
            choice["text"] = text
        event = {**self._envelope(is_stream=True), "choices": [choice]}
        if self.continuous_usage:
            event["usage"] = self.usage(done)
        data = b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n"
        if not finished:
            return http_chunk(data)
        if self.include_usage:
            last = {**self._envelope(is_stream=True), "choices": [], "usage": self.usage(done)}
            data += b"data: " + json.dumps(last, separators=(",", ":")).encode() + b"\n\n"
        return http_chunk(data + b"data: [DONE]\n\n") + b"0\r\n\r\n"

    def whole(self, done: int) -> bytes:
        """The answer to a request that did not ask for a stream."""
        choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": "length"}
        if self.is_chat:
            choice["message"] = {"role": "assistant", "content": _WORD * done}
        else:
            choice["text"] = _WORD * done
        body = {**self._envelope(is_stream=False), "choices": [choice], "usage": self.usage(done)}
        return response(200, json.dumps(body).encode())

    def _envelope(self, *, is_stream: bool) -> dict[str, Any]:
        kind = "chat.completion.chunk" if self.is_chat and is_stream else "chat.completion"
        return {
            "id": self.request_id,
            "object": kind if self.is_chat else "text_completion",
            "created": self.created,
            "model": self.model,
        }
