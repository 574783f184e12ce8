"""`warmline size prices`: what is shown, and a refresh that asks AWS exactly, guesses nothing and writes when told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from cli.main import warmline
from cli.prices import price_list, savings_plans
from cli.prices.asked import Answers, Listed
from cli.prices.price_list import PRICE_LIST, ask
from cli.prices.refresh import refreshed
from stacks.instance_types import INSTANCE_TYPES
from stacks.prices import Prices, Term, load_region
from stacks.prices_text import text_of_prices
from stacks.reach import OutOfReach
from tests.cli import savings_plan_rates as rates
from tests.cli.price_list_documents import document
from tests.cli.stack_folder import copied_stacks

Answer = Callable[[dict[str, Any]], bytes]

RESERVED = {
    ("1yr", "standard", "No Upfront"): "34.6752000000",
    ("1yr", "standard", "All Upfront"): "0.0000000000",
    ("3yr", "standard", "No Upfront"): "23.7772800000",
    ("1yr", "convertible", "No Upfront"): "36.1000000000",
}
FILTERS = {
    "instanceType": "p5.48xlarge",
    "regionCode": "us-east-1",
    "operatingSystem": "Linux",
    "preInstalledSw": "NA",
    "licenseModel": "No License required",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}


def client() -> Any:
    return boto3.client("pricing", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")


class _Body:
    """The part of urllib3's response that botocore reads."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.content


def answering(answer: Answer) -> Any:
    """A real client whose requests end before the network: `answer` makes the body from the request's."""

    def send(request: Any, **_: Any) -> AWSResponse:
        body = answer(json.loads(request.body))
        return AWSResponse(request.url, 200, {"Content-Type": "application/x-amz-json-1.1"}, _Body(body))  # type: ignore[arg-type]

    made = client()
    made.meta.events.register("before-send.pricing.GetProducts", send)
    return made


def listing(*documents: str, **more: str) -> bytes:
    return json.dumps({"FormatVersion": "aws_v1", "PriceList": list(documents), **more}).encode()


def test_the_question_is_one_the_service_knows() -> None:
    asked = client()
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in FILTERS.items()]
    assert "TERM_MATCH" in asked.meta.service_model.shape_for("FilterType").enum
    with Stubber(asked) as stub:
        answer = {"FormatVersion": "aws_v1", "PriceList": [document("p5.48xlarge", "55.0400000000", reserved=RESERVED)]}
        stub.add_response("get_products", answer, {"ServiceCode": "AmazonEC2", "Filters": filters})
        found = ask(asked, "us-east-1", "p5.48xlarge")
        stub.assert_no_pending_responses()
    # Neither what is paid up front nor what is convertible is a standard reservation's hour.
    assert found == Listed(
        {"on_demand": Decimal("55.04"), "reserved_1y": Decimal("34.6752"), "reserved_3y": Decimal("23.77728")},
        (),
        "2026-11-20",
    )


def test_an_answer_in_pages_through_the_real_parser() -> None:
    pages = {
        None: listing(document("g6e.xlarge", "9.99", tenancy="Dedicated"), NextToken="more"),
        "more": listing(document("g6e.xlarge", "1.8610000000"), document("g6e.xlarge", "0.0000000000")),
    }
    found = ask(answering(lambda request: pages[request.get("NextToken")]), "us-east-1", "g6e.xlarge")
    assert found == Listed({"on_demand": Decimal("1.861")}, (), "2026-11-20")


def test_bare_metal_is_a_product_of_its_own_family() -> None:
    metal = document("g4dn.metal", "7.8240000000", productFamily="Compute Instance (bare metal)", tenancy="Dedicated")
    found = ask(answering(lambda _: listing(metal)), "us-east-1", "g4dn.metal")
    assert found
    assert found.usd_per_h == {"on_demand": Decimal("7.824")}


def test_of_several_prices_none_is_taken() -> None:
    both = listing(document("g6e.xlarge", "1.861"), document("g6e.xlarge", "2.5"))
    assert ask(answering(lambda _: both), "us-east-1", "g6e.xlarge") == Listed({}, ("on_demand",), "2026-11-20")


def test_a_type_the_region_has_not() -> None:
    assert ask(answering(lambda _: listing()), "us-east-1", "p5e.48xlarge") is None


def cut(text: str, *path: str) -> str:
    """The document without one of its keys."""
    data = json.loads(text)
    inside = data
    for key in path[:-1]:
        inside = inside[key]
    del inside[path[-1]]
    return json.dumps(data)


WHOLE = document("g6e.xlarge", "1.861")
STRANGE = {
    "no JSON": "{",
    "no object": "[]",
    "no product": cut(WHOLE, "product"),
    "no terms": cut(WHOLE, "terms"),
    "no day": cut(WHOLE, "publicationDate"),
    "no number": document("g6e.xlarge", "a lot"),
}


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE.keys())
def test_an_answer_of_another_shape_is_out_of_reach(text: str) -> None:
    with pytest.raises(OutOfReach, match=r"its answer for g6e\.xlarge is not of the shape of the price list"):
        ask(answering(lambda _: listing(text)), "us-east-1", "g6e.xlarge")


