"""What buckets tell of a percentile and of a share: never more than they know."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from capacity.recordings.histogram import Histogram, histogram
from capacity.sweeps.objective import Share


def counted(values: list[Fraction], bounds: list[Fraction]) -> Histogram:
    buckets = [(bound, Fraction(sum(value <= bound for value in values))) for bound in bounds]
    found = histogram([*buckets, (None, Fraction(len(values)))], sum(values, Fraction(0)))
    assert found is not None
    return found


def test_a_limit_that_is_a_bound_is_exact_and_another_is_a_range() -> None:
    values = [Fraction(n, 10) for n in (1, 2, 6, 7, 9)]
    found = counted(values, [Fraction(1, 2), Fraction(3, 4)])
    assert found.share_within(Fraction(1, 2)) == Share(Fraction(2, 5), Fraction(2, 5))
    assert found.share_within(Fraction(6, 10)) == Share(Fraction(2, 5), Fraction(4, 5))
    assert found.around(Fraction(6, 10)) == (Fraction(1, 2), Fraction(3, 4))
    assert found.around(Fraction(9, 10)) == (Fraction(3, 4), None)
    assert found.mean == Fraction(1, 2)


def test_a_quantile_as_prometheus_reckons_it_with_the_bucket_it_lies_in() -> None:
    """histogram_quantile(0.95, ...) of 90 in (0, 0.5] and 10 in (0.5, 1]: 0.75."""
    buckets = [(Fraction(1, 2), Fraction(90)), (Fraction(1), Fraction(100)), (None, Fraction(100))]
    found = histogram(buckets, Fraction(40))
    assert found
    p95 = found.quantile(Fraction(95, 100))
    assert (p95.low, p95.high, p95.likely) == (Fraction(1, 2), Fraction(1), Fraction(3, 4))


def test_beyond_the_last_bound_nothing_is_known_but_that() -> None:
    found = histogram([(Fraction(1), Fraction(1)), (None, Fraction(10))], Fraction(90))
    assert found
    p95 = found.quantile(Fraction(95, 100))
    assert (p95.low, p95.high, p95.likely) == (Fraction(1), None, None)
    assert found.share_within(Fraction(2)) == Share(Fraction(1, 10), Fraction(1))


def test_nothing_counted_is_no_histogram() -> None:
    assert histogram([(Fraction(1), Fraction(0)), (None, Fraction(0))], Fraction(0)) is None
    assert histogram([], Fraction(0)) is None


def test_what_is_extrapolated_may_fall_by_a_hair() -> None:
    buckets = [(Fraction(1), Fraction(10)), (Fraction(2), Fraction(999, 100)), (None, Fraction(10))]
    found = histogram(buckets, Fraction(5))
    assert found
    assert found.share_within(Fraction(2)) == Share(Fraction(1), Fraction(1))


numbers = st.fractions(min_value=Fraction(1, 1000), max_value=100, max_denominator=1000)


@given(
    st.lists(numbers, min_size=1, max_size=40),
    st.lists(numbers, min_size=1, max_size=8, unique=True),
    numbers,
    st.fractions(min_value=Fraction(1, 100), max_value=1, max_denominator=100),
)
def test_the_truth_lies_within_what_is_said(
    values: list[Fraction], bounds: list[Fraction], limit: Fraction, quantile: Fraction
) -> None:
    found = counted(values, bounds)
    share = found.share_within(limit)
    truth = Fraction(sum(value <= limit for value in values), len(values))
    assert share.low <= truth <= share.high
    assert limit not in bounds or share.low == share.high
    ranked = sorted(values)
    at = next(value for index, value in enumerate(ranked, 1) if Fraction(index, len(ranked)) >= quantile)
    between = found.quantile(quantile)
    assert between.low < at
    assert between.high is None or at <= between.high
    assert between.likely is None or (between.high is not None and between.low <= between.likely <= between.high)
