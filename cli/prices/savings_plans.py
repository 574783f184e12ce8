"""The Savings Plans API: what a node-hour costs under a plan without upfront payment.

Asked for EC2 Instance plans: the baselines' nodes, which a commitment is for, are of one family in one region, and that
is what such a plan is bound to, as a standard Reserved Instance is to its type. A Compute plan, which is bound to
neither and dearer, is a figure for the stack's own prices.yaml.

Source: botocore 1.44.8, service model savingsplans/2019-06-28; the values of its properties as public clients filter by
them (`shared`, `Linux/UNIX`), read 2026-11-30. A usage type begins with the region's code, as `EU-BoxUsage:g6e.xlarge`;
those of a capacity reservation that stands empty (`UnusedBox`) are no node's that runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from cli.prices.asked import ENDPOINT_REGION, Listed, Service, asking, limits, listed
from stacks.prices import Term

if TYPE_CHECKING:
    from types_boto3_savingsplans.client import SavingsPlansClient
    from types_boto3_savingsplans.type_defs import SavingsPlanOfferingRateTypeDef

SAVINGS_PLANS = Service(
    name="aws-savings-plans",
    what="the savings plans",
    address="https://savingsplans.amazonaws.com",
    question="DescribeSavingsPlansOfferingRates, EC2Instance, No Upfront",
    right="savingsplans:DescribeSavingsPlansOfferingRates",
)

_YEAR_S = 365 * 86400
_TERMS: dict[int, Term] = {_YEAR_S: "savings_plan_1y", 3 * _YEAR_S: "savings_plan_3y"}


def connect() -> SavingsPlansClient:
    """The client, with the caller's own credentials and short limits of time.

    Raises:
        OutOfReach: the credentials' configuration is no good.
    """
    import boto3

    with asking(SAVINGS_PLANS):
        return boto3.client("savingsplans", region_name=ENDPOINT_REGION, config=limits())


def ask(client: SavingsPlansClient, region: str, instance_type: str) -> Listed | None:
    """What `instance_type` costs in `region` under a plan, as of today: the API has no day of its own. None if none is
    offered.

    Raises:
        OutOfReach: no credentials, no answer, a refusal, or an answer of another shape.
    """
    wanted = {
        "region": region,
        "instanceType": instance_type,
        "tenancy": "shared",
        "productDescription": "Linux/UNIX",
    }
    found: dict[Term, set[Decimal]] = {}
    with asking(SAVINGS_PLANS, instance_type):
        for rate in _rates(client, wanted):
            term = _TERMS.get(rate["savingsPlanOffering"]["durationSeconds"])
            if term and _is_asked_for(rate, wanted) and (usd := Decimal(rate["rate"])) > 0:
                found.setdefault(term, set()).add(usd)
    return listed(found, datetime.now(UTC).date().isoformat()) if found else None


def _rates(client: SavingsPlansClient, wanted: dict[str, str]) -> Iterator[SavingsPlanOfferingRateTypeDef]:
    """Of every page; botocore has no paginator of this operation."""
    token = ""
    while True:
        page = client.describe_savings_plans_offering_rates(
            savingsPlanPaymentOptions=["No Upfront"],
            savingsPlanTypes=["EC2Instance"],
            products=["EC2"],
            serviceCodes=["AmazonEC2"],
            filters=[{"name": name, "values": [value]} for name, value in wanted.items()],  # type: ignore[typeddict-item]
            maxResults=1000,
            **({"nextToken": token} if token else {}),
        )
        yield from page["searchResults"]
        token = page.get("nextToken", "")
        if not token:
            return


def _is_asked_for(rate: SavingsPlanOfferingRateTypeDef, wanted: dict[str, str]) -> bool:
    """The node-hour that was asked for, in dollars: a filter that the API passes over is no reason to believe it."""
    offering = rate["savingsPlanOffering"]
    usage = rate["usageType"].partition(":")[0].rpartition("-")[2]
    said = {one["name"]: one["value"] for one in rate["properties"]}
    return (
        (offering["planType"], offering["paymentOption"], offering["currency"]) == ("EC2Instance", "No Upfront", "USD")
        and (rate["unit"], usage) == ("Hrs", "BoxUsage")
        and all(said[name] == value for name, value in wanted.items())
    )
