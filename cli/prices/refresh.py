"""A region's prices brought up to the price list: what changes, decided before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from cli.prices.price_list import ADDRESS, Listed
from stacks.prices import Figure, Prices, Source, Term, Terms


@dataclass(frozen=True)
class Change:
    """One figure that is another now; `before` is None where it was unknown, `after` never is."""

    instance_type: str
    term: Term
    before: Decimal | None
    after: Decimal


@dataclass(frozen=True)
class Refresh:
    """`confirmed`: figures that are as they were, and now of the list's day.

    `unlisted`: types the region's list has not; `ambiguous`: figures of which it has several. Of neither anything
    changes: an old figure keeps its own day.
    """

    prices: Prices
    changes: tuple[Change, ...]
    confirmed: int
    unlisted: tuple[str, ...]
    ambiguous: tuple[tuple[str, Term], ...]


def refreshed(prices: Prices, answers: Mapping[str, Listed | None]) -> Refresh:
    """Take every figure of `answers`, by instance type, into `prices`."""
    sources, types = dict(prices.sources), dict(prices.instance_types)
    changes: list[Change] = []
    confirmed = 0
    for name, answer in answers.items():
        old = types.setdefault(name, {})
        if answer is None:
            continue
        source = f"aws-price-list-{answer.date}"
        sources[source] = Source(address=f"{ADDRESS} (GetProducts, AmazonEC2, {prices.region})", date=answer.date)
        new: Terms = {term: Figure(usd_per_h=usd, source=source) for term, usd in answer.usd_per_h.items()}
        types[name] = old | new
        for term, usd in answer.usd_per_h.items():
            figure = old.get(term)
            before = figure.usd_per_h if figure else None
            if before == usd:
                confirmed += 1
            else:
                changes.append(Change(name, term, before, usd))
    unlisted = tuple(name for name, answer in answers.items() if answer is None)
    ambiguous = tuple((name, term) for name, answer in answers.items() if answer for term in answer.ambiguous)
    result = prices.model_copy(update={"sources": sources, "instance_types": types})
    return Refresh(result, tuple(changes), confirmed, unlisted, ambiguous)
