"""A region's prices as the text of its file: the same figures always make the same text, so a refresh is a diff."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal

from stacks.prices import TERMS, Figure, Prices, Terms

HEAD = """\
# Prices of GPU nodes: Linux, shared tenancy (a .metal has its host to itself), US dollars per node and hour.
# `warmline size prices --refresh --write` rewrites this file; what a stack knows better goes into its own prices.yaml.
"""


def text_of_prices(prices: Prices) -> str:
    """The file; sources that no figure names are left out."""
    return "".join(_lines(prices))


def _lines(prices: Prices) -> Iterator[str]:
    yield HEAD
    yield f"region: {prices.region}\ncurrency: {prices.currency}\nsources:\n"
    used = {figure.source for terms in prices.instance_types.values() for _, figure in _figures(terms)}
    for name in sorted(used):
        source = prices.sources[name]
        yield f"  {_scalar(name)}:\n    address: {json.dumps(source.address)}\n    date: {source.date}\n"
    yield "instance_types:\n"
    for name, terms in sorted(prices.instance_types.items()):
        parts = [f"{term}: {_flow(figure)}" for term, figure in _figures(terms)]
        yield f"  {name}: {{{', '.join(parts) or 'on_demand: unknown'}}}\n"


def _figures(terms: Terms) -> Iterator[tuple[str, Figure]]:
    for term in TERMS:
        if figure := terms.get(term):
            yield term, figure


def _flow(figure: Figure) -> str:
    return f"{{usd_per_h: {plain(figure.usd_per_h)}, source: {_scalar(figure.source)}}}"


def _scalar(text: str) -> str:
    """`text` as YAML: plain where nothing but text can be read out of it, else quoted."""
    return text if re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", text) else json.dumps(text)


def plain(number: Decimal) -> str:
    """`number` in full, without exponent and trailing zeros (`2.24208`, `55.04`, `7`)."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
