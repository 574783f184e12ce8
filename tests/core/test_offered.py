from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capacity.sizing.assumptions import OF_A_CLASS, complete
from capacity.sizing.offered import offered
from stacks.workload_class import WAYS, WorkloadClass

AMOUNT = st.decimals("0.01", 10**6, places=2)
KNOWN = {"growth_pct": 0, "exact_cache_hit_pct": 0}


def load(**fields: Any) -> WorkloadClass:
    return WorkloadClass.model_validate(KNOWN | fields)


def test_people_to_requests_in_flight() -> None:
    """400 users, 3 runs an hour of 5 calls, 5 % sent again, 2.5 times the average at the peak, 12 s each."""
    one = offered(
        load(
            active_users=400,
            runs_per_user_hour=3,
            llm_calls_per_run=5,
            retries_pct=5,
            peak_to_average=Decimal("2.5"),
            request_duration_s=12,
        )
    )
    assert one.load["rps"] == Fraction(400 * 3 * 5 * 105 * 25, 100 * 10 * 3600) == Fraction("4.375")
    assert one.load["in_flight"] == Fraction("52.5")


def test_an_audience_counts_by_its_active_part() -> None:
    fields = {"runs_per_user_hour": 2, "llm_calls_per_run": 1, "retries_pct": 0, "peak_to_average": 1}
    audience = offered(load(registered_users=4000, active_pct=10, request_duration_s=9, **fields))
    assert audience.load == offered(load(active_users=400, request_duration_s=9, **fields)).load
    jobs = {key: value for key, value in fields.items() if key != "runs_per_user_hour"}
    assert audience.load == offered(load(jobs_per_hour=800, request_duration_s=9, **jobs)).load


def test_an_exact_match_leaves_the_gpus_alone_and_a_prefix_only_the_prefill() -> None:
    tokens: dict[str, Any] = {"input_tokens": {"mean": 1000}, "output_tokens": {"mean": 200}}
    unsaid = offered(load(rps=10, request_duration_s=6, **tokens))
    tokens |= {"prefix_cache_hit_pct": 0}
    plain = offered(load(rps=10, request_duration_s=6, **tokens))
    exact = offered(load(rps=10, request_duration_s=6, **tokens | {"exact_cache_hit_pct": 25}))
    prefix = offered(load(rps=10, request_duration_s=6, **tokens | {"prefix_cache_hit_pct": 25}))
    assert plain.load.keys() - unsaid.load.keys() == {"prefill_tokens_per_s"}, "what a cache has is not guessed"
    assert {name: exact.load[name] / value for name, value in plain.load.items()} == dict.fromkeys(
        plain.load, Fraction(3, 4)
    )
    assert prefix.load == {**plain.load, "prefill_tokens_per_s": Fraction(7500)}


def test_streams_are_in_flight_and_make_tokens() -> None:
    one = offered(load(streams=2000, tokens_per_s_per_stream=20))
    assert one.load == {"in_flight": 2000, "output_tokens_per_s": 40_000}


def test_growth_comes_before_the_cache() -> None:
    one = offered(load(rps=10, request_duration_s=1, growth_pct=50, exact_cache_hit_pct=20))
    assert [one.asked, one.projected, one.served] == [10, 15, 12]


class TestCompleting:
    def complete(self, said: WorkloadClass, *wants: str) -> Any:
        limits = {"ttft_ms": Decimal(600), "tpot_ms": Decimal(20)}
        return complete(said, "c", **limits, cold_start_s=300, wants=frozenset(wants))

    @pytest.mark.parametrize("way", WAYS)
    def test_every_way_can_be_reckoned_at_both_ends(self, way: str) -> None:
        ends = self.complete(WorkloadClass.model_validate({way: 100}), "output_tokens", "largest_minute_jump_pct")
        few, many = offered(ends.fewest), offered(ends.most)
        assert few.load["in_flight"] <= many.load["in_flight"]
        needed = {*WAYS[way], "growth_pct"} - {"average_pct"}  # which moves no replica
        assert needed <= {one.field.removeprefix("c.") for one in ends.assumptions}

    def test_what_is_said_is_not_assumed(self) -> None:
        ends = self.complete(load(rps=5, request_duration_s=7))
        assert ends.assumptions == ()
        assert ends.fewest == ends.most == load(rps=5, request_duration_s=7)

    def test_a_duration_follows_from_the_slo(self) -> None:
        ends = self.complete(load(rps=5, output_tokens={"mean": 401}))
        (one,) = ends.assumptions
        assert (one.field, one.fewest, one.most) == ("c.request_duration_s", Decimal("4.3"), Decimal("8.6"))

    def test_a_mean_lies_between_the_percentiles_that_are_said(self) -> None:
        ends = self.complete(load(rps=5, request_duration_s=7, output_tokens={"p50": 100, "p95": 400}), "output_tokens")
        (one,) = ends.assumptions
        assert (one.field, one.fewest, one.most) == ("c.output_tokens.mean", 100, 400)

    @pytest.mark.parametrize(
        ("said", "fewest", "most"),
        [({"p50": 2000}, 1940, 4400), ({"p95": 8000}, 2240, 4000), ({"p99": 8000}, 880, 2880)],
    )
    def test_a_single_percentile_moves_the_range_of_the_mean(
        self, said: dict[str, int], fewest: int, most: int
    ) -> None:
        """Long answers are not taken for a trace's mean of 343 tokens."""
        ends = self.complete(load(rps=5, request_duration_s=7, output_tokens=said), "output_tokens")
        (one,) = ends.assumptions
        assert (one.field, one.fewest, one.most) == ("c.output_tokens.mean", fewest, most)

    def test_streams_say_their_tokens(self) -> None:
        said = load(streams=100, tokens_per_s_per_stream=20)
        assert self.complete(said, "output_tokens").assumptions == ()

    @given(st.sampled_from(sorted(WAYS)), AMOUNT, st.sets(st.sampled_from(sorted(OF_A_CLASS))))
    def test_the_fewest_end_never_needs_more(self, way: str, amount: Decimal, known: set[str]) -> None:
        allowed = {*WAYS[way], "growth_pct", "exact_cache_hit_pct", "llm_calls_per_run"}
        said = {field: OF_A_CLASS[field][1] for field in known & allowed}
        wants = ("output_tokens", "input_tokens", "prefix_cache_hit_pct", "request_duration_s")
        ends = self.complete(WorkloadClass.model_validate({way: amount, **said}), *wants)
        few, many = offered(ends.fewest).load, offered(ends.most).load
        assert few.keys() == many.keys()
        assert all(few[name] <= many[name] for name in few)


@given(AMOUNT, AMOUNT, AMOUNT)
def test_load_is_monotone_in_people_and_proportional(users: Decimal, runs: Decimal, duration: Decimal) -> None:
    fields = {"llm_calls_per_run": 2, "retries_pct": 3, "peak_to_average": 2, "request_duration_s": duration}
    one = offered(load(active_users=users, runs_per_user_hour=runs, **fields)).load["in_flight"]
    two = offered(load(active_users=users * 2, runs_per_user_hour=runs, **fields)).load["in_flight"]
    assert two == 2 * one > 0
