"""`warmline size plan`: the whole answer to a sizing request."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import click

from cli.exits import FINDING
from cli.options import examples, output_option, stack_option
from cli.prices.commands import region_option


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
    short_help="Reckon the replicas, nodes and money of every request of a stack.",
    epilog=examples(
        "warmline size plan -s prod",
        "warmline size plan -s prod --workload support-bot -o json",
        "warmline size plan -s prod --write",
        "warmline size plan -s prod --api-usd-per-million 0.25 1.25",
        "warmline size plan -s prod -o html > plan.html",
        'warmline size plan -s prod -o markdown >> "$GITHUB_STEP_SUMMARY"',
    ),
)
@stack_option
@click.option("--workload", "names", multiple=True, metavar="NAME", help="Only this request; may be repeated.")
@click.option("--write", is_flag=True, help="Put the derived settings into platform.yaml; its comments stay.")
@region_option
@click.option(
    "--daemonset-pods",
    type=click.IntRange(0, 200),
    help="Pods with an address of their own that daemonsets put on every node; not said, 6 are assumed.",
)
@click.option(
    "--api-usd-per-million",
    "api",
    nargs=2,
    type=_Dollars(),
    metavar="IN OUT",
    help="Compare with a managed API at these dollars per million tokens.",
)
@output_option("table", "json", "yaml", "markdown", "html")
@click.pass_context
def plan(
    ctx: click.Context,
    stack: str,
    names: tuple[str, ...],
    region: str | None,
    *,
    write: bool,
    daemonset_pods: int | None,
    api: tuple[Decimal, Decimal] | None,
    output: str,
) -> None:
    """Reckon every request of a stack: load, capacity, reserve, replicas, memory, nodes, money, what to try, settings.

    Each pool takes the cheapest of its instance types whose price is known, over whole nodes in even zones: vCPU
    quotas by code, subnets, a month with nothing beyond the baselines and one with the whole peak, on demand and under
    every commitment whose price is known, who pays. An unknown price is said, never guessed.

    Ends with a diff of platform.yaml; --write makes it so, unless the plan is preliminary or would still have a
    finding. Exits 1 if the plan needs more than platform.yaml allows (a service's ceiling, a pool's nodes), cannot
    work in the GPUs' memory, or promises what was not measured. A ceiling and a pool are held against the requests
    that are planned, all together.
    """
    from capacity.purchase.bill import Terms
    from capacity.purchase.money import ApiPrice
    from cli.output import emit
    from cli.size import text
    from cli.size.report import reckoned, written
    from stacks.folders import stack_folder
    from stacks.prices import load_prices
    from stacks.requests import load_requests

    requests = load_requests(stack)
    terms = Terms(load_prices(stack_folder(stack), region), daemonset_pods, ApiPrice(*api) if api else None)
    report = (written if write else reckoned)(requests, names, terms)
    if output == "table":
        text.echo(report)
    elif output == "markdown":
        click.echo(text.markdown(report), nl=False)
    elif output == "html":
        from cli.size.page import html

        click.echo(html(report))
    else:
        emit(text.data(report), output)
    if report.findings:
        ctx.exit(FINDING)
