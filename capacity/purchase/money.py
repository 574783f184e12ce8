"""Money, exactly: dollars are rationals until they are shown.

A price that is unknown stays None through every sum it would be part of: a total that leaves something out is no total.
A month is 730 hours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from capacity.replicas import Exact

HOURS_PER_MONTH = 730
"""365 x 24 / 12. Source: AWS Pricing Calculator, which states it beside every monthly figure."""

MILLION = 10**6
SECONDS_PER_HOUR = 3600


@dataclass(frozen=True)
class Rates:
    """Dollars per node-hour on demand, and under a commitment that is paid for every hour; None where unknown."""

    on_demand: Exact | None
    committed: Exact | None = None


@dataclass(frozen=True)
class Spend:
    """What nodes cost in a month: the base under a commitment, the rest on demand for the hours it runs.

    Parts and totals are None where a price they need is unknown. Without nodes a part is 0, whatever the price.
    """

    base_nodes: int
    peak_nodes: int
    committed_usd: Fraction | None
    on_demand_usd: Fraction | None
    peak_usd_per_h: Fraction | None

    @property
    def usd(self) -> Fraction | None:
        """Dollars a month."""
        return total([self.committed_usd, self.on_demand_usd])


def spend(base_nodes: int, peak_nodes: int, rest_node_hours: Exact, rates: Rates) -> Spend:
    """`base_nodes` committed all month, and `rest_node_hours` of the nodes up to `peak_nodes` on demand.

    All on demand is a base of 0 nodes with all its node-hours as the rest.
    """
    rest = peak_nodes - base_nodes
    committed = times(base_nodes * HOURS_PER_MONTH, rates.committed)
    peak_per_h = total([times(base_nodes, rates.committed), times(rest, rates.on_demand)])
    return Spend(base_nodes, peak_nodes, committed, times(rest_node_hours, rates.on_demand), peak_per_h)


def break_even_hours(rates: Rates) -> Fraction | None:
    """Hours a month from which on a node is cheaper committed than on demand; None where a price is unknown.

    More than `HOURS_PER_MONTH` where the commitment costs more than the hours it is for: then it never pays.
    """
    if rates.on_demand is None or rates.committed is None:
        return None
    return HOURS_PER_MONTH * Fraction(rates.committed) / Fraction(rates.on_demand)


def usd_per_million_tokens(usd_per_h: Exact | None, tokens_per_s: Exact) -> Fraction | None:
    """What a million tokens cost at a steady `tokens_per_s`, above 0; None where the price is unknown."""
    return None if usd_per_h is None else Fraction(usd_per_h) * MILLION / (Fraction(tokens_per_s) * SECONDS_PER_HOUR)


@dataclass(frozen=True)
class ApiPrice:
    """A managed API's dollars per million tokens in and out, as it was given."""

    input_usd_per_million: Exact
    output_usd_per_million: Exact


@dataclass(frozen=True)
class Comparison:
    """One month's tokens on one's own nodes and at a managed API.

    `break_even_output_tokens`: the month's output, at the same ratio to the input, at which both cost the same. Below
    it the API is cheaper, above it the nodes. None where a price is unknown or the API free. `carried_output_tokens`:
    the most that the nodes put out in a month; None where that was not measured.
    """

    own_usd: Fraction | None
    api_usd: Fraction
    break_even_output_tokens: Fraction | None
    carried_output_tokens: Fraction | None

    @property
    def is_even_carried(self) -> bool | None:
        """Whether the nodes can put out as much as they would have to; None where that is not known."""
        if self.break_even_output_tokens is None or self.carried_output_tokens is None:
            return None
        return self.break_even_output_tokens <= self.carried_output_tokens


def compared(
    own_usd: Exact | None, input_tokens: Exact, output_tokens: Exact, price: ApiPrice, *, carried: Exact | None
) -> Comparison:
    """Compare for `input_tokens` and `output_tokens` a month, on nodes that put out `carried` tokens at most."""
    api = Fraction(input_tokens) * Fraction(price.input_usd_per_million)
    api = (api + Fraction(output_tokens) * Fraction(price.output_usd_per_million)) / MILLION
    own = None if own_usd is None else Fraction(own_usd)
    even = None if own is None or not api else Fraction(output_tokens) * own / api
    return Comparison(own, api, even, None if carried is None else Fraction(carried))


def total(parts: Iterable[Fraction | None]) -> Fraction | None:
    """The sum, None if a part is unknown."""
    known = list(parts)
    return None if None in known else sum((part for part in known if part is not None), Fraction(0))


def times(count: Exact, price: Exact | None) -> Fraction | None:
    """`count` at `price`; nothing costs nothing, whatever the price."""
    if not count:
        return Fraction(0)
    return None if price is None else Fraction(count) * Fraction(price)
