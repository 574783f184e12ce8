"""`warmline size`: a sizing request to replicas."""

from __future__ import annotations

import click

from cli.exits import FINDING
from cli.options import examples, output_option, stack_option
from cli.prices import prices
from cli.size_check import check
from cli.size_cost import cost


@click.group(
    epilog=examples("warmline size init -s prod", "warmline size plan -s prod", "warmline size check -s prod --last 1h")
)
def size() -> None:
    """Size the reserve: from a product's request to replicas, and why as many.

    The request is workloads.yaml in the stack's folder. What it leaves out is assumed as a range that is said, and
    makes the plan preliminary.
    """


size.add_command(check)
size.add_command(cost)
size.add_command(prices)


@size.command(short_help="Write a workloads.yaml to fill in.", epilog=examples("warmline size init -s prod"))
@stack_option
def init(stack: str) -> None:
    """Write a workloads.yaml to fill in, with one request for each service. Overwrites nothing."""
    from cli.size_template import write_template

    click.echo(f"Wrote {write_template(stack)}. Fill it in, then: warmline size plan -s {stack}")


@size.command(
    short_help="Reckon the replicas of every request of a stack.",
    epilog=examples(
        "warmline size plan -s prod",
        "warmline size plan -s prod --workload support-bot -o json",
        "warmline size plan -s prod --write",
        "warmline size plan -s prod -o html > plan.html",
        'warmline size plan -s prod -o markdown >> "$GITHUB_STEP_SUMMARY"',
    ),
)
@stack_option
@click.option("--workload", "names", multiple=True, metavar="NAME", help="Only this request; may be repeated.")
@click.option("--write", is_flag=True, help="Put the derived settings into platform.yaml; its comments stay.")
@output_option("table", "json", "yaml", "markdown", "html")
@click.pass_context
def plan(ctx: click.Context, stack: str, names: tuple[str, ...], output: str, *, write: bool) -> None:
    """Reckon every request of a stack: load, capacity, reserve, replicas, memory, what to try, settings.

    Ends with a diff of platform.yaml; --write makes it so, unless the plan is preliminary or would still have a
    finding. Exits 1 if the plan needs more than platform.yaml allows (a service's ceiling, a pool's nodes), cannot
    work in the GPUs' memory, or promises what was not measured. A ceiling and a pool are held against the requests
    that are planned, all together.
    """
    from cli import size_text as text
    from cli.output import emit
    from cli.size_run import reckoned, written
    from stacks.requests import load_requests

    requests = load_requests(stack)
    report = written(requests, names) if write else reckoned(requests, names)
    if output == "table":
        text.echo(report)
    elif output == "markdown":
        click.echo(text.markdown(report), nl=False)
    elif output == "html":
        from cli.size_page import html

        click.echo(html(report))
    else:
        emit(text.data(report), output)
    if report.findings:
        ctx.exit(FINDING)
