"""Prices have a source and a date or are unknown; quotas are known by code or not at all."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from stacks.faults import InputError
from stacks.instance_types import INSTANCE_TYPES
from stacks.prices import SHIPPED, TERMS, Figure, Prices, Source, load_prices, load_region
from stacks.prices_text import plain, text_of_prices
from stacks.quotas import quota_of

TABLES = sorted(SHIPPED.glob("*.yaml"))

OWN = """\
region: us-east-1
sources:
  agreement: {address: "enterprise agreement of March, page 4", date: 2026-03-01}
instance_types:
  p5.48xlarge:
    on_demand: {usd_per_h: 50, source: agreement}
    savings_plan_1y: {usd_per_h: 31.25, source: agreement}
  g6.xlarge: {on_demand: unknown}
"""


def own(folder: Path, text: str = OWN) -> Path:
    (folder / "prices.yaml").write_text(text)
    return folder


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_every_figure_that_is_shipped_can_be_looked_up(path: Path) -> None:
    prices = load_region(path.stem)
    assert prices.sources
    for source in prices.sources.values():
        assert source.address.startswith("https://")
        assert date.fromisoformat(source.date) <= date(2026, 11, 29)
    # What is not known is said, not left out.
    assert set(prices.instance_types) == set(INSTANCE_TYPES)


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_a_shipped_table_is_what_a_refresh_would_write(path: Path) -> None:
    assert path.read_text() == text_of_prices(load_region(path.stem))


def test_a_known_and_an_unknown_price(tmp_path: Path) -> None:
    table = load_prices(tmp_path, "us-east-1")
    price = table.price("g6e.2xlarge")
    assert price
    assert (price.usd_per_h, price.date) == (Decimal("2.24208"), "2026-07-20")
    assert price.address.startswith("https://github.com/aws/karpenter-provider-aws/blob/6fc13b5")
    assert table.price("p5e.48xlarge") is None
    assert table.price("g6e.2xlarge", "savings_plan_1y") is None


def test_a_stack_knows_better(tmp_path: Path) -> None:
    table = load_prices(own(tmp_path))
    assert table.region == "us-east-1"
    figures = [table.price("p5.48xlarge", term) for term in TERMS]
    assert [one and one.usd_per_h for one in figures] == [50, None, None, Decimal("31.25"), None]
    assert figures[0]
    assert figures[0].address == "enterprise agreement of March, page 4"
    assert table.price("g6.xlarge") is None
    assert table.price("g6.2xlarge")


def test_without_a_region_nothing_is_known_and_another_region_is_not_the_stacks(tmp_path: Path) -> None:
    assert load_prices(tmp_path).price("g6e.2xlarge") is None
    other = load_prices(own(tmp_path), "eu-west-1")
    assert (other.region, dict(other.prices)) == ("eu-west-1", {})


def test_a_list_beside_the_stacks_comes_before_the_shipped_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(tmp_path))
    assert load_prices(tmp_path, "us-east-1").price("g6e.2xlarge")
    (tmp_path / "prices").mkdir()
    (tmp_path / "prices" / "us-east-1.yaml").write_text("region: us-east-1\n")
    assert load_prices(tmp_path, "us-east-1").price("g6e.2xlarge") is None


FAULTS = {
    "a figure without a source": (
        "source: agreement}\n    savings",
        "source: memory}\n    savings",
        "6: instance_types.p5.48xlarge.on_demand.source: got memory, expected a name in sources (agreement).",
    ),
    "a price that is none": ("usd_per_h: 50", "usd_per_h: 0", "instance_types.p5.48xlarge.on_demand.usd_per_h: got 0"),
    "a day that never was": ("2026-03-01", "2026-02-30", "sources.agreement.date: got 2026-02-30, expected a date"),
    "a day in words": ("2026-03-01", "March", "sources.agreement.date: got 'March', expected a date, as 2026-07-20"),
    "a region in words": ("us-east-1", "Virginia", "region: got 'Virginia', expected an AWS Region, as us-east-1"),
    "a term nobody sells": (
        "savings_plan_1y",
        "savings_plan_2y",
        "instance_types.p5.48xlarge.savings_plan_2y: got 'savings_plan_2y', expected 'on_demand', ",
    ),
    "another currency": ("region:", "currency: EUR\nregion:", "currency: got 'EUR', expected 'USD'"),
}


@pytest.mark.parametrize(("before", "after", "said"), FAULTS.values(), ids=FAULTS.keys())
def test_faults_are_named(tmp_path: Path, before: str, after: str, said: str) -> None:
    assert OWN.count(before) == 1
    with pytest.raises(InputError) as error:
        load_prices(own(tmp_path, OWN.replace(before, after)))
    assert said in str(error.value)


def test_every_fault_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        load_prices(own(tmp_path, OWN.replace("source: agreement}", "source: memory}")))
    assert [fault.line for fault in error.value.faults] == [6, 7]
    with pytest.raises(InputError) as error:
        load_prices(own(tmp_path, OWN.replace("50, ", "-1, ").replace("us-east-1", "nowhere")))
    assert [fault.path for fault in error.value.faults] == [
        "region",
        "instance_types.p5.48xlarge.on_demand.usd_per_h",
    ]


def test_a_list_that_is_another_regions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(tmp_path))
    (tmp_path / "prices").mkdir()
    (tmp_path / "prices" / "us-east-1.yaml").write_text("region: us-east-2\n")
    with pytest.raises(InputError, match="got us-east-2, expected us-east-1, as the file is called"):
        load_prices(tmp_path, "us-east-1")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    prices = Prices(
        region="eu-west-1",
        sources={
            "true": Source(address='a "quoted": # address', date="2026-01-02"),
            "unused": Source(address="x", date="2026-01-02"),
        },
        instance_types={
            "g6e.xlarge": {
                "on_demand": Figure(usd_per_h=Decimal("2.000"), source="true"),
                "reserved_3y": Figure(usd_per_h=Decimal("1E+1"), source="true"),
            },
            "p5.48xlarge": {},
        },
    )
    text = text_of_prices(prices)
    assert "unused" not in text
    (tmp_path / "prices.yaml").write_text(text)
    table = load_prices(tmp_path)
    found = [table.price("g6e.xlarge"), table.price("g6e.xlarge", "reserved_3y"), table.price("p5.48xlarge")]
    assert [one and (one.usd_per_h, one.address) for one in found] == [
        (Decimal(2), 'a "quoted": # address'),
        (Decimal(10), 'a "quoted": # address'),
        None,
    ]


@pytest.mark.parametrize(
    ("number", "text"), [("2.24208", "2.24208"), ("55.0400", "55.04"), ("7", "7"), ("1E+2", "100")]
)
def test_plain(number: str, text: str) -> None:
    assert plain(Decimal(number)) == text


@pytest.mark.parametrize("name", INSTANCE_TYPES)
def test_every_type_of_the_table_has_an_on_demand_quota(name: str) -> None:
    quota = quota_of(name)
    assert quota
    assert quota.code == ("L-417A185B" if name.startswith("p") else "L-DB2E81BA")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("g6e.2xlarge", "L-3819A6DF"),
        ("gr6.4xlarge", "L-3819A6DF"),
        ("p4de.24xlarge", "L-7212CCBC"),
        ("p5en.48xlarge", "L-C4BD4855"),
        ("p6-b200.48xlarge", None),
        ("m7i.large", None),
    ],
)
def test_spot_has_quotas_of_its_own(name: str, code: str | None) -> None:
    quota = quota_of(name, "spot")
    assert (quota and quota.code) == code


@pytest.mark.parametrize(
    ("name", "code"), [("p5.48xlarge", "L-DA6814F2"), ("p5en.48xlarge", "L-4F9BB70B"), ("g6.xlarge", None)]
)
def test_capacity_blocks_have_theirs(name: str, code: str | None) -> None:
    quota = quota_of(name, "capacity_block")
    assert (quota and quota.code) == code
