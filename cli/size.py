"""`warmline size`: a sizing request to replicas."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from cli.exits import FINDING
from cli.options import examples, output_option, stack_option
from cli.prices import prices

if TYPE_CHECKING:
    from capacity.memory import Memory
    from capacity.plan import Plan
    from capacity.request import Request
    from cli.size_text import Report
    from stacks.faults import Fault
    from stacks.requests import Requests


@click.group(epilog=examples("warmline size init -s prod", "warmline size plan -s prod"))
def size() -> None:
    """Size the reserve: from a product's request to replicas, and why as many.

    The request is workloads.yaml in the stack's folder. What it leaves out is assumed as a range that is said, and
    makes the plan preliminary.
    """


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
        'warmline size plan -s prod -o markdown >> "$GITHUB_STEP_SUMMARY"',
    ),
)
@stack_option
@click.option("--workload", "names", multiple=True, metavar="NAME", help="Only this request; may be repeated.")
@click.option("--write", is_flag=True, help="Put the derived settings into platform.yaml; its comments stay.")
@output_option("table", "json", "yaml", "markdown")
@click.pass_context
def plan(ctx: click.Context, stack: str, names: tuple[str, ...], output: str, *, write: bool) -> None:
    """Reckon every request of a stack: load, capacity, reserve, replicas, memory, settings.

    Ends with a diff of platform.yaml; --write makes it so, unless the plan is preliminary or would still have a
    finding. Exits 1 if the plan needs more than platform.yaml allows (a service's ceiling, a pool's nodes), cannot
    work in the GPUs' memory, or promises what was not measured. A ceiling and a pool are held against the requests
    that are planned, all together.
    """
    from cli import size_text as text
    from cli.output import emit
    from cli.size_settings import NotWritten
    from stacks.requests import load_requests

    requests = load_requests(stack)
    report = _report(requests, names)
    if write:
        try:
            requests, report = _written(requests, names, report)
        except NotWritten as error:
            report = replace(report, findings=(*report.findings, f"platform.yaml is not written: {error}"))
    if output == "table":
        text.echo(report)
    elif output == "markdown":
        click.echo(text.markdown(report), nl=False)
    else:
        emit(text.data(report), output)
    if report.findings:
        ctx.exit(FINDING)


def _report(requests: Requests, names: tuple[str, ...]) -> Report:
    from capacity.allowed import findings
    from cli.size_settings import NotWritten, derived, diff, patched
    from cli.size_text import Report

    plans = _plans(requests, names)
    found = derived(requests, plans)
    try:
        change = diff(requests, patched(requests, found))
    except NotWritten as error:
        change = f"{error}\n"
    return Report(requests.stack, plans, found, findings(plans, requests.platform), change)


def _written(requests: Requests, names: tuple[str, ...], report: Report) -> tuple[Requests, Report]:
    """Change platform.yaml, and reckon again from what it says then."""
    from cli.size_settings import NotWritten, patched, with_platform
    from cli.size_settings import write as put

    if any(plan.is_preliminary for plan in report.plans):
        raise NotWritten("the plan is preliminary; say what it assumes first")
    text = patched(requests, report.settings)
    after = with_platform(requests, text)
    settled = _report(after, names)
    if settled.findings:
        raise NotWritten(f"it would still be that {settled.findings[0]}")
    click.echo(f"Wrote {put(requests, text)}.", err=True)
    return after, replace(settled, diff="")


def _plans(requests: Requests, names: tuple[str, ...]) -> tuple[Plan, ...]:
    from capacity.plan import misfits
    from capacity.plan import plan as reckon
    from capacity.request import Request
    from stacks.faults import InputError

    unknown = [name for name in names if name not in requests.workloads]
    if unknown:
        known = ", ".join(requests.workloads)
        raise click.BadParameter(f"{unknown[0]} is none of the requests: {known}.", param_hint="--workload")
    chosen = {name: workload for name, workload in requests.workloads.items() if not names or name in names}
    platform = requests.platform
    sized = [
        Request(name, workload, service := platform.services[workload.service], platform.node_pools[service.node_pool])
        for name, workload in chosen.items()
    ]
    faults = [requests.fault(one.path, one.got, one.expected, one.fix) for request in sized for one in misfits(request)]
    memories = [_memory(requests, request, faults) for request in sized]
    if faults:
        raise InputError(faults)
    return tuple(reckon(request, memory) for request, memory in zip(sized, memories, strict=True))


def _memory(requests: Requests, request: Request, faults: list[Fault]) -> tuple[Memory, ...]:
    """Of the candidates whose size is known; what is wrong with a config.json goes to `faults`."""
    from capacity.config_values import ConfigError
    from capacity.memory import memory
    from stacks.faults import Fault

    found = []
    for index, candidate in enumerate(request.workload.models.candidates or ()):
        files = requests.models[request.name, index]
        try:
            one = memory(candidate, files, request)
        except ConfigError as error:
            faults.append(Fault(files.config_file, 0, error.key, error.got, error.expected, error.fix))
        else:
            found += [one] if one else []
    return tuple(found)
