"""`warmline size`: a sizing request to replicas, nodes and money."""

from __future__ import annotations

import click

from cli.options import examples, stack_option
from cli.prices.commands import prices
from cli.size.check import check
from cli.size.plan import plan


@click.group(
    epilog=examples("warmline size init -s prod", "warmline size plan -s prod", "warmline size check -s prod --last 1h")
)
def size() -> None:
    """Size the reserve: from a product's request to replicas, nodes and money, and why as many.

    The request is workloads.yaml in the stack's folder. What it leaves out is assumed as a range that is said, and
    makes the plan preliminary.
    """


size.add_command(check)
size.add_command(plan)
size.add_command(prices)


@size.command(short_help="Write a workloads.yaml to fill in.", epilog=examples("warmline size init -s prod"))
@stack_option
def init(stack: str) -> None:
    """Write a workloads.yaml to fill in, with one request for each service. Overwrites nothing."""
    from cli.size.template import write_template

    click.echo(f"Wrote {write_template(stack)}. Fill it in, then: warmline size plan -s {stack}")
