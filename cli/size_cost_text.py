"""Costs as sections for people and plain data for programs: pools, tokens, and services that several requests share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import click

from capacity.bill import TokenCost, api_month, purchases, token_cost
from capacity.money import ApiPrice, Comparison
from capacity.plan import Plan
from capacity.purchase import Purchase
from capacity.replicas import decimal_text
from capacity.shared import Shared, shared
from cli.output import table
from cli.size_purchase import UNKNOWN, dollars, number, purchase_data, purchase_sections
from cli.size_section import Section
from stacks.prices import PriceTable
from stacks.spec import Platform


@dataclass(frozen=True)
class Costs:
    """Everything that is bought, what a plan's tokens cost on it, and who shares what.

    `tokens` and `months` are by plan; a month is compared with an API only where one's price was given.
    """

    purchases: tuple[Purchase, ...]
    tokens: dict[str, TokenCost]
    months: dict[str, Comparison | None]
    shared: tuple[Shared, ...]

    @property
    def findings(self) -> tuple[str, ...]:
        """What needs a person."""
        return tuple(text for one in self.purchases if (text := one.finding))


def costs(
    plans: Sequence[Plan], platform: Platform, prices: PriceTable, *, daemonset_pods: int, api: ApiPrice | None
) -> Costs:
    """Reckon all of it."""
    bought = purchases(plans, platform, prices, daemonset_pods=daemonset_pods)
    usd_per_gpu_h = {one.pool: one.bought.usd_per_gpu_h if one.bought else None for one in bought}
    tokens, months = {}, {}
    for plan in plans:
        each = usd_per_gpu_h[plan.service.node_pool]
        tokens[plan.name] = token_cost(plan, each)
        if api:
            months[plan.name] = api_month(plan, tokens[plan.name].month_usd, api)
    return Costs(bought, tokens, months, shared(plans))


def echo(found: Costs) -> None:
    """Print every section; what needs a person comes last and starts with `!`."""
    for section in _sections(found):
        click.secho(section.title, bold=True)
        if section.rows:
            table(section.columns, section.rows)
        for line in section.lines:
            click.echo(f"  {line}")
        click.echo()
    for text in found.findings:
        click.echo(f"! {text}")


def _sections(found: Costs) -> Iterator[Section]:
    for purchase in found.purchases:
        yield from purchase_sections(purchase)
    yield _tokens(found.tokens)
    if found.months:
        yield _api(found.months)
    yield from map(_shared, found.shared)


def _tokens(tokens: dict[str, TokenCost]) -> Section:
    rows = tuple(
        (
            name,
            dollars(one.measured_usd),
            dollars(one.at_peak_usd),
            _percent(one.peak_pct),
            dollars(one.on_average_usd),
            _percent(one.average_pct),
        )
        for name, one in tokens.items()
    )
    columns = ("request", "as measured", "at the peak", "of measured", "on average", "of measured")
    why = (
        "of all planned replicas, on demand. Unknown: no output tokens per replica measured, or no peak to average said"
    )
    return Section("Dollars per million output tokens", columns, rows, (why,))


def _percent(share: Fraction | None) -> str:
    return UNKNOWN if share is None else f"{decimal_text(round(share, 1))} %"


def _api(months: dict[str, Comparison | None]) -> Section:
    rows = tuple(
        (name, UNKNOWN, UNKNOWN, UNKNOWN)
        if one is None
        else (name, dollars(one.own_usd), dollars(one.api_usd), _million(one.break_even_output_tokens))
        for name, one in months.items()
    )
    columns = ("request", "own $ a month", "API $ a month", "same at million output tokens a month")
    why = "own: all planned replicas all month; tokens: on average, without cached prefixes, unknown where not said"
    return Section("Against a managed API", columns, rows, (why,))


def _million(tokens: Fraction | None) -> str:
    return UNKNOWN if tokens is None else f"{round(tokens / 10**6):,}"


def _shared(one: Shared) -> Section:
    rows = tuple(
        (
            each.tenant,
            *(
                decimal_text(round(value, 1))
                for value in (
                    each.at_peak + each.crowded_out + each.over_quota,
                    each.quota,
                    each.at_peak,
                    each.over_quota + each.crowded_out,
                    each.guaranteed,
                    each.unordered,
                )
            ),
        )
        for each in one.envelope.allotments
    )
    columns = ("request", "peak", "quota", "admitted if all peak", "refused", "guaranteed", "first come first served")
    carried = f"{one.replicas} replicas x {decimal_text(one.in_flight_per_replica)}"
    promised = f"{decimal_text(one.envelope.quotas)}, {decimal_text(round(one.envelope.over_commit, 2))} times it"
    lines = (
        f"envelope: {carried} = {decimal_text(one.envelope.capacity)} in flight; quotas together {promised}",
        "a quota is what the request was sized for; interactive goes before asynchronous, that before batch",
        "guaranteed and first come first served: with every neighbour at its quota, with and without that order",
    )
    return Section(f"Requests that share {one.service}, in flight", columns, rows, lines)


def data(found: Costs) -> dict[str, Any]:
    """The same as plain data; unknown numbers are null."""
    return {
        "pools": [purchase_data(one) for one in found.purchases],
        "usd_per_million_output_tokens": [
            {
                "request": name,
                "measured": number(one.measured_usd),
                "at_peak": number(one.at_peak_usd),
                "on_average": number(one.on_average_usd),
                "peak_pct": number(one.peak_pct),
                "average_pct": number(one.average_pct),
            }
            for name, one in found.tokens.items()
        ],
        "api": [{"request": name} | _api_data(one) for name, one in found.months.items()],
        "shared": [_shared_data(one) for one in found.shared],
        "findings": list(found.findings),
    }


def _api_data(one: Comparison | None) -> dict[str, Any]:
    names = {
        "own_usd": "own_usd_per_month",
        "api_usd": "api_usd_per_month",
        "break_even_output_tokens": "break_even_output_tokens_per_month",
    }
    return {said: number(getattr(one, name) if one else None) for name, said in names.items()}


def _shared_data(one: Shared) -> dict[str, Any]:
    names = ("quota", "at_peak", "over_quota", "crowded_out", "guaranteed", "unordered")
    return {
        "service": one.service,
        "replicas": one.replicas,
        "capacity_in_flight": number(one.envelope.capacity),
        "quotas_in_flight": number(one.envelope.quotas),
        "over_commit": number(one.envelope.over_commit),
        "requests": [
            {"request": each.tenant} | {name: number(getattr(each, name)) for name in names}
            for each in one.envelope.allotments
        ],
    }
