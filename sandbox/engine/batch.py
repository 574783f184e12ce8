"""Continuous batching as a model of time: who runs, who waits, which tokens exist by now. No clock, no sockets.

All running sequences advance together. One number, `_tokens_per_sequence`, says how many tokens a sequence that ran
from the beginning would have; its speed is 1 / tpot(running). A sequence is then two points on that line, so a step
costs only what it changes.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from sandbox.engine.timing import EngineTiming

_EPSILON_S = 1e-9


@dataclass(eq=False, slots=True)
class Sequence:
    """One request in the engine. Times are seconds on the caller's clock."""

    prompt_tokens: int
    output_tokens: int
    arrived_s: float
    admitted_s: float | None = None
    first_token_s: float | None = None
    last_emit_s: float | None = None
    begun_at: float = 0.0
    emitted: int = 0
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Emission:
    """`tokens` more tokens of a sequence, at `at_s`; `finished` marks the last ones."""

    sequence: Sequence
    tokens: int
    at_s: float
    finished: bool


@dataclass(slots=True)
class Batch:
    """At most `max_num_seqs` sequences run, the others wait first come first served."""

    timing: EngineTiming
    max_num_seqs: int
    now_s: float = 0.0
    waiting: deque[Sequence] = field(default_factory=deque)
    _prefills: list[tuple[float, int, Sequence]] = field(default_factory=list)
    _decodes: list[tuple[float, int, Sequence]] = field(default_factory=list)
    _running: set[Sequence] = field(default_factory=set)
    _tokens_per_sequence: float = 0.0
    _next_chunk_s: float = 0.0
    _ticket: Iterator[int] = field(default_factory=count)

    @property
    def running(self) -> int:
        """Sequences that hold a slot, prefilling or decoding."""
        return len(self._running)

    @property
    def cached_tokens(self) -> int:
        """Tokens that the running sequences hold in the key-value cache."""
        return sum(sequence.prompt_tokens + sequence.emitted for sequence in self._running)

    def add(self, sequence: Sequence, now_s: float) -> list[Emission]:
        """A new request arrives; returns what came due until now."""
        due = self.advance(now_s)
        self.waiting.append(sequence)
        self._admit(now_s)
        return due

    def remove(self, sequence: Sequence, now_s: float) -> list[Emission]:
        """The client went away or the engine aborts: the slot is free at once."""
        due = self.advance(now_s)
        sequence.gone = True
        if sequence in self._running:
            self._running.discard(sequence)
        elif sequence in self.waiting:
            self.waiting.remove(sequence)
        self._admit(now_s)
        return due

    def advance(self, now_s: float) -> list[Emission]:
        """Move the model to `now_s`, event by event; returns the tokens that came due, in order of time."""
        due: list[Emission] = []
        while (event_s := self.next_event_s()) is not None and event_s <= now_s:
            self._flow(event_s)
            self._first_tokens(event_s, due)
            self._finishes(event_s, due)
            if event_s >= self._next_chunk_s:
                self._chunks(event_s, due)
            self._admit(event_s)
        self._flow(now_s)
        return due

    def next_event_s(self) -> float | None:
        """When something comes due next if nobody arrives or leaves; None when idle."""
        self._drop_gone()
        times = []
        if self._prefills:
            times.append(self._prefills[0][0])
        if self._decodes:
            left = max(0.0, self._decodes[0][0] - self._tokens_per_sequence)
            times.append(self.now_s + left * self.timing.tpot_at(self.running))
            times.append(max(self.now_s, self._next_chunk_s))
        return min(times) if times else None

    def _flow(self, until_s: float) -> None:
        if until_s > self.now_s:
            if self._decodes:
                self._tokens_per_sequence += (until_s - self.now_s) / self.timing.tpot_at(self.running)
            self.now_s = until_s

    def _admit(self, now_s: float) -> None:
        while self.waiting and self.running < self.max_num_seqs:
            sequence = self.waiting.popleft()
            sequence.admitted_s = now_s
            self._running.add(sequence)
            ready_s = now_s + self.timing.prefill_s(sequence.prompt_tokens)
            heapq.heappush(self._prefills, (ready_s, next(self._ticket), sequence))

    def _first_tokens(self, now_s: float, due: list[Emission]) -> None:
        while self._prefills and self._prefills[0][0] <= now_s + _EPSILON_S:
            sequence = heapq.heappop(self._prefills)[2]
            if sequence.gone:
                continue
            if not self._decodes:
                self._next_chunk_s = now_s + self.timing.chunk_interval_s
            sequence.begun_at = self._tokens_per_sequence
            sequence.first_token_s = now_s
            finish_at = sequence.begun_at + sequence.output_tokens - 1
            heapq.heappush(self._decodes, (finish_at, next(self._ticket), sequence))
            if sequence.output_tokens > 1:
                self._emit(sequence, 1, now_s, due)

    def _finishes(self, now_s: float, due: list[Emission]) -> None:
        while self._decodes and self._decodes[0][0] <= self._tokens_per_sequence + _EPSILON_S:
            sequence = heapq.heappop(self._decodes)[2]
            if not sequence.gone:
                self._running.discard(sequence)
                self._emit(sequence, sequence.output_tokens, now_s, due)

    def _chunks(self, now_s: float, due: list[Emission]) -> None:
        self._next_chunk_s = now_s + self.timing.chunk_interval_s
        for _, _, sequence in self._decodes:
            if not sequence.gone:
                done = 1 + int(self._tokens_per_sequence - sequence.begun_at + _EPSILON_S)
                self._emit(sequence, min(done, sequence.output_tokens - 1), now_s, due)

    def _emit(self, sequence: Sequence, done: int, now_s: float, due: list[Emission]) -> None:
        if done > sequence.emitted:
            finished = done >= sequence.output_tokens
            due.append(Emission(sequence, done - sequence.emitted, now_s, finished))
            sequence.emitted = done

    def _drop_gone(self) -> None:
        for heap in (self._prefills, self._decodes):
            while heap and heap[0][2].gone:
                heapq.heappop(heap)
