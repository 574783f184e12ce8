"""A region's prices brought up to what AWS says: what changes, decided before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from cli.prices.asked import Answers
from stacks.prices import Figure, Prices, Source, Term, Terms
from stacks.reach import OutOfReach


@dataclass(frozen=True)
class Change:
    """One figure that is another now; `before` is None where it was unknown, `after` never is."""

    instance_type: str
    term: Term
    before: Decimal | None
    after: Decimal


@dataclass(frozen=True)
class Refresh:
    """`confirmed`: figures that are as they were, and now of the answer's day.

    `unlisted`: (what was asked, type) of which it has nothing in the region; `ambiguous`: figures of which it has
    several; `failed`: services that did not answer, with what they were asked for. Of none of them anything changes: an
    old figure keeps its own day.
    """

    prices: Prices
    changes: tuple[Change, ...]
    confirmed: int
    unlisted: tuple[tuple[str, str], ...]
    ambiguous: tuple[tuple[str, Term], ...]
    failed: tuple[tuple[str, OutOfReach], ...] = ()


def refreshed(prices: Prices, asked: Sequence[Answers], failed: Sequence[tuple[str, OutOfReach]] = ()) -> Refresh:
    """Take every figure of what was `asked` into `prices`."""
    sources, types = dict(prices.sources), dict(prices.instance_types)
    changes: list[Change] = []
    confirmed = 0
    for service, name, answer in ((one.service, *pair) for one in asked for pair in one.of_types.items()):
        old = types.setdefault(name, {})
        if answer is None:
            continue
        source = f"{service.name}-{answer.date}"
        address = f"{service.address} ({service.question}, {prices.region})"
        sources[source] = Source(address=address, date=answer.date)
        new: Terms = {term: Figure(usd_per_h=usd, source=source) for term, usd in answer.usd_per_h.items()}
        types[name] = old | new
        for term, usd in answer.usd_per_h.items():
            figure = old.get(term)
            before = figure.usd_per_h if figure else None
            if before == usd:
                confirmed += 1
            else:
                changes.append(Change(name, term, before, usd))
    everything = [(one.service.what, *pair) for one in asked for pair in one.of_types.items()]
    unlisted = tuple((what, name) for what, name, answer in everything if answer is None)
    ambiguous = tuple((name, term) for _, name, answer in everything if answer for term in answer.ambiguous)
    result = prices.model_copy(update={"sources": sources, "instance_types": types})
    return Refresh(result, tuple(changes), confirmed, unlisted, ambiguous, tuple(failed))
