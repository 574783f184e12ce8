"""One engine at work: the batch driven by the event loop's clock, admission, metrics, drain."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

from sandbox.engine.arguments import EngineArguments
from sandbox.engine.batch import Batch, Emission, Sequence
from sandbox.engine.metrics import EngineMetrics
from sandbox.engine.timing import EngineTiming, prompt_tokens_of
from sandbox.engine.wire import STREAM_HEAD, Answer, error


class RequestRefusedError(Exception):
    """A request that is answered with an error at once."""

    def __init__(self, status: int, message: str) -> None:
        """Keep the HTTP status beside the message."""
        super().__init__(message)
        self.status = status


class Generation:
    """One admitted request and where its bytes go."""

    __slots__ = ("answer", "done", "is_stream", "on_end", "sequence", "write")

    def __init__(self, sequence: Sequence, answer: Answer, *, is_stream: bool) -> None:
        """`write` and `on_end` are set by the connection before the first token can come due."""
        self.sequence = sequence
        self.answer = answer
        self.is_stream = is_stream
        self.done = 0
        self.write: Callable[[bytes], None] = lambda _: None
        self.on_end: Callable[[], None] = lambda: None

    def deliver(self, emission: Emission) -> None:
        """Send what the client may see of this emission."""
        self.done += emission.tokens
        if self.is_stream:
            head = STREAM_HEAD if self.done == emission.tokens else b""
            self.write(head + self.answer.stream_chunk(emission.tokens, self.done, finished=emission.finished))
        elif emission.finished:
            self.write(self.answer.whole(self.done))
        if emission.finished:
            self.on_end()


class EngineService:
    """Admits requests, wakes when the batch has something due, and counts."""

    def __init__(self, arguments: EngineArguments, timing: EngineTiming) -> None:
        """Needs a running event loop."""
        self.arguments = arguments
        self.timing = timing
        self.metrics = EngineMetrics(arguments.histogram_bounds)
        self.is_draining = False
        self.on_idle: Callable[[], None] = lambda: None
        self._batch = Batch(timing, arguments.max_num_seqs)
        self._loop = asyncio.get_running_loop()
        self._generations: dict[Sequence, Generation] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._started = f"{time.time_ns():x}"
        self._requests = 0

    @property
    def in_flight(self) -> int:
        """Requests running or waiting."""
        return len(self._generations)

    def admit(self, body: bytes, *, is_chat: bool) -> Generation:
        """Take a request into the batch; call `begin` once its `write` is set.

        Raises:
            RequestRefusedError: 400, 404 or 503 as vLLM would answer.
        """
        request = _json_object(body)
        self._refuse_unless_served(request)
        sequence = self._sequence_of(request, is_chat=is_chat)
        options = request.get("stream_options") or {}
        self._requests += 1
        answer = Answer(
            request_id=f"{'chatcmpl' if is_chat else 'cmpl'}-{self._started}-{self._requests}",
            model=str(request.get("model") or self.arguments.model_names[0]),
            created=int(time.time()),
            is_chat=is_chat,
            prompt_tokens=sequence.prompt_tokens,
            include_usage=bool(options.get("include_usage")),
            continuous_usage=bool(options.get("continuous_usage_stats")),
        )
        return Generation(sequence, answer, is_stream=bool(request.get("stream")))

    def begin(self, generation: Generation) -> None:
        """The request joins the batch."""
        self._generations[generation.sequence] = generation
        self._deliver(self._batch.add(generation.sequence, self._loop.time()))

    def cancel(self, generation: Generation) -> None:
        """The client is gone: its slot is free at once."""
        if self._generations.pop(generation.sequence, None) is None:
            return
        self.metrics.finished["abort"] += 1
        self._deliver(self._batch.remove(generation.sequence, self._loop.time()))

    def abort_all(self) -> int:
        """Forget every request, as vLLM does without a shutdown timeout; returns how many were cut."""
        cut = list(self._generations.values())
        for generation in cut:
            self.cancel(generation)
        return len(cut)

    def metrics_text(self) -> str:
        """The `/metrics` page."""
        usage = min(1.0, self._batch.cached_tokens / self.timing.kv_cache_tokens)
        name = self.arguments.model_names[0]
        return self.metrics.text(name, self._batch.running, len(self._batch.waiting), usage)

    def _refuse_unless_served(self, request: dict[str, Any]) -> None:
        if self.is_draining:
            self._reject("shutdown", "The server is shutting down.")
        model = request.get("model")
        if model is not None and model not in self.arguments.model_names:
            raise RequestRefusedError(404, f"The model `{model}` does not exist.")
        limit = self.arguments.max_num_queued_reqs
        if limit is not None and self.in_flight >= limit:
            self._reject("queued_reqs", f"Too many requests in flight: the limit is {limit}.")
        limit = self.arguments.max_num_queued_tokens
        if limit is not None and self._prefill_tokens() >= limit:
            self._reject("queued_tokens", f"Too many prompt tokens in prefill: the limit is {limit}.")

    def _prefill_tokens(self) -> int:
        return sum(item.prompt_tokens for item in self._generations if item.first_token_s is None)

    def _reject(self, reason: str, message: str) -> None:
        self.metrics.rejections[reason] = self.metrics.rejections.get(reason, 0) + 1
        raise RequestRefusedError(503, message)

    def _sequence_of(self, request: dict[str, Any], *, is_chat: bool) -> Sequence:
        prompt = request.get("messages" if is_chat else "prompt")
        if not prompt:
            raise RequestRefusedError(400, f"{'messages' if is_chat else 'prompt'}: field required")
        wanted = request.get("max_completion_tokens") or request.get("max_tokens") or self.timing.output_tokens
        if not isinstance(wanted, int) or wanted < 1:
            raise RequestRefusedError(400, f"max_tokens must be at least 1, got {wanted!r}.")
        prompt_tokens = prompt_tokens_of(prompt)
        longest = self.arguments.max_model_len
        if longest is not None and prompt_tokens + wanted > longest:
            raise RequestRefusedError(
                400, f"This model's maximum context length is {longest} tokens, got {prompt_tokens} + {wanted}."
            )
        return Sequence(prompt_tokens=prompt_tokens, output_tokens=wanted, arrived_s=self._loop.time())

    def _deliver(self, due: list[Emission]) -> None:
        for emission in due:
            sequence = emission.sequence
            self.metrics.observe(emission, sequence.last_emit_s)
            sequence.last_emit_s = emission.at_s
            generation = self._generations.get(sequence)
            if generation is None:
                continue
            if emission.finished:
                del self._generations[sequence]
            generation.deliver(emission)
        self._sleep_until_due()
        if self.is_draining and not self._generations:
            self.on_idle()

    def _sleep_until_due(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        wake_s = self._batch.next_event_s()
        if wake_s is not None:
            self._timer = self._loop.call_at(wake_s, self._wake, wake_s)

    def _wake(self, due_s: float) -> None:
        now_s = self._loop.time()
        self.metrics.timer_lag.observe(max(0.0, now_s - due_s))
        self._timer = None
        # The loop may call a timer up to its clock's resolution early; the event is due all the same.
        self._deliver(self._batch.advance(max(now_s, due_s)))


def refusal(failure: RequestRefusedError) -> bytes:
    """The bytes of a refused request."""
    return error(failure.status, str(failure))


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        request = json.loads(body)
    except ValueError as failure:
        raise RequestRefusedError(400, f"The body is not JSON: {failure}") from failure
    if not isinstance(request, dict):
        raise RequestRefusedError(400, "The body is not a JSON object.")
    return request
