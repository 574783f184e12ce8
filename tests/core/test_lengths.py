"""Evidence of requests of other lengths: named, reckoned at its worst, and refused where it is of other work."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from capacity.sizing.carries import Carries
from capacity.sizing.lengths import at_worst, others
from capacity.sizing.offered import offered
from stacks.workload_class import Lengths, WorkloadClass

TOKENS = st.decimals(1, 100_000, places=0)
IN, OUT = Fraction(200), Fraction(100)


def carries(sequence_load: int = 40) -> Carries:
    load = {"in_flight": Fraction(sequence_load), "output_tokens_per_s": Fraction(900)}
    return Carries(load, "measured", "sweep", at_slo=True, lengths={"input_tokens": IN, "output_tokens": OUT})  # type: ignore[arg-type]


def work(tokens_in: Decimal, tokens_out: Decimal) -> WorkloadClass:
    return WorkloadClass(
        in_flight=Decimal(80),
        input_tokens=Lengths(mean=tokens_in),
        output_tokens=Lengths(mean=tokens_out),
        growth_pct=Decimal(0),
        exact_cache_hit_pct=Decimal(0),
    )


def at_the_upper_end(tokens_in: Decimal, tokens_out: Decimal) -> Fraction:
    load = work(tokens_in, tokens_out)
    found = others({"a": load}, {"a": carries()}, {"a": offered(load)})
    less, gaps = at_worst({"a": carries()}, found)
    assert bool(gaps) == bool(found)
    assert less["a"].load["output_tokens_per_s"] == 900, "tokens are counted as they are"
    return less["a"].load["in_flight"]


def test_longer_prompts_and_answers() -> None:
    assert at_the_upper_end(Decimal(200), Decimal(100)) == 40
    assert at_the_upper_end(Decimal(219), Decimal(91)) == 40, "within a tenth"
    assert at_the_upper_end(Decimal(400), Decimal(100)) == 20
    assert at_the_upper_end(Decimal(200), Decimal(150)) == Fraction(80, 3)


def test_shorter_answers_free_their_places_for_more_prompts() -> None:
    assert at_the_upper_end(Decimal(200), Decimal(50)) == 20
    assert at_the_upper_end(Decimal(100), Decimal(50)) == 40, "and shorter prompts make up for it"
    assert at_the_upper_end(Decimal(100), Decimal(100)) == 40


@given(TOKENS, TOKENS)
def test_never_more_than_was_measured(tokens_in: Decimal, tokens_out: Decimal) -> None:
    assert 0 < at_the_upper_end(tokens_in, tokens_out) <= 40


@given(TOKENS, TOKENS, TOKENS)
def test_longer_prompts_never_leave_more(tokens_in: Decimal, longer: Decimal, tokens_out: Decimal) -> None:
    least, most = sorted((tokens_in, longer))
    assert at_the_upper_end(most, tokens_out) <= at_the_upper_end(least, tokens_out)


def test_a_mean_that_may_be_what_was_measured_is() -> None:
    between = Lengths(p50=Decimal(150), p95=Decimal(900))
    load = work(Decimal(200), Decimal(100)).model_copy(update={"input_tokens": between})
    assert others({"a": load}, {"a": carries()}, {"a": offered(load)}) == ()
