"""Prices as tables for people and plain data for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from cli.output import table as draw
from cli.prices.refresh import Refresh
from stacks.prices import PRICES_FILE, TERMS, Price, PriceTable, Term
from stacks.prices_text import plain


def _rows(table: PriceTable, names: Sequence[str]) -> Iterator[tuple[str, Term, Price | None]]:
    """Every known figure, and the on-demand price also where it is unknown."""
    for name in names:
        for term in TERMS:
            price = table.price(name, term)
            if price or term == "on_demand":
                yield name, term, price


def echo(table: PriceTable, names: Sequence[str]) -> None:
    """Print what is known of `names`, and what to do about the rest."""
    rows = list(_rows(table, names))
    cells = [
        [name, term, plain(price.usd_per_h), price.date, price.address] if price else [name, term, "unknown", "", ""]
        for name, term, price in rows
    ]
    draw(["instance type", "term", "$ per hour", "of", "source"], cells, title=f"{table.region}, US dollars")
    known = {term for _, term, price in rows if price}
    if not table.prices:
        click.echo(f"No list of {table.region} is here, and no figure is taken from another region.")
    if any(price is None for _, _, price in rows):
        click.echo(f"Unknown: ask with --refresh --write, or write what you pay to the stack's {PRICES_FILE}.")
    if missing := [term for term in TERMS if term not in known and term != "on_demand"]:
        what = "--refresh asks for them; what you pay instead belongs in"
        click.echo(f"Unknown of all of them: {', '.join(missing)}. {what} the stack's {PRICES_FILE}.")


def data(table: PriceTable, names: Sequence[str]) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "region": table.region,
        "currency": "USD",
        "prices": [
            {
                "instance_type": name,
                "term": term,
                "usd_per_h": price and float(price.usd_per_h),
                "date": price and price.date,
                "source": price and price.address,
            }
            for name, term, price in _rows(table, names)
        ],
    }


def echo_refresh(found: Refresh, wrote: str | None) -> None:
    """Print what a refresh changes, what it could not, and whether it was written to `wrote`."""
    if found.changes:
        cells = [
            [one.instance_type, one.term, "unknown" if one.before is None else plain(one.before), plain(one.after)]
            for one in found.changes
        ]
        draw(["instance type", "term", "$ per hour", "becomes"], cells, title=f"{found.prices.region}, US dollars")
    click.echo(f"{len(found.changes)} changed, {found.confirmed} confirmed.")
    for what, name in found.unlisted:
        click.echo(f"! {name}: not in {what} of {found.prices.region}; what was known of it stays as it was")
    for name, term in found.ambiguous:
        click.echo(f"! {name}: there are several prices for {term}, and none was taken")
    for what, error in found.failed:
        why = f"{error.address}: {error.reason}. {error.fix}"
        click.echo(f"! {what}: not refreshed, what was known stays as it was: {why}")
    click.echo(f"Wrote {wrote}." if wrote else "Nothing was written: --write does it.")


def refresh_data(found: Refresh, wrote: str | None) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "region": found.prices.region,
        "changes": [
            {
                "instance_type": one.instance_type,
                "term": one.term,
                "before": one.before and float(one.before),
                "after": float(one.after),
            }
            for one in found.changes
        ],
        "confirmed": found.confirmed,
        "unlisted": [{"instance_type": name, "in": what} for what, name in found.unlisted],
        "ambiguous": [{"instance_type": name, "term": term} for name, term in found.ambiguous],
        "not_refreshed": [
            {"what": what, "address": error.address, "reason": error.reason, "fix": error.fix}
            for what, error in found.failed
        ],
        "wrote": wrote,
    }
