"""What a sizing request leaves out, as ranges that are said: each with why, and both of its ends reckoned through.

The ends are the value that needs the fewest replicas and the one that needs the most. The ranges of people's behaviour
are what public production traces show, where they show it.

Source: means, peaks and jumps of AzureLLMInferenceTrace_code and _conv (Azure/AzurePublicDataset @b469a11, CC-BY-4.0),
mooncake_conversation_trace (kvcache-ai/Mooncake @3b5a594, Apache-2.0) and five rate traces of alibaba/ServeGen @f891d11
(Apache-2.0; 10-minute windows).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from stacks.workload_class import FROM_PEOPLE, WAYS, Lengths, WorkloadClass
from stacks.workloads import Reliability


@dataclass(frozen=True)
class Assumption:
    """`field` was not said. `fewest` is the assumed value that needs the fewest replicas, `most` the other end."""

    field: str
    fewest: Decimal
    most: Decimal
    why: str


def _range(fewest: str, most: str, why: str) -> tuple[Decimal, Decimal, str]:
    return Decimal(fewest), Decimal(most), why


# Field of a class -> fewest, most, why.
OF_A_CLASS: dict[str, tuple[Decimal, Decimal, str]] = {
    "active_pct": _range("5", "30", "an audience is not a load; from one in twenty to nearly one in three at work"),
    "runs_per_user_hour": _range("1", "10", "from an assistant asked now and then to one that work is done in"),
    "llm_calls_per_run": _range("1", "10", "from one answer to an agent's task"),
    "retries_pct": _range("0", "10", "none, to one in ten sent again"),
    "peak_to_average": _range("1.4", "3.3", "lowest and highest of five production traces (ServeGen)"),
    "tokens_per_s_per_stream": _range("10", "50", "from reading speed to 20 ms a token"),
    "exact_cache_hit_pct": _range("0", "0", "a hit rate nobody measured carries nothing"),
    "prefix_cache_hit_pct": _range("0", "0", "a hit rate nobody measured carries nothing"),
    "growth_pct": _range("0", "100", "as it is, to doubled within the horizon"),
    "largest_minute_jump_pct": _range("15", "28", "Azure's conversation trace, and Mooncake's"),
}
MEAN_LENGTHS = {
    "input_tokens": _range("1155", "12035", "means of Azure's and of Mooncake's conversation traces"),
    "output_tokens": _range("28", "343", "means of Azure's code and of Mooncake's conversation traces"),
}
# A percentile of lengths -> their mean over it: least, greatest, why.
OF_A_PERCENTILE = {
    "p50": _range("0.97", "2.2", "mean over p50 in Azure's traces and in Mooncake's: 0.97 to 2.2"),
    "p95": _range("0.28", "0.5", "mean over p95 in Azure's traces and in Mooncake's: 0.28 to 0.5"),
    "p99": _range("0.11", "0.36", "mean over p99 in Azure's traces and in Mooncake's: 0.11 to 0.36"),
}
HEADROOM = _range("20", "40", "no reserve is said; the field's usual headroom")
ZONES = _range("3", "2", "a region's zones that have the GPUs")
ONE_JUMP_S = 60
TAKES = "between half of what a request takes at the SLO's limits, and all of it"
LASTS = "how long such a rise goes on: from the one minute, to until another replica is Ready"
AFTER_LOSS = _range("100", "100", "after the loss, all of the peak is still carried")
NEAR_TERM_GROWTH = _range(
    "0", "20", "from a projection that holds, to the low end of the field's usual headroom beyond it"
)


@dataclass(frozen=True)
class Ends:
    """One class with nothing left out that its arithmetic needs: at the fewest-replicas end, and at the other."""

    fewest: WorkloadClass
    most: WorkloadClass
    assumptions: tuple[Assumption, ...]


def complete(
    load: WorkloadClass, place: str, *, ttft_ms: Decimal, tpot_ms: Decimal, cold_start_s: int, wants: frozenset[str]
) -> Ends:
    """Fill what is missing and needed.

    Args:
        place: the class's dotted place in its request, for the assumptions' names.
        ttft_ms: the SLO's limit of the time to first token, for a duration nobody said; `tpot_ms` per output token.
        cold_start_s: of a replica, for a rise of which nobody said how long it goes on.
        wants: what is needed beyond the requests in flight: `input_tokens`, `output_tokens`,
            `largest_minute_jump_pct`, `prefix_cache_hit_pct`; and `request_duration_s`, where requests that are said
            to be in flight are needed by the second, too.
    """
    needed = {*WAYS[load.way], "growth_pct", "exact_cache_hit_pct"} | (wants & OF_A_CLASS.keys())
    if load.way in FROM_PEOPLE:
        needed.add("llm_calls_per_run")
    found = [
        Assumption(f"{place}.{field}", *OF_A_CLASS[field])
        for field in OF_A_CLASS
        if field in needed and getattr(load, field) is None
    ]
    fewest, most = (load.model_copy(update=_values(found, place, end)) for end in ("fewest", "most"))
    if (
        "largest_minute_jump_pct" in wants
        and _rises(most)
        and load.burst_duration_s is None
        and cold_start_s > ONE_JUMP_S
    ):
        one = Assumption(f"{place}.burst_duration_s", Decimal(ONE_JUMP_S), Decimal(cold_start_s), LASTS)
        found.append(one)
        fewest, most = (
            end.model_copy(update=_values([one], place, which)) for end, which in ((fewest, "fewest"), (most, "most"))
        )
    held = load.way in ("in_flight", "streams")
    lasts = load.request_duration_s is None and (not held or "request_duration_s" in wants)
    if load.way == "streams":  # their tokens per second are said
        wants -= {"output_tokens"}
    for kind, unknown in MEAN_LENGTHS.items():
        if (kind in wants or (lasts and kind == "output_tokens")) and getattr(load, kind).mean is None:
            one = _mean(getattr(load, kind), f"{place}.{kind}.mean", unknown)
            found.append(one)
            fewest = fewest.model_copy(update={kind: Lengths(mean=one.fewest)})
            most = most.model_copy(update={kind: Lengths(mean=one.most)})
    if lasts:
        short, long = _at_the_slo(fewest, ttft_ms, tpot_ms) / 2, _at_the_slo(most, ttft_ms, tpot_ms)
        # As many in flight are fewer requests a second, the longer each takes.
        durations = (long, short) if held else (short, long)
        one = Assumption(f"{place}.request_duration_s", *durations, TAKES)
        found.append(one)
        fewest = fewest.model_copy(update={"request_duration_s": one.fewest})
        most = most.model_copy(update={"request_duration_s": one.most})
    return Ends(fewest, most, tuple(found))


def _rises(load: WorkloadClass) -> bool:
    """Whether there is a rise whose length counts."""
    return load.largest_minute_jump_pct is not None and load.largest_minute_jump_pct > 0


def _values(found: list[Assumption], place: str, end: str) -> dict[str, Decimal]:
    return {one.field.removeprefix(f"{place}."): getattr(one, end) for one in found}


def _mean(said: Lengths, field: str, unknown: tuple[Decimal, Decimal, str]) -> Assumption:
    return Assumption(field, *(said_mean(said) or unknown))


def said_mean(said: Lengths) -> tuple[Decimal, Decimal, str] | None:
    """Least and greatest mean by what is said of it or of percentiles, and why; None where nothing is said."""
    if said.mean is not None:
        return said.mean, said.mean, "said"
    high = said.p95 or said.p99
    if said.p50 is not None and high is not None:
        return said.p50, high, "lengths are skewed: their mean lies above p50, and below p95"
    for name, (least, greatest, why) in OF_A_PERCENTILE.items():
        if (value := getattr(said, name)) is not None:
            return value * least, value * greatest, why
    return None


def _at_the_slo(load: WorkloadClass, ttft_ms: Decimal, tpot_ms: Decimal) -> Decimal:
    """Seconds of a request that takes all the SLO allows: first token, then each further one."""
    tokens = load.output_tokens.mean
    if tokens is None:
        raise ValueError("how long an answer takes follows from its tokens, which are said or assumed first")
    return (ttft_ms + max(tokens - 1, Decimal(0)) * tpot_ms) / 1000


def of_the_reserve(said: Reliability, place: str) -> Iterator[Assumption]:
    """What the reserve needs and nobody said."""
    if said.survive is None and said.headroom_pct is None:
        yield Assumption(f"{place}.headroom_pct", *HEADROOM)
        return
    if said.survive == "zone" and said.zones is None:
        yield Assumption(f"{place}.zones", *ZONES)
    if said.survive not in (None, "none") and said.capacity_after_loss_pct is None:
        yield Assumption(f"{place}.capacity_after_loss_pct", *AFTER_LOSS)
    if said.survive is not None and said.near_term_growth_pct is None:
        yield Assumption(f"{place}.near_term_growth_pct", *NEAR_TERM_GROWTH)
