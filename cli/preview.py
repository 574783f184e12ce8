"""`warmline preview`: what `pulumi up` would create, offline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cli.exits import FINDING
from cli.options import examples, output_option, stack_option
from cli.output import emit, table

if TYPE_CHECKING:
    from infra.overview import ObjectLine


@click.command(epilog=examples("warmline preview -s local", "warmline preview -s local -o yaml | kubectl diff -f -"))
@stack_option
@output_option("table", "yaml", "json")
@click.pass_context
def preview(ctx: click.Context, stack: str, output: str) -> None:
    """Show what `pulumi up` would create, offline and without an engine.

    Every object is checked against the vendored schemas of Kubernetes and KEDA; a fault ends with 1. `-o yaml`
    prints the objects as they would be applied, `-o json` everything, the platform with all defaults filled in too.
    """
    from infra.checks import checked_platform
    from infra.manifests import manifests, schema_faults
    from infra.overview import notes, object_lines, service_numbers
    from infra.render import render

    platform = checked_platform(stack)
    rendered = render(stack, platform)
    faults = schema_faults(rendered.objects)
    lines, services = object_lines(rendered), service_numbers(rendered, platform)
    if output == "yaml":
        _print_documents(manifests(rendered.objects))
    elif output == "json":
        emit(
            {
                "stack": stack,
                "context": platform.cluster.context,
                "objects": [vars(line) for line in lines],
                "services": services,
                "notes": notes(stack, platform),
                "faults": faults,
                "platform": platform.model_dump(mode="json"),
            },
            output,
        )
    else:
        context = platform.cluster.context or "the kubeconfig's current one"
        click.echo(f"Stack {stack}: {len(lines)} objects, in context {context}\n")
        _print_tables(lines, services)
        for note in notes(stack, platform):
            click.echo(f"Note: {note}")
    for fault in faults:
        click.echo(fault, err=True)
    if faults:
        ctx.exit(FINDING)


def _print_documents(documents: list[dict[str, Any]]) -> None:
    import yaml

    click.echo(yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True, width=10_000), nl=False)


def _print_tables(lines: list[ObjectLine], services: list[dict[str, Any]]) -> None:
    # Not a table: a query is longer than a terminal is wide, and a cut one cannot be checked.
    for line in lines:
        click.secho(line.object, bold=True)
        for fact in (*line.facts, *(f"ignored after creation: {name}" for name in line.ignored_fields)):
            click.echo(f"  {fact}")
    click.echo()
    rows = [
        [
            numbers["service"],
            numbers["node_pool"],
            f"{numbers['baseline']} to {numbers['ceiling']}",
            f"{numbers['gpus_at_baseline']} to {numbers['gpus_at_ceiling']}",
            f"{numbers['cold_start_s']} s",
            f"{numbers['rollout_waves']} waves, at most {numbers['await_update_s']} s",
        ]
        for numbers in services
    ]
    table(("SERVICE", "POOL", "REPLICAS", "GPUS", "COLD START", "ROLLOUT"), rows)
    click.echo()
