"""Documents of the AWS price list, as GetProducts hands them out: JSON in strings.

Made in the shape that AWS documents (AWS Billing user guide, "Reading the service price list file for an AWS
service") and that public clients read; identifiers are invented, except the codes of terms and rates.
"""

from __future__ import annotations

import json
from typing import Any

ON_DEMAND, HOURLY, UPFRONT = "JRTCKXETXF", "6YS6EN2CT7", "2TG2D8R56U"
# (contract length, class, payment) -> the list's code of the term.
RESERVED_TERMS = {
    ("1yr", "standard", "No Upfront"): "4NA7Y494T4",
    ("1yr", "standard", "All Upfront"): "6QCMYABX3D",
    ("3yr", "standard", "No Upfront"): "BPH4J8HBKS",
    ("1yr", "convertible", "No Upfront"): "7NE97W5U4E",
}
SKU = "3D4V8UAYEMB38GU2"


def document(
    instance_type: str,
    usd: str,
    *,
    reserved: dict[tuple[str, str, str], str] | None = None,
    published: str = "2026-11-20T18:00:00Z",
    **product: str,
) -> str:
    """One product. `product` overrides `productFamily` and attributes; `reserved` maps terms to hourly prices."""
    attributes = {
        "servicecode": "AmazonEC2",
        "location": "US East (N. Virginia)",
        "locationType": "AWS Region",
        "regionCode": "us-east-1",
        "instanceType": instance_type,
        "currentGeneration": "Yes",
        "instanceFamily": "GPU instance",
        "operatingSystem": "Linux",
        "preInstalledSw": "NA",
        "licenseModel": "No License required",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
        "tenancy": "Shared",
        "usagetype": f"BoxUsage:{instance_type}",
        "operation": "RunInstances",
        "availabilityzone": "NA",
        "servicename": "Amazon Elastic Compute Cloud",
    } | {key: value for key, value in product.items() if key != "productFamily"}
    whole = {
        "product": {
            "productFamily": product.get("productFamily", "Compute Instance"),
            "attributes": attributes,
            "sku": SKU,
        },
        "serviceCode": "AmazonEC2",
        "terms": {
            "OnDemand": {f"{SKU}.{ON_DEMAND}": _offer(ON_DEMAND, usd, {})},
            "Reserved": {
                f"{SKU}.{RESERVED_TERMS[term]}": _offer(RESERVED_TERMS[term], price, _attributes(term))
                for term, price in (reserved or {}).items()
            },
        },
        "version": "20261120180000",
        "publicationDate": published,
    }
    return json.dumps(whole)


def _attributes(term: tuple[str, str, str]) -> dict[str, str]:
    return dict(zip(("LeaseContractLength", "OfferingClass", "PurchaseOption"), term, strict=True))


def _offer(code: str, usd: str, attributes: dict[str, str]) -> dict[str, Any]:
    dimensions = {f"{SKU}.{code}.{HOURLY}": _dimension(f"{SKU}.{code}.{HOURLY}", "Hrs", usd)}
    if attributes.get("PurchaseOption") == "All Upfront":
        dimensions[f"{SKU}.{code}.{UPFRONT}"] = _dimension(f"{SKU}.{code}.{UPFRONT}", "Quantity", "9999")
    return {
        "priceDimensions": dimensions,
        "sku": SKU,
        "effectiveDate": "2026-11-01T00:00:00Z",
        "offerTermCode": code,
        "termAttributes": attributes,
    }


def _dimension(rate: str, unit: str, usd: str) -> dict[str, Any]:
    return {
        "unit": unit,
        "endRange": "Inf",
        "description": f"${usd} per unit",
        "appliesTo": [],
        "rateCode": rate,
        "beginRange": "0",
        "pricePerUnit": {"USD": usd},
    }
