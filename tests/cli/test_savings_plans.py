"""Rates of savings plans: asked exactly, none guessed, and neither service's refusal loses the other's figures."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from botocore.stub import Stubber

from cli.prices import price_list, savings_plans
from cli.prices.asked import Listed
from cli.prices.savings_plans import ask
from stacks.prices import load_region
from stacks.reach import OutOfReach
from tests.cli import test_prices as lists
from tests.cli.price_list_documents import document
from tests.cli.savings_plan_rates import answering, client, page, rate

stacks = lists.stacks

OPERATION = "describe_savings_plans_offering_rates"
FILTERS = {
    "region": "us-east-1",
    "instanceType": "g6e.2xlarge",
    "tenancy": "shared",
    "productDescription": "Linux/UNIX",
}
ASKED: dict[str, Any] = {
    "savingsPlanPaymentOptions": ["No Upfront"],
    "savingsPlanTypes": ["EC2Instance"],
    "products": ["EC2"],
    "serviceCodes": ["AmazonEC2"],
    "filters": [{"name": name, "values": [value]} for name, value in FILTERS.items()],
    "maxResults": 1000,
}


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def found(*rates: dict[str, Any]) -> Listed | None:
    return ask(answering(lambda _: page(*rates)), "us-east-1", "g6e.2xlarge")


def test_the_question_and_the_answer_are_of_the_service_model() -> None:
    """The stub holds both against it; pages follow by their token."""
    asked = client()
    assert set(FILTERS) <= set(asked.meta.service_model.shape_for("SavingsPlanRateFilterAttribute").enum)
    before = today()
    with Stubber(asked) as stub:
        stub.add_response(OPERATION, page(rate("1.4120000000"), nextToken="bW9yZQ=="), ASKED)
        stub.add_response(OPERATION, page(rate("0.9680000000", years=3)), ASKED | {"nextToken": "bW9yZQ=="})
        answer = ask(asked, "us-east-1", "g6e.2xlarge")
        stub.assert_no_pending_responses()
    assert answer
    assert answer.usd_per_h == {"savings_plan_1y": Decimal("1.412"), "savings_plan_3y": Decimal("0.968")}
    assert answer.ambiguous == ()
    assert before <= answer.date <= today()


@pytest.mark.parametrize(
    "other",
    [
        {"planType": "Compute"},
        {"paymentOption": "All Upfront"},
        {"currency": "CNY"},
        {"unit": "Request"},
        {"usageType": "UnusedBox:g6e.2xlarge"},
        {"usageType": "EU-DedicatedUsage:g6e.2xlarge"},
        {"region": "eu-west-1"},
        {"instanceType": "g6e.xlarge"},
        {"tenancy": "dedicated"},
        {"productDescription": "Windows"},
        {"durationSeconds": 86_400},
    ],
    ids=str,
)
def test_what_was_not_asked_for_is_no_figure(other: dict[str, Any]) -> None:
    assert found(rate("0.5", **other)) is None
    answer = found(rate("0.5", **other), rate("1.412"))
    assert answer
    assert answer.usd_per_h == {"savings_plan_1y": Decimal("1.412")}


def test_other_regions_begin_their_usage_with_a_code() -> None:
    assert found(rate("1.5", usageType="EUC1-BoxUsage:g6e.2xlarge"))


def test_of_several_rates_none_is_taken_and_the_same_twice_is_one() -> None:
    answer = found(rate("1.4"), rate("1.5"), rate("0.9", years=3), rate("0.90", years=3))
    assert answer
    assert (answer.usd_per_h, answer.ambiguous) == ({"savings_plan_3y": Decimal("0.9")}, ("savings_plan_1y",))


def test_a_type_without_a_plan() -> None:
    assert found() is None
    assert found(rate("0.0000000000")) is None


STRANGE = {
    "no number": page(rate("a lot")),
    "no property": page(rate("1.4", region=None)),
    "no offering": page({name: value for name, value in rate("1.4").items() if name != "savingsPlanOffering"}),
    "no unit": page({name: value for name, value in rate("1.4").items() if name != "unit"}),
    "no results": {},
}


@pytest.mark.parametrize("answer", STRANGE.values(), ids=STRANGE.keys())
def test_an_answer_of_another_shape_is_out_of_reach(answer: dict[str, Any]) -> None:
    with pytest.raises(OutOfReach, match=r"its answer for g6e\.2xlarge is not of the shape of the savings plans"):
        ask(answering(lambda _: answer), "us-east-1", "g6e.2xlarge")


def refusing(operation: str, made: Any) -> Any:
    stub = Stubber(made)
    stub.add_client_error(operation, "AccessDeniedException", "User: x is not authorized", 403)
    stub.activate()
    return made


LIST = lists.listing(document("g6e.2xlarge", "2.5"))
PLANS = page(rate("1.412"))
CASES: dict[str, tuple[Any, Any, dict[str, float], str]] = {
    "the savings plans": (
        lambda: lists.answering(lambda _: LIST),
        lambda: refusing(OPERATION, client()),
        {"on_demand": 2.5},
        "savingsplans:DescribeSavingsPlansOfferingRates",
    ),
    "the price list": (
        lambda: refusing("get_products", lists.client()),
        lambda: answering(lambda _: PLANS),
        {"on_demand": 2.24208, "savings_plan_1y": 1.412},
        "pricing:GetProducts",
    ),
}


@pytest.mark.parametrize("refused", CASES)
def test_one_refusal_loses_nothing_of_the_other(stacks: Path, monkeypatch: pytest.MonkeyPatch, refused: str) -> None:
    of_list, of_plans, known, right = CASES[refused]
    monkeypatch.setattr(price_list, "connect", of_list)
    monkeypatch.setattr(savings_plans, "connect", of_plans)
    shown = lists.run("--refresh", "--write")
    assert shown.exit_code == 1, shown.output
    (line,) = [line for line in shown.stdout.splitlines() if line.startswith("!")]
    assert line.startswith(f"! {refused}: not refreshed, what was known stays as it was: https://")
    assert "AccessDeniedException" in line
    assert right in line
    assert "1 changed, 0 confirmed." in shown.stdout
    terms = load_region("us-east-1").instance_types["g6e.2xlarge"]
    assert {term: float(figure.usd_per_h) for term, figure in terms.items() if figure} == known
    again = lists.run("--refresh", "-o", "json")
    assert again.exit_code == 1
    data = json.loads(again.stdout)
    assert ([one["what"] for one in data["not_refreshed"]], data["confirmed"]) == ([refused], 1)


def test_both_are_written_each_with_its_source_and_day(stacks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(price_list, "connect", CASES["the savings plans"][0])
    monkeypatch.setattr(savings_plans, "connect", CASES["the price list"][1])
    written = lists.run("--refresh", "--write")
    assert written.exit_code == 0, written.output
    prices = load_region("us-east-1")
    figure = prices.instance_types["g6e.2xlarge"]["savings_plan_1y"]
    assert figure
    source = prices.sources[figure.source]
    assert figure.source == f"aws-savings-plans-{source.date}"
    where = "https://savingsplans.amazonaws.com"
    assert source.address == f"{where} (DescribeSavingsPlansOfferingRates, EC2Instance, No Upfront, us-east-1)"
    rows = [line.split()[:2] for line in lists.run().stdout.splitlines() if line.startswith("g6e.2xlarge")]
    assert rows == [["g6e.2xlarge", "on_demand"], ["g6e.2xlarge", "savings_plan_1y"]]
