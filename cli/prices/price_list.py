"""The AWS Price List Query API: what it says a node costs, on demand and reserved.

Source: botocore 1.44.8, service model pricing/2017-10-15; the price list's terms, attributes and filters as Karpenter
queries them (aws/karpenter-provider-aws pkg/providers/pricing/pricing.go, read 2026-11-29).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from stacks.prices import Term
from stacks.reach import OutOfReach

if TYPE_CHECKING:
    from types_boto3_pricing.client import PricingClient

ENDPOINT_REGION = "us-east-1"
"""One of the few that answer for every region. Source: botocore 1.44.8, endpoints of `pricing`."""
ADDRESS = f"https://api.pricing.{ENDPOINT_REGION}.amazonaws.com"
FIX = (
    "Check the network and the AWS credentials (pricing:GetProducts), or write the figures to the stack's prices.yaml."
)

_CONSTANT_FILTERS = {
    "operatingSystem": "Linux",
    "preInstalledSw": "NA",
    "licenseModel": "No License required",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}
# What is bought: (product family, tenancy). A bare-metal host has its own family.
_PRODUCTS = {
    ("Compute Instance", "Shared"),
    ("Compute Instance (bare metal)", "Shared"),
    ("Compute Instance (bare metal)", "Dedicated"),
}
_RESERVED: dict[str, Term] = {"1yr": "reserved_1y", "3yr": "reserved_3y"}


@dataclass(frozen=True)
class Listed:
    """What the list says of one instance type: dollars per hour by term, and the day the list was published.

    Terms with several prices are in `ambiguous` instead: which of them holds is not guessed.
    """

    usd_per_h: Mapping[Term, Decimal]
    ambiguous: tuple[Term, ...]
    date: str


def connect() -> PricingClient:
    """The client, with the caller's own credentials and short limits of time.

    Raises:
        OutOfReach: the credentials' configuration is no good.
    """
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    limits = Config(connect_timeout=5, read_timeout=30, retries={"mode": "standard", "max_attempts": 3})
    try:
        return boto3.client("pricing", region_name=ENDPOINT_REGION, config=limits)
    except BotoCoreError as error:
        raise _out_of_reach(error) from None


def ask(client: PricingClient, region: str, instance_type: str) -> Listed | None:
    """What `instance_type` costs in `region`; None if the list has no such node there.

    Raises:
        OutOfReach: no credentials, no answer, a refusal, or an answer of another shape.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    wanted = {"instanceType": instance_type, "regionCode": region, **_CONSTANT_FILTERS}
    try:
        pages = client.get_paginator("get_products").paginate(
            ServiceCode="AmazonEC2",
            Filters=[{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()],
        )
        documents = [json.loads(text) for page in pages for text in page["PriceList"]]
        return _listed(documents)
    except (BotoCoreError, ClientError) as error:
        raise _out_of_reach(error) from None
    except (AttributeError, InvalidOperation, KeyError, TypeError, ValueError) as error:
        reason = f"its answer for {instance_type} is not of the price list's shape ({type(error).__name__}: {error})"
        raise OutOfReach(ADDRESS, reason, FIX) from None


def _out_of_reach(error: Exception) -> OutOfReach:
    return OutOfReach(ADDRESS, " ".join(str(error).split()).rstrip("."), FIX)


def _listed(documents: list[dict[str, Any]]) -> Listed | None:
    found: dict[Term, set[Decimal]] = {}
    dates = set()
    for document in documents:
        product = document["product"]
        if (product["productFamily"], product["attributes"]["tenancy"]) not in _PRODUCTS:
            continue
        dates.add(document["publicationDate"][:10])
        for term, price in _prices(document["terms"]):
            found.setdefault(term, set()).add(price)
    if not found:
        return None
    known = {term: next(iter(prices)) for term, prices in found.items() if len(prices) == 1}
    return Listed(known, tuple(term for term in found if term not in known), min(dates))


def _prices(terms: dict[str, Any]) -> Iterator[tuple[Term, Decimal]]:
    for offer in terms.get("OnDemand", {}).values():
        yield from (("on_demand", price) for price in _hourly(offer))
    for offer in terms.get("Reserved", {}).values():
        bought = offer["termAttributes"]
        if (bought["OfferingClass"], bought["PurchaseOption"]) == ("standard", "No Upfront"):
            yield from ((_RESERVED[bought["LeaseContractLength"]], price) for price in _hourly(offer))


def _hourly(offer: dict[str, Any]) -> Iterator[Decimal]:
    for dimension in offer["priceDimensions"].values():
        if dimension["unit"] == "Hrs" and "USD" in dimension["pricePerUnit"]:
            price = Decimal(dimension["pricePerUnit"]["USD"])
            if price > 0:  # what is free is not for sale this way
                yield price