def test_a_refusal_is_out_of_reach() -> None:
    asked = client()
    with Stubber(asked) as stub:
        stub.add_client_error("get_products", "AccessDeniedException", "User: x is not authorized", 400)
        with pytest.raises(OutOfReach) as error:
            ask(asked, "us-east-1", "g6e.xlarge")
    assert str(error.value).startswith(
        "https://api.pricing.us-east-1.amazonaws.com: out of reach: An error occurred (AccessDeniedException)"
    )
    assert "\n" not in str(error.value)


def lists(day: str, **usd: str) -> dict[str, Listed | None]:
    return {name.replace("_", "."): Listed({"on_demand": Decimal(price)}, (), day) for name, price in usd.items()}


def test_a_refresh_says_what_changes_and_what_it_could_not() -> None:
    old = load_region("us-east-1")
    answers = lists("2026-11-20", g6e_xlarge="1.861", g6e_2xlarge="2.5") | {
        "p5e.48xlarge": None,
        "p5.48xlarge": Listed({"reserved_1y": Decimal("34.6752")}, ("on_demand",), "2026-11-20"),
    }
    found = refreshed(old, [Answers(PRICE_LIST, answers)])
    assert [(one.instance_type, one.term, one.before, one.after) for one in found.changes] == [
        ("g6e.2xlarge", "on_demand", Decimal("2.24208"), Decimal("2.5")),
        ("p5.48xlarge", "reserved_1y", None, Decimal("34.6752")),
    ]
    assert (found.confirmed, found.unlisted, found.ambiguous) == (
        1,
        (("the price list", "p5e.48xlarge"),),
        (("p5.48xlarge", "on_demand"),),
    )
    sources = {name: found.prices.instance_types[name]["on_demand"] for name in ("g6e.xlarge", "p5.48xlarge")}
    assert {name: figure and figure.source for name, figure in sources.items()} == {
        "g6e.xlarge": "aws-price-list-2026-11-20",
        "p5.48xlarge": "karpenter-2026-07-20",
    }


TERM_SETS = st.dictionaries(
    st.sampled_from(["on_demand", "reserved_1y", "reserved_3y"]), st.decimals("0.01", 200, places=4), max_size=3
)
ANSWERS = st.dictionaries(
    st.sampled_from([*list(INSTANCE_TYPES)[:5], "g9.xlarge"]),
    st.one_of(st.none(), TERM_SETS.map(lambda terms: Listed(terms, (), "2026-11-20"))),  # type: ignore[arg-type]
)


@given(ANSWERS)
def test_a_second_refresh_changes_nothing(answers: dict[str, Listed | None]) -> None:
    old = load_region("us-east-1")
    once = refreshed(old, [Answers(PRICE_LIST, answers)])
    twice = refreshed(once.prices, [Answers(PRICE_LIST, answers)])
    assert twice.changes == ()
    assert text_of_prices(twice.prices) == text_of_prices(once.prices)
    assert twice.confirmed == once.confirmed + len(once.changes)
    untouched = set(old.instance_types) - set(answers)
    assert all(once.prices.instance_types[name] == old.instance_types[name] for name in untouched)


