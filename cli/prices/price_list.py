"""The AWS Price List Query API: what it says a node costs, on demand and reserved.

Source: botocore 1.44.8, service model pricing/2017-10-15; the price list's terms, attributes and filters as Karpenter
queries them (aws/karpenter-provider-aws pkg/providers/pricing/pricing.go, read 2026-11-29).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from cli.prices.asked import ENDPOINT_REGION, Listed, Service, asking, limits, listed
from stacks.prices import Term

if TYPE_CHECKING:
    from types_boto3_pricing.client import PricingClient

PRICE_LIST = Service(
    name="aws-price-list",
    what="the price list",
    address=f"https://api.pricing.{ENDPOINT_REGION}.amazonaws.com",
    question="GetProducts, AmazonEC2",
    right="pricing:GetProducts",
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


def connect() -> PricingClient:
    """The client, with the caller's own credentials and short limits of time.

    Raises:
        OutOfReach: the credentials' configuration is no good.
    """
    import boto3

    with asking(PRICE_LIST):
        return boto3.client("pricing", region_name=ENDPOINT_REGION, config=limits())


def ask(client: PricingClient, region: str, instance_type: str) -> Listed | None:
    """What `instance_type` costs in `region`; None if the list has no such node there.

    Raises:
        OutOfReach: no credentials, no answer, a refusal, or an answer of another shape.
    """
    wanted = {"instanceType": instance_type, "regionCode": region, **_CONSTANT_FILTERS}
    with asking(PRICE_LIST, instance_type):
        pages = client.get_paginator("get_products").paginate(
            ServiceCode="AmazonEC2",
            Filters=[{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()],
        )
        documents = [json.loads(text) for page in pages for text in page["PriceList"]]
        return _listed(documents)


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
    return listed(found, min(dates)) if found else None


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
