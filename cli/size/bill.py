"""What a plan's tokens cost, and who shares a service: as sections for people and as plain data for programs."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from capacity.purchase.bill import Bill, TokenCost
from capacity.purchase.money import Comparison
from capacity.replicas import decimal_text
from capacity.sizing.shared import Shared
from cli.output import number
from cli.size.purchase import UNKNOWN, dollars
from cli.size.section import Section

NOT_MEASURED = "what one replica puts out was not measured: result files show it, or per_replica.output_tokens_per_s"
NO_PEAK = "a class says neither output_tokens.mean nor its rate"
NO_AVERAGE = "a class says its peak alone: average_pct is the mean of a month"
NO_PRICE = "the price of a node is unknown"


def request_sections(name: str, bill: Bill) -> Iterator[Section]:
    """What a million tokens of one request cost, and the same at a managed API where its price was given."""
    yield _tokens(bill.tokens[name])
    if name in bill.months:
        yield _api(bill.months[name])


def _tokens(one: TokenCost) -> Section:
    rows = (
        (
            "as measured: every replica at its number",
            dollars(one.measured_usd),
            _percent(one.measured_usd and Fraction(100)),
        ),
        ("at the projected peak", dollars(one.at_peak_usd), _percent(one.peak_pct)),
        ("on average", dollars(one.on_average_usd), _percent(one.average_pct)),
    )
    columns = ("planned replicas, all month, on demand", "$ per million output tokens", "of what was measured")
    return Section("Money per token", columns, rows, tuple(_why_unknown(one)))


def _why_unknown(one: TokenCost) -> Iterator[str]:
    if one.month_usd is None:
        yield f"unknown: {NO_PRICE}"
        return
    for value, why in (
        (one.measured_usd, NOT_MEASURED),
        (one.at_peak_usd, NO_PEAK),
        (one.on_average_usd, NO_AVERAGE if one.at_peak_usd is not None else NO_PEAK),
    ):
        if value is None:
            yield f"unknown: {why}"


def _percent(share: Fraction | None) -> str:
    return UNKNOWN if share is None else f"{decimal_text(round(share, 1))} %"


def _api(one: Comparison | None) -> Section:
    columns = ("own $ a month", "API $ a month", "same at million output tokens a month")
    cells = (UNKNOWN, UNKNOWN, UNKNOWN) if one is None else (dollars(one.own_usd), dollars(one.api_usd), _even(one))
    lines = ["own: all planned replicas all month; the API: the average month's tokens, cached prefixes left out"]
    if one is None:
        lines.append("unknown: it takes mean input and output lengths, prefix_cache_hit_pct, and an average load")
    elif one.break_even_output_tokens is not None:
        lines.append(_within(one, one.break_even_output_tokens))
    return Section("Against a managed API", columns, (cells,), tuple(lines))


def _even(one: Comparison) -> str:
    return "never, at this many replicas" if one.is_even_carried is False else _million(one.break_even_output_tokens)


def _within(one: Comparison, even: Fraction) -> str:
    if one.is_even_carried is None:
        return f"whether the replicas carry as much is unknown: {NOT_MEASURED}"
    most = f"at their number all month the replicas put out {_million(one.carried_output_tokens)} million"
    return most if one.is_even_carried else f"{most}; the API would cost as much at {_million(even)} million"


def _million(tokens: Fraction | None) -> str:
    return UNKNOWN if tokens is None else f"{round(tokens / 10**6):,}"


def shared_section(one: Shared) -> Section:
    """Requests that name one service: quotas, and what happens when all come at once."""
    rows = tuple(
        (
            each.tenant,
            str(tenant.priority),
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
        for tenant, each in zip(one.tenants, one.envelope.allotments, strict=True)
    )
    columns = (
        "request",
        "priority",
        "peak",
        "quota",
        "admitted if all peak",
        "refused",
        "guaranteed",
        "first come first served",
    )
    carried = f"{one.replicas} replicas x {decimal_text(one.in_flight_per_replica)}"
    promised = f"{decimal_text(one.envelope.quotas)}, {decimal_text(round(one.envelope.over_commit, 2))} times it"
    lines = (
        f"envelope: {carried} = {decimal_text(one.envelope.capacity)} in flight; quotas together {promised}",
        "a quota is quota_in_flight, or its share of what the others' quotas leave; else what it was sized for",
        "a higher priority goes first, and equals by their shares; not said, by product.execution",
        "guaranteed and first come first served: with every neighbour at its quota, with and without that order",
    )
    return Section(f"Requests that share {one.service}, in flight", columns, rows, lines)


def shared_headlines(one: Shared) -> Iterator[str]:
    """What is promised beyond what there is."""
    refused = sum((each.over_quota + each.crowded_out for each in one.envelope.allotments), Fraction(0))
    if one.envelope.over_commit > 1 or refused:
        times = decimal_text(round(one.envelope.over_commit, 2))
        turned_away = f"{decimal_text(round(refused, 1))} in flight are refused" if refused else "nothing is refused"
        yield f"the quotas of its requests are {times} times what it carries; when all peak, {turned_away}"


def request_data(name: str, bill: Bill) -> dict[str, Any]:
    """Unknown numbers are null; `api` is, where no API's price was given or the month cannot be told."""
    one = bill.tokens[name]
    return {
        "usd_per_million_output_tokens": {
            "measured": number(one.measured_usd),
            "at_peak": number(one.at_peak_usd),
            "on_average": number(one.on_average_usd),
            "peak_pct": number(one.peak_pct),
            "average_pct": number(one.average_pct),
        },
        "api": _api_data(bill.months.get(name)),
    }


def _api_data(one: Comparison | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "own_usd_per_month": number(one.own_usd),
        "api_usd_per_month": number(one.api_usd),
        "break_even_output_tokens_per_month": number(one.break_even_output_tokens),
        "carried_output_tokens_per_month": number(one.carried_output_tokens),
        "break_even_is_carried": one.is_even_carried,
    }


def shared_data(one: Shared) -> dict[str, Any]:
    """Of one service, in flight."""
    names = ("quota", "at_peak", "over_quota", "crowded_out", "guaranteed", "unordered")
    return {
        "service": one.service,
        "replicas": one.replicas,
        "capacity_in_flight": number(one.envelope.capacity),
        "quotas_in_flight": number(one.envelope.quotas),
        "over_commit": number(one.envelope.over_commit),
        "requests": [
            {"request": each.tenant, "priority": tenant.priority, "share": number(tenant.share)}
            | {name: number(getattr(each, name)) for name in names}
            for tenant, each in zip(one.tenants, one.envelope.allotments, strict=True)
        ],
    }