@pytest.fixture
def stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stacks of their own, no credentials, and nobody to ask for some."""
    root = copied_stacks(tmp_path)
    (root / "local" / "prices.yaml").write_text("region: us-east-1\n")
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_SECRET_ACCESS_KEY", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    return root


def run(*arguments: str) -> Result:
    return CliRunner().invoke(warmline, ["size", "prices", "-s", "local", *arguments])


def run_against(monkeypatch: pytest.MonkeyPatch, answer: Answer, *arguments: str) -> Result:
    """Savings plans are offered of nothing."""
    monkeypatch.setattr(price_list, "connect", lambda: answering(answer))
    monkeypatch.setattr(savings_plans, "connect", lambda: rates.answering(lambda _: rates.page()))
    return run(*arguments)


def test_what_a_node_costs_and_where_that_is_from(stacks: Path) -> None:
    result = run()
    assert result.exit_code == 0, result.output
    (row,) = [line for line in result.stdout.splitlines() if line.startswith("g6e.2xlarge")]
    assert row.split()[1:4] == ["on_demand", "2.24208", "2026-07-20"]
    assert "https://github.com/aws/karpenter-provider-aws/blob/6fc13b5" in row
    assert "Unknown: " not in result.stdout
    assert (
        "Unknown of all of them: reserved_1y, reserved_3y, savings_plan_1y, savings_plan_3y. --refresh" in result.stdout
    )


def test_unknown_is_said_and_what_to_do(stacks: Path) -> None:
    result = run("--all")
    assert [line.split() for line in result.stdout.splitlines() if "p5e." in line] == [
        ["p5e.48xlarge", "on_demand", "unknown"]
    ]
    assert "Unknown: ask with --refresh --write, or write what you pay to the stack's prices.yaml." in result.stdout
    told = "No list of eu-west-1 is here, and no figure is taken from another region."
    assert told in run("--region", "eu-west-1").stdout
    elsewhere = run("--region", "eu-west-1", "-o", "json")
    assert json.loads(elsewhere.stdout) == {
        "region": "eu-west-1",
        "currency": "USD",
        "prices": [
            {"instance_type": "g6e.2xlarge", "term": "on_demand", "usd_per_h": None, "date": None, "source": None}
        ],
    }


def test_without_a_region(stacks: Path) -> None:
    (stacks / "local" / "prices.yaml").unlink()
    result = run()
    assert result.exit_code == 2
    assert (
        "local/prices.yaml: got no region, expected the region of the stack. Write `region: us-east-1`" in result.stderr
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("--region", "Virginia"), "'Virginia' is no AWS Region"), (("--write",), "--write writes what --refresh found")],
)
def test_bad_arguments(stacks: Path, arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_dry_run_shows_and_a_write_writes(stacks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stacks / "prices" / "us-east-1.yaml"
    before = path.read_text()
    answer = listing(document("g6e.2xlarge", "2.5", reserved={("1yr", "standard", "No Upfront"): "1.575"}))
    shown = run_against(monkeypatch, lambda _: answer, "--refresh")
    assert shown.exit_code == 0, shown.output
    rows = [line.split() for line in shown.stdout.splitlines() if line.startswith("g6e")]
    assert rows == [
        ["g6e.2xlarge", "on_demand", "2.24208", "2.5"],
        ["g6e.2xlarge", "reserved_1y", "unknown", "1.575"],
    ]
    assert "2 changed, 0 confirmed.\n" in shown.stdout
    assert shown.stdout.endswith("\nNothing was written: --write does it.\n")
    assert path.read_text() == before

    written = run_against(monkeypatch, lambda _: answer, "--refresh", "--write", "-o", "json")
    assert written.exit_code == 0, written.output
    data = json.loads(written.stdout)
    assert (len(data["changes"]), data["wrote"]) == (2, str(path))
    assert data["changes"][1] == {
        "instance_type": "g6e.2xlarge",
        "term": "reserved_1y",
        "before": None,
        "after": 1.575,
    }
    changed = set(path.read_text().splitlines()) - set(before.splitlines())
    assert (
        "  g6e.2xlarge: {on_demand: {usd_per_h: 2.5, source: aws-price-list-2026-11-20}, "
        "reserved_1y: {usd_per_h: 1.575, source: aws-price-list-2026-11-20}}" in changed
    )
    assert len(changed) == 4  # the type, and its source in three lines


def test_a_region_without_a_list_gets_one(stacks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = listing(document("g6e.2xlarge", "2.47"))
    result = run_against(monkeypatch, lambda _: answer, "--region", "ap-south-1", "--refresh", "--write")
    assert result.exit_code == 0, result.output
    assert (stacks / "prices" / "ap-south-1.yaml").is_file()
    assert json.loads(run("--region", "ap-south-1", "-o", "json").stdout)["prices"][0]["usd_per_h"] == 2.47


def test_what_the_list_has_not_is_marked(stacks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_against(monkeypatch, lambda _: listing(), "--refresh")
    assert result.exit_code == 0
    for what in ("the price list", "the savings plans"):
        assert f"! g6e.2xlarge: not in {what} of us-east-1; what was known of it stays as it was" in result.stdout


def unanswered(_: dict[str, Any]) -> bytes:
    raise EndpointConnectionError(endpoint_url="https://api.pricing.us-east-1.amazonaws.com/")


@pytest.mark.parametrize("is_reached", [False, True], ids=["no credentials", "no network"])
def test_out_of_reach_ends_with_3_in_one_line_and_changes_nothing(
    stacks: Path, monkeypatch: pytest.MonkeyPatch, is_reached: bool
) -> None:
    path = stacks / "prices" / "us-east-1.yaml"
    before = path.read_text()
    arguments = ("--refresh", "--write")
    if is_reached:
        monkeypatch.setattr(price_list, "connect", lambda: answering(unanswered))
        monkeypatch.setattr(savings_plans, "connect", lambda: rates.answering(unanswered))
    result = run(*arguments)
    assert result.exit_code == 3
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    said = "Could not connect to the endpoint URL" if is_reached else "Unable to locate credentials"
    assert said in line
    assert "Nothing was changed. Check the network and the AWS credentials" in line
    assert path.read_text() == before


def test_prices_are_exact_from_the_list_to_the_file(tmp_path: Path) -> None:
    terms: dict[Term, Decimal] = {"on_demand": Decimal("21.9576420000")}
    answers = Answers(PRICE_LIST, {"p4d.24xlarge": Listed(terms, (), "2026-11-20")})
    found = refreshed(Prices(region="us-east-1"), [answers])
    assert "usd_per_h: 21.957642," in text_of_prices(found.prices)
