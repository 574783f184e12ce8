"""One kind of work in a sizing request: its load, its lengths, and what one replica carries of it."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, model_validator

from stacks.field_types import Number, Percent, Positive, Spec, Text, fault

Share = Annotated[Percent, Field(ge=0, le=100)]
Hits = Annotated[Percent, Field(ge=0, lt=100)]
Growth = Annotated[Percent, Field(ge=-99, le=100_000)]
AtLeastOne = Annotated[Number, Field(ge=1)]

# How a class says its load -> the fields that only this way has. Exactly one of the ways is taken.
WAYS: dict[str, tuple[str, ...]] = {
    "registered_users": ("active_pct", "runs_per_user_hour", "retries_pct", "peak_to_average"),
    "active_users": ("runs_per_user_hour", "retries_pct", "peak_to_average"),
    "jobs_per_hour": ("retries_pct", "peak_to_average"),
    "rps": ("average_pct",),
    "in_flight": ("average_pct",),
    "streams": ("tokens_per_s_per_stream", "average_pct"),
}
FROM_PEOPLE = ("registered_users", "active_users", "jobs_per_hour")
"""Ways that count runs or jobs, and come to requests by the LLM calls of each."""


class Lengths(Spec):
    """Lengths in tokens over the requests of one class."""

    mean: Positive | None = None
    p50: Positive | None = None
    p95: Positive | None = None
    p99: Positive | None = None

    @model_validator(mode="after")
    def _ascending(self) -> Lengths:
        said = [(name, value) for name in ("p50", "p95", "p99") if (value := getattr(self, name)) is not None]
        for (_, less), (name, more) in pairwise(said):
            if more < less:
                raise fault("percentiles", (name,), more, f"at least {less}, the percentile below", "Correct it.")
        for name, value in said:
            beyond_pct = 100 - int(name[1:])
            least = Decimal(value) * beyond_pct / 100
            if self.mean is not None and self.mean < least:
                expected = f"at least {least.normalize():f}, as {beyond_pct} % are {name} ({value}) or longer"
                raise fault("percentiles", ("mean",), self.mean, expected, "Correct it.")
        return self


class PerReplica(Spec):
    """What one replica carries of this class alone at the SLO, where it was measured apart from the service's mix."""

    in_flight: Positive | None = None
    rps: Positive | None = None
    prefill_tokens_per_s: Positive | None = Field(
        None, description="input tokens it computes, cached prefixes left out"
    )
    output_tokens_per_s: Positive | None = None
    evidence: Text = Field(description="the file the numbers come from, relative to the stack's folder")
    kind: Literal["measured", "sandbox", "illustrative"]


class WorkloadClass(Spec):
    """One kind of work. Its load is said in exactly one way, from people or from a measured peak.

    `active_users` and `jobs_per_hour` are those of an average hour; `peak_to_average` leads to the peak. `rps`,
    `in_flight` and `streams` are the peak as it arrives, retries included.
    """

    registered_users: Positive | None = Field(None, description="an audience, not a load: `active_pct` of it works")
    active_users: Positive | None = None
    jobs_per_hour: Positive | None = None
    rps: Positive | None = Field(None, description="requests per second at the peak")
    in_flight: Positive | None = Field(None, description="concurrent LLM calls at the peak")
    streams: Positive | None = Field(None, description="streams open at once at the peak")
    active_pct: Share | None = None
    runs_per_user_hour: Positive | None = None
    llm_calls_per_run: AtLeastOne | None = None
    retries_pct: Annotated[Percent, Field(ge=0, le=1000)] | None = None
    peak_to_average: AtLeastOne | None = None
    average_pct: Annotated[Percent, Field(gt=0, le=100)] | None = Field(
        None, description="mean of a month in percent of the peak said here; it moves money alone"
    )
    tokens_per_s_per_stream: Positive | None = None
    request_duration_s: Positive | None = Field(None, description="mean, from sent to the last token")
    input_tokens: Lengths = Lengths()
    output_tokens: Lengths = Lengths()
    context_tokens: Lengths = Lengths()
    exact_cache_hit_pct: Hits | None = Field(None, description="answered by an exact-match cache, without a GPU")
    prefix_cache_hit_pct: Hits | None = Field(None, description="share of input tokens whose prefix is cached")
    growth_pct: Growth | None = Field(None, description="growth of the peak to the horizon")
    largest_minute_jump_pct: Annotated[Percent, Field(ge=0, le=10_000)] | None = Field(
        None, description="largest rise from one minute to the next, in percent of the peak"
    )
    burst_duration_s: Annotated[Number, Field(gt=0, le=31 * 86400)] | None = Field(
        None, description="how long such a rise goes on; none: from a minute to until another replica is Ready"
    )
    cancellations_pct: Share | None = None
    per_replica: PerReplica | None = None

    @property
    def way(self) -> str:
        """The one of `WAYS` that is taken."""
        return next(name for name in WAYS if getattr(self, name) is not None)

    @model_validator(mode="after")
    def _one_way(self) -> WorkloadClass:
        taken = [name for name in WAYS if getattr(self, name) is not None]
        if len(taken) != 1:
            got = " and ".join(taken) or "no load"
            raise fault("load", (), got, f"one of {', '.join(WAYS)}", "Say the load in one way.")
        foreign = {name for names in WAYS.values() for name in names} - set(WAYS[taken[0]])
        for name in sorted(foreign):
            if getattr(self, name) is not None:
                expected = f"no {name} beside {taken[0]}"
                raise fault("load", (name,), getattr(self, name), expected, "Remove it; the load has it already.")
        return self
