"""The engine double's model of time."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.engine.batch import Batch, Emission, Sequence
from sandbox.engine.timing import EngineTiming, prompt_tokens_of, timing_from_json

TIMING = EngineTiming()


def play(
    arrivals: list[tuple[float, int]],
    *,
    max_num_seqs: int = 64,
    step_s: float | None = None,
    timing: EngineTiming = TIMING,
) -> dict[int, list[Emission]]:
    """Emissions of each arrival (seconds, output tokens); with `step_s` the model is also moved in small steps."""
    batch = Batch(timing, max_num_seqs)
    sequences = [Sequence(1000, tokens, arrived_s) for arrived_s, tokens in arrivals]
    due: list[Emission] = []
    for sequence in sequences:
        while step_s and batch.now_s + step_s < sequence.arrived_s:
            due += batch.advance(batch.now_s + step_s)
        due += batch.add(sequence, sequence.arrived_s)
    end_s = 10_000.0
    while step_s and batch.next_event_s() is not None:
        due += batch.advance(batch.now_s + step_s)
    due += batch.advance(end_s)
    assert batch.running == 0
    assert not batch.waiting
    return {index: [item for item in due if item.sequence is sequence] for index, sequence in enumerate(sequences)}


def ends_s(emissions: dict[int, list[Emission]]) -> list[float]:
    return [items[-1].at_s for items in emissions.values()]


def test_worked_example_at_forty_in_flight() -> None:
    emissions = play([(0.0, 400)] * 40)
    for items in emissions.values():
        assert items[0].at_s == pytest.approx(0.58)
        assert items[-1].at_s == pytest.approx(0.58 + 399 * 0.018)
        assert round(items[-1].at_s, 1) == 7.8
        assert sum(item.tokens for item in items) == 400


@pytest.mark.parametrize(("running", "tpot_ms"), [(1, 18.0), (40, 18.0), (50, 18.0), (56, 20.16), (64, 23.04)])
def test_tpot_leaves_the_slo_past_the_knee(running: int, tpot_ms: float) -> None:
    assert TIMING.tpot_at(running) * 1000 == pytest.approx(tpot_ms)
    first, *_, last = play([(0.0, 400)] * running)[0]
    assert (last.at_s - first.at_s) / 399 * 1000 == pytest.approx(tpot_ms)


def test_the_sixty_fifth_waits_for_a_slot() -> None:
    emissions = play([(0.0, 400)] * 64 + [(0.1, 10)])
    first_slot_s = min(ends_s(emissions)[:64])
    assert emissions[64][0].at_s == pytest.approx(first_slot_s + TIMING.prefill_s(1000))
    assert emissions[64][0].sequence.admitted_s == pytest.approx(first_slot_s)


def test_removing_a_sequence_frees_its_slot_at_once() -> None:
    batch = Batch(TIMING, max_num_seqs=1)
    first, second = Sequence(1000, 400, 0.0), Sequence(1000, 5, 0.0)
    batch.add(first, 0.0)
    batch.add(second, 0.0)
    batch.remove(first, 2.0)
    assert second.admitted_s == 2.0
    due = batch.advance(100.0)
    assert {item.sequence for item in due} == {second}


def test_one_token_is_first_and_last_at_once() -> None:
    (items,) = play([(0.0, 1)]).values()
    assert [(item.tokens, item.finished) for item in items] == [(1, True)]


ARRIVALS = st.lists(
    st.tuples(st.floats(0, 30).map(lambda value: round(value, 3)), st.integers(1, 60)), min_size=1, max_size=25
).map(sorted)


@given(ARRIVALS, st.integers(1, 8))
def test_every_token_comes_once_in_order_and_none_before_its_prefill(
    arrivals: list[tuple[float, int]], slots: int
) -> None:
    emissions = play(arrivals, max_num_seqs=slots, timing=EngineTiming(knee_in_flight=3))
    for index, items in emissions.items():
        arrived_s, tokens = arrivals[index]
        assert sum(item.tokens for item in items) == tokens
        assert [item.finished for item in items] == [False] * (len(items) - 1) + [True]
        times = [item.at_s for item in items]
        assert times == sorted(times)
        assert times[0] >= arrived_s + TIMING.prefill_s(1000) - 1e-6


@given(ARRIVALS, st.integers(1, 8), st.floats(0.05, 0.7))
def test_how_often_the_model_is_looked_at_changes_nothing(
    arrivals: list[tuple[float, int]], slots: int, step_s: float
) -> None:
    timing = EngineTiming(knee_in_flight=3)
    seldom = ends_s(play(arrivals, max_num_seqs=slots, timing=timing))
    often = ends_s(play(arrivals, max_num_seqs=slots, timing=timing, step_s=step_s))
    assert often == pytest.approx(seldom, abs=1e-3)


@given(st.integers(1, 500))
def test_throughput_never_falls_with_one_more_sequence(running: int) -> None:
    now, more = running / TIMING.tpot_at(running), (running + 1) / TIMING.tpot_at(running + 1)
    assert more > now or math.isclose(more, now)


def test_prompt_tokens() -> None:
    assert prompt_tokens_of("abcd" * 10) == 10
    assert prompt_tokens_of([1, 2, 3]) == 3
    assert prompt_tokens_of([{"role": "user", "content": "abcdefgh"}]) == 2


@pytest.mark.parametrize("text", ['{"nope": 1}', '{"tpot_s": "fast"}', '{"start_s": -1}', "[]", "x"])
def test_bad_timing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"timing|Expecting"):
        timing_from_json(text)
