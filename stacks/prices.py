"""What a node costs per hour: tables by region in which every figure has a source and a date, or is unknown.

`prices/<region>.yaml` is the public list, `<stack>/prices.yaml` what a stack knows better (an agreement's prices, a
savings plan's rate) and the region it is in. No figure is ever guessed from another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from stacks.faults import InputError, Misfit
from stacks.field_types import Positive, Spec, Text, fault
from stacks.folders import stacks_root
from stacks.reading import faults_at, read

PRICES_FILE = "prices.yaml"
REGION = r"^[a-z]{2}(-[a-z]+)+-\d$"
SHIPPED = Path(__file__).parent / "prices"

Term = Literal["on_demand", "reserved_1y", "reserved_3y", "savings_plan_1y", "savings_plan_3y"]
TERMS: tuple[Term, ...] = get_args(Term)
"""`reserved_*`: standard Reserved Instances without upfront payment, whose hours are all paid; `savings_plan_*`: the
rate of an EC2 Instance Savings Plan without upfront payment, paid for every hour as well."""


def _real_date(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise fault("date", (), text, "a date, as 2026-07-20", "Correct the date.") from None
    return text


class Source(Spec):
    """Where figures were read (an address anyone can open, or the agreement they stand in), and the day they are of."""

    address: Text
    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$"), AfterValidator(_real_date)]


class Figure(Spec):
    """One price: US dollars per hour of one node, and the name of its source."""

    usd_per_h: Positive
    source: Text


def _unknown(value: Any) -> Any:
    return None if value == "unknown" else value


FigureOrUnknown = Annotated[
    Figure | None, BeforeValidator(_unknown, json_schema_input_type=Figure | Literal["unknown"])
]


Terms = dict[Term, FigureOrUnknown]
InstanceTypeName = Annotated[str, Field(pattern=r"^[a-z0-9-]+\.[a-z0-9-]+$")]


class Prices(Spec):
    """One region's prices of Linux nodes of shared tenancy, without upfront payment.

    Terms are on_demand, reserved_1y, reserved_3y (standard Reserved Instances), savings_plan_1y and savings_plan_3y.
    What is left out is unknown; `unknown` instead of a figure says so, and in a stack's own file hides the public one.
    """

    region: Annotated[str, Field(pattern=REGION)]
    currency: Literal["USD"] = "USD"
    sources: dict[Text, Source] = Field(default_factory=dict, description="by a name that figures refer to")
    instance_types: dict[InstanceTypeName, Terms] = Field(default_factory=dict, description="by type, then by term")


@dataclass(frozen=True)
class Price:
    """One node-hour in US dollars; `address` and `date` say where the figure is from and of which day it is."""

    usd_per_h: Decimal
    address: str
    date: str


@dataclass(frozen=True)
class PriceTable:
    """Every known price of one region; `region` None where the stack does not say it: then nothing is known."""

    region: str | None = None
    prices: Mapping[tuple[str, Term], Price] = field(default_factory=dict)

    def price(self, instance_type: str, term: Term = "on_demand") -> Price | None:
        """The price, None if it is unknown."""
        return self.prices.get((instance_type, term))

    def usd_per_h(self, instance_type: str, term: Term = "on_demand") -> Decimal | None:
        """Its dollars alone."""
        price = self.price(instance_type, term)
        return price.usd_per_h if price else None


def own_region_file(region: str) -> Path:
    """Where a refresh writes the region's public list: beside the stacks."""
    return stacks_root() / SHIPPED.name / f"{region}.yaml"


def region_file(region: str) -> Path:
    """The region's public list: the one beside the stacks, else the one that is shipped."""
    own = own_region_file(region)
    return own if own.is_file() else SHIPPED / own.name


def load_region(region: str) -> Prices:
    """The public list of one region; empty if there is none.

    Raises:
        InputError: with every fault of the file.
    """
    path = region_file(region)
    return _read(path, region) if path.is_file() else Prices(region=region)


def load_prices(folder: Path, region: str | None = None) -> PriceTable:
    """What a stack's nodes cost: its own figures before the public list's. `region` wins over the file's.

    Raises:
        InputError: with every fault of either file.
    """
    path = folder / PRICES_FILE
    own = _read(path) if path.exists() else None
    where = region or (own.region if own else None)
    if where is None:
        return PriceTable()
    tables = [load_region(where)]
    if own and own.region == where:
        tables.append(own)
    return PriceTable(where, _joined(tables))


def _joined(tables: Iterable[Prices]) -> dict[tuple[str, Term], Price]:
    """Later tables win, with an `unknown` too."""
    found: dict[tuple[str, Term], Price] = {}
    for table in tables:
        for name, terms in table.instance_types.items():
            for term, figure in terms.items():
                if figure is None:
                    found.pop((name, term), None)
                    continue
                source = table.sources[figure.source]
                found[name, term] = Price(figure.usd_per_h, source.address, source.date)
    return found


def _read(path: Path, region: str | None = None) -> Prices:
    reading = read(path, Prices)
    if reading.readable is not None:
        reading.faults.extend(faults_at(reading, _misfits(reading.readable, region)))
    if reading.model is None or reading.faults:
        raise InputError(reading.faults)
    return reading.model


def _misfits(prices: Prices, region: str | None) -> Iterator[Misfit]:
    if region not in (None, prices.region):
        yield Misfit(("region",), prices.region, f"{region}, as the file is called", "Correct one of the two.")
    known = ", ".join(prices.sources) or "none yet"
    for name, terms in prices.instance_types.items():
        for term, figure in terms.items():
            if figure and figure.source not in prices.sources:
                place = ("instance_types", name, term, "source")
                yield Misfit(place, figure.source, f"a name in sources ({known})", "Add the source, or correct it.")
