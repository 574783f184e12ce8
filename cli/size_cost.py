"""`warmline size cost`: what a stack's plans take to buy: nodes, quota, subnets and money."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import click

from cli.exits import FINDING
from cli.options import examples, output_option, stack_option
from cli.prices import region_option


class _Dollars(click.ParamType[Decimal]):
    """A price as it is written, exactly."""

    name = "dollars"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        try:
            found = Decimal(str(value))
        except InvalidOperation:
            found = Decimal(-1)
        if not (found.is_finite() and found >= 0):
            self.fail(f"{value!r} is no price in dollars, as 2.50 is one.", param, ctx)
        return found


@click.command(
    short_help="What the plans take: nodes, quota, subnets, money, and who pays.",
    epilog=examples(
        "warmline size cost -s prod",
        "warmline size cost -s prod --workload support-bot -o json",
        "warmline size cost -s prod --api-usd-per-million 0.25 1.25",
    ),
)
@stack_option
@click.option("--workload", "names", multiple=True, metavar="NAME", help="Only this request; may be repeated.")
@region_option
@click.option(
    "--daemonset-pods",
    type=click.IntRange(0, 200),
    default=6,
    show_default=True,
    help="Pods with an address of their own that daemonsets put on every node.",
)
@click.option(
    "--api-usd-per-million",
    "api",
    nargs=2,
    type=_Dollars(),
    metavar="IN OUT",
    help="Compare with a managed API at these dollars per million tokens.",
)
@output_option("table", "json", "yaml")
@click.pass_context
def cost(
    ctx: click.Context,
    stack: str,
    names: tuple[str, ...],
    region: str | None,
    *,
    daemonset_pods: int,
    api: tuple[Decimal, Decimal] | None,
    output: str,
) -> None:
    """Reckon what the plans of a stack take to buy, pool by pool, at the end of their ranges that needs the most.

    The cheapest of a pool's instance types whose price is known, over whole nodes in even zones; vCPU quotas by code;
    subnets; a month with nothing beyond the baselines and one with the whole peak, on demand and under every
    commitment whose price is known; dollars per million tokens; who pays. An unknown price is said, never guessed.
    Exits 1 if a pool cannot have the nodes.
    """
    from capacity.money import ApiPrice
    from cli import size_cost_text as text
    from cli.output import emit
    from cli.size_run import reckoned
    from stacks.loader import stack_folder
    from stacks.prices import load_prices
    from stacks.requests import load_requests

    requests = load_requests(stack)
    plans = reckoned(requests, names).plans
    table = load_prices(stack_folder(stack), region)
    price = ApiPrice(*api) if api else None
    found = text.costs(plans, requests.platform, table, daemonset_pods=daemonset_pods, api=price)
    if output == "table":
        text.echo(found)
    else:
        emit(text.data(found), output)
    if found.findings:
        ctx.exit(FINDING)
