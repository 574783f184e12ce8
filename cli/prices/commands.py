"""`warmline size prices`: what a stack's nodes cost, where each figure is from, and how to make it newer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cli.exits import FINDING
from cli.options import examples, output_option, stack_option

if TYPE_CHECKING:
    from pathlib import Path

    from cli.prices.asked import Listed
    from cli.prices.refresh import Refresh
    from stacks.prices import PriceTable


def _region_name(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    import re

    from stacks.prices import REGION

    if value is not None and not re.fullmatch(REGION, value):
        raise click.BadParameter(f"{value!r} is no AWS Region, as us-east-1 is one.")
    return value


region_option = click.option(
    "--region", metavar="REGION", callback=_region_name, help="Instead of the one in the stack's prices.yaml."
)


@click.command(
    short_help="What a stack's nodes cost an hour, by source and day.",
    epilog=examples(
        "warmline size prices -s prod",
        "warmline size prices -s prod --refresh",
        "warmline size prices -s prod --region eu-west-1 --all --refresh --write",
    ),
)
@stack_option
@region_option
@click.option("--all", "every", is_flag=True, help="Every GPU instance type, not only those of the stack's pools.")
@click.option("--refresh", is_flag=True, help="Ask AWS, and show what changes.")
@click.option("--write", is_flag=True, help="With --refresh: write the region's list.")
@output_option("table", "json", "yaml")
@click.pass_context
def prices(
    ctx: click.Context, stack: str, region: str | None, *, every: bool, refresh: bool, write: bool, output: str
) -> None:
    """Show what a stack's nodes cost an hour, and the source and day of each figure.

    A figure without a source is unknown, and never guessed. --refresh asks AWS with your own credentials: its price
    list for on-demand and reserved prices (pricing:GetProducts), and for the rates of EC2 Instance Savings Plans
    (savingsplans:DescribeSavingsPlansOfferingRates), all without upfront payment. Where one of the two does not
    answer, the other's figures are taken and it exits 1; where none does, it ends with 3 and nothing is changed. What
    you pay otherwise (an agreement, a Compute plan) belongs in the stack's prices.yaml, which wins.
    """
    from cli.output import emit
    from cli.prices import text
    from stacks.folders import stack_folder
    from stacks.instance_types import INSTANCE_TYPES
    from stacks.loader import load_platform
    from stacks.prices import load_prices

    if write and not refresh:
        raise click.UsageError("--write writes what --refresh found: give both.")
    platform = load_platform(stack)
    used = dict.fromkeys(kind for pool in platform.node_pools.values() for kind in pool.instance_types)
    names = tuple(INSTANCE_TYPES if every else used)
    folder = stack_folder(stack)
    table = load_prices(folder, region)
    where = _region(table, folder)
    if refresh:
        found = _ask(where, names)
        wrote = _write(found) if write else None
        if output == "table":
            text.echo_refresh(found, wrote)
        else:
            emit(text.refresh_data(found, wrote), output)
        if found.failed:
            ctx.exit(FINDING)
    elif output == "table":
        text.echo(table, names)
    else:
        emit(text.data(table, names), output)


def _region(table: PriceTable, folder: Path) -> str:
    from stacks.faults import Fault, InputError
    from stacks.folders import shown
    from stacks.prices import PRICES_FILE

    if table.region is None:
        fix = "Write `region: us-east-1`, or whichever it is, to this file; or give --region."
        raise InputError([Fault(shown(folder / PRICES_FILE), 0, "", "no region", "the region of the stack", fix)])
    return table.region


def _ask(region: str, names: tuple[str, ...]) -> Refresh:
    """Both services, of which one may fail.

    Raises:
        OutOfReach: neither answered.
    """
    from cli.prices import price_list, savings_plans
    from cli.prices.asked import Answers
    from cli.prices.refresh import refreshed
    from stacks.prices import load_region
    from stacks.reach import OutOfReach

    old = load_region(region)
    asked, failed = [], []
    for service, module in ((price_list.PRICE_LIST, price_list), (savings_plans.SAVINGS_PLANS, savings_plans)):
        try:
            asked.append(Answers(service, _of_types(service.what, region, names, module)))
        except OutOfReach as error:
            failed.append((service.what, error))
    if not asked:
        raise failed[0][1]
    return refreshed(old, asked, failed)


def _of_types(what: str, region: str, names: tuple[str, ...], module: Any) -> dict[str, Listed | None]:
    import sys

    client = module.connect()
    label, is_watched = f"AWS, {what} of {region}", sys.stderr.isatty()
    with click.progressbar(names, label=label, file=sys.stderr, hidden=not is_watched) as each:
        return {name: module.ask(client, region, name) for name in each}


def _write(found: Refresh) -> str:
    """Returns: the path as a person would type it."""
    from stacks.faults import Fault, InputError
    from stacks.folders import shown
    from stacks.prices import own_region_file
    from stacks.prices_text import text_of_prices

    path = own_region_file(found.prices.region)
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text_of_prices(found.prices), encoding="utf-8")
    except OSError as error:
        got = str(error.strerror).lower()
        raise InputError([Fault(shown(path), 0, "", got, "a file to write to", "Correct its permissions.")]) from None
    return shown(path)
