"""Answers of the Savings Plans API, as DescribeSavingsPlansOfferingRates hands them out.

Made in the shape of botocore's service model (savingsplans/2019-06-28); identifiers and figures are invented.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import boto3
from botocore.awsrequest import AWSResponse

YEAR_S = 31_536_000


def client() -> Any:
    return boto3.client("savingsplans", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")


def rate(usd: str, *, years: int = 1, instance_type: str = "g6e.2xlarge", **changes: Any) -> dict[str, Any]:
    """One rate. `changes` are fields of it, of its offering or of its properties (None: without it)."""
    offering = {
        "offeringId": "2c9d6b1e-0f4a-4a3c-9f1d-4f0a7f3b1c55",
        "paymentOption": "No Upfront",
        "planType": "EC2Instance",
        "durationSeconds": years * YEAR_S,
        "currency": "USD",
        "planDescription": f"{years} year No Upfront g6e EC2 Instance Savings Plan in us-east-1",
    }
    properties = {
        "region": "us-east-1",
        "instanceFamily": instance_type.partition(".")[0],
        "instanceType": instance_type,
        "productDescription": "Linux/UNIX",
        "tenancy": "shared",
    }
    whole = {
        "savingsPlanOffering": offering | {name: value for name, value in changes.items() if name in offering},
        "rate": usd,
        "unit": "Hrs",
        "productType": "EC2",
        "serviceCode": "AmazonEC2",
        "usageType": f"BoxUsage:{instance_type}",
        "operation": "RunInstances",
        "properties": [
            {"name": name, "value": changes.get(name, value)}
            for name, value in properties.items()
            if changes.get(name, value) is not None
        ],
    }
    return whole | {name: value for name, value in changes.items() if name in whole}


def page(*rates: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"searchResults": list(rates), **more}


class _Body:
    """The part of urllib3's response that botocore reads."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.content


def answering(answer: Callable[[dict[str, Any]], Any]) -> Any:
    """A real client whose requests end before the network: `answer` makes the page from the request."""

    def send(request: Any, **_: Any) -> AWSResponse:
        content = _Body(json.dumps(answer(json.loads(request.body))).encode())
        return AWSResponse(request.url, 200, {"Content-Type": "application/json"}, content)  # type: ignore[arg-type]

    made = client()
    made.meta.events.register("before-send.savingsplans.DescribeSavingsPlansOfferingRates", send)
    return made
